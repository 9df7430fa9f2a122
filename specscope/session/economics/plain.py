"""What a token takes without speculation, by the best basis there is."""

from __future__ import annotations

from dataclasses import replace
from math import inf, sqrt
from typing import TYPE_CHECKING, Final

from specscope.session.economics.batches import Z95, below, t95
from specscope.session.economics.cost_book import PLAIN
from specscope.session.economics.cost_model import KERNEL_ROWS, REPEAT, of_another_run
from specscope.session.economics.draft_pass import rebuilt_in
from specscope.session.economics.state import PlainPoint, PlainTime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.economics.state import CostPoint, Drafting, RecordedRun, Span
    from specscope.session.economics.strata import Strata
    from specscope.session.gpu_state import GpuUse
    from specscope.session.memory.map_state import Memory
    from specscope.session.request import Request

FAR: Final = 2.0
"""A recorded depth within this factor of today's (and a band of 1,024 tokens) is the same depth; beyond, it is said."""

LEAST_PLAIN: Final = 200
"""Steps before requests tell plain time: their first step is still warm from the prompt."""

LEAST_OF_ONE: Final = 16
"""Tokens of a request that is counted."""

FED: Final = 2.0
"""By how much a step without a draft can be longer where a drafter is fed: it reads hidden states off the target and
computes a row of its own cache in every step. The lab's servers took 1.1 to 1.9 times what they take without one (two
cores, quick and paying pair), the least is nothing; the figure in the middle is what is said."""

OVERLAP_S: Final = 0.05
"""Requests that follow one another at once may seem to overlap by what a source is late."""

NEAR_TOKENS: Final = 1024

LINE_WIDTHS: Final = 3
"""Widths that a line needs before it is carried on to 0: through two it always passes."""


def plain_requests(ended: Sequence[Request]) -> tuple[PlainPoint, ...]:
    """Plain time by the server's own clock: of requests without a cycle that had the server to themselves.

    The log's (or a stream's) generation time covers each step of a request, while polling sees some. By depth, in
    order; empty where there are too few steps.
    """
    groups: dict[int | None, list[tuple[int, float, float | None]]] = {}
    for r in _alone(ended):
        if r.generated is None or not r.generated_ms or r.generated <= LEAST_OF_ONE or r.tally.joint or not r.whole:
            continue
        if r.logged is not None and r.logged.drafted:
            continue
        base = r.resident_before()
        depth = None if base is None else base + r.generated / 2
        band = None if depth is None else (int(depth) // NEAR_TOKENS).bit_length()
        groups.setdefault(band, []).append((r.generated - 1, r.generated_ms, depth))
    points = [_point(rows) for rows in groups.values() if sum(n for n, _, _ in rows) >= LEAST_PLAIN]
    return tuple(sorted(points, key=lambda p: p.depth or 0.0))


def _point(rows: list[tuple[int, float, float | None]]) -> PlainPoint:
    steps = sum(n for n, _, _ in rows)
    ms = sum(took for _, took, _ in rows) / steps
    many = len(rows)
    half = Z95 * REPEAT * ms / sqrt(many)  # too few to see their scatter
    if many > 2:  # noqa: PLR2004  two requests say little of their own scatter
        off = sum((took - ms * n) ** 2 for n, took, _ in rows) * many / (many - 1)
        half = t95(many - 1) * sqrt(off) / steps
    depth = None if rows[0][2] is None else sum(n * (d or 0.0) for n, _, d in rows) / steps
    return PlainPoint(depth, ms, below(ms, half), ms + half, steps)


def _alone(requests: Sequence[Request]) -> list[Request]:
    """Those of them during which no other was at work."""
    ordered = sorted(requests, key=lambda r: r.started_at)
    until = 0.0
    alone: list[Request] = []
    for i, r in enumerate(ordered):
        following = ordered[i + 1].started_at if i + 1 < len(ordered) else inf
        ended = r.ended_at if r.ended_at is not None else inf
        if r.started_at >= until - OVERLAP_S and following >= ended - OVERLAP_S:
            alone.append(r)
        until = max(until, ended)
    return alone


def best_plain(
    strata: Strata | None,
    by_request: Sequence[PlainPoint],
    runs: Sequence[RecordedRun],
    costs: Sequence[CostPoint],
    drafting: Drafting | None,
    *,
    fed: bool,
    rebuilt: Span | None,
) -> PlainTime | None:
    """The best basis but the floor, which is no estimate.

    Args:
        strata: the steps of this run by width.
        by_request: plain steps by the server's own time of whole requests.
        runs: recorded ones, best first.
        costs: cycle times of this run by width, as they were seen.
        drafting: what the drafter takes of a cycle.
        fed: a drafter is fed in every step, plain ones too.
        rebuilt: what a step takes longer for being unlike the one before it, as one between cycles is; None: unknown.
    """
    here = _by_request(by_request, strata) or _in_this_run(strata)
    if here is not None and not fed:
        return here
    for run in runs:
        found = _recorded(run, strata)
        if found is not None:
            return found
    told = here or _carried_on(costs, drafting, strata.depth if strata is not None else None)
    if told is None or not fed:
        return told
    if by_request and here is not None:
        return _unfed(told, None)  # such requests have no cycle: their steps are all alike
    return _unfed(told, rebuilt) if rebuilt is not None else None


def _unfed(told: PlainTime, rebuilt: Span | None) -> PlainTime:
    """The same of a server without the drafter that is fed."""
    anew = rebuilt_in(told.low, rebuilt)
    ms, low = (told.ms - anew.value) / sqrt(FED), (told.low - anew.high) / FED
    if told.how == "fit":
        return replace(told, ms=ms, low=low)
    basis = f"{told.basis} beside a drafter that is fed: plain decoding takes that or less"
    return replace(told, ms=ms, low=low, how="with drafter", basis=basis)


def _by_request(points: Sequence[PlainPoint], strata: Strata | None) -> PlainTime | None:
    if not points or (strata is not None and strata.slots > 1):
        return None
    depth = strata.depth if strata is not None else None
    ms, low, high, _ = at_depth(points, depth)
    steps = sum(p.steps for p in points)
    basis = f"the server's own time of {steps:,} steps in requests without a draft"
    return PlainTime(ms, low, high, "this run", basis, steps, depth)


def _in_this_run(strata: Strata | None) -> PlainTime | None:
    fit = next((f for f in strata.fits if f.width == PLAIN), None) if strata is not None else None
    if strata is None or fit is None:
        return None
    half = t95(fit.freedom) * fit.se
    basis = f"{fit.n:,} steps without a draft in this run"
    return PlainTime(fit.ms, below(fit.ms, half), fit.ms + half, "this run", basis, fit.n, strata.depth)


def _recorded(run: RecordedRun, strata: Strata | None) -> PlainTime | None:
    slots, depth = (strata.slots, strata.depth) if strata is not None else (run.slots, None)
    if not run.plain or run.slots != slots:
        return None
    ms, low, high, far = at_depth(run.plain, depth)
    steps = sum(p.steps for p in run.plain)
    basis = f"{steps:,} plain steps of {run.name}" + (", at another depth" if far else "")
    low, high = of_another_run(ms, low, high)
    return PlainTime(ms, low, high, "recorded", basis, steps, depth)


def at_depth(points: Sequence[PlainPoint], depth: float | None) -> tuple[float, float, float, bool]:
    """(ms, low, high, whether it is far from any recorded depth), on straight lines between the recorded depths.

    Outside them what a token of depth costs is that of all of them.
    """
    placed = sorted((p for p in points if p.depth is not None), key=lambda p: p.depth or 0.0)
    if depth is None or not placed:
        most = max(points, key=lambda p: p.steps)
        return most.ms, most.low, most.high, depth is not None
    below = [p for p in placed if (p.depth or 0.0) <= depth]
    above = [p for p in placed if (p.depth or 0.0) > depth]
    if below and above:
        a, b = below[-1], above[0]
        share = (depth - (a.depth or 0.0)) / ((b.depth or 0.0) - (a.depth or 0.0))
        ms, low, high = ((1 - share) * x + share * y for x, y in ((a.ms, b.ms), (a.low, b.low), (a.high, b.high)))
        return ms, low, high, False
    near = below[-1] if below else above[0]
    off = depth - (near.depth or 0.0)
    far = max(depth, depth - off) > FAR * min(depth, depth - off) + NEAR_TOKENS
    slope = 0.0
    if len(placed) > 1:
        slope = max(0.0, (placed[-1].ms - placed[0].ms) / ((placed[-1].depth or 0.0) - (placed[0].depth or 0.0)))
    return near.ms + slope * off, near.low + slope * off, near.high + slope * off, far


def _carried_on(costs: Sequence[CostPoint], drafting: Drafting | None, depth: float | None) -> PlainTime | None:
    """The cycles' own line at width 0, less what the drafter takes there: for a block drafter a whole pass.

    Only widths up to the known step of the kernels are on one line, and a line is carried on no further than it is
    long. It cannot be above the cost of the narrowest draft.
    """
    line = [p for p in costs if p.width < KERNEL_ROWS]
    if len(line) < LINE_WIDTHS or line[0].width > line[-1].width - line[0].width or drafting is None:
        return None
    pass_ms = {"token": 0.0, "table": 0.0, "block": drafting.ms}.get(drafting.by)
    if pass_ms is None:
        return None
    weights = [1 / max(p.high - p.low, 1e-3 * p.ms) ** 2 for p in line]
    total = sum(weights)
    middle = sum(w * p.width for w, p in zip(weights, line, strict=True)) / total
    mean = sum(w * p.ms for w, p in zip(weights, line, strict=True)) / total
    across = sum(w * (p.width - middle) ** 2 for w, p in zip(weights, line, strict=True))
    slope = sum(w * (p.width - middle) * p.ms for w, p in zip(weights, line, strict=True)) / across
    ms = mean - slope * middle
    off = sum(w * (p.ms - ms - slope * p.width) ** 2 for w, p in zip(weights, line, strict=True)) / (len(line) - 2)
    # A point's interval is twice its half width, which is t standard errors: a quarter of it is about one.
    variance = max(off, 1 / 16) * (1 / total + middle**2 / across)
    half = t95(len(line) - 2) * variance**0.5
    most = line[0].high - pass_ms
    ms = min(ms - pass_ms, most)
    if ms <= 0:
        return None
    basis = f"cycle time at widths {line[0].width} to {line[-1].width}, carried on to 0"
    return PlainTime(ms, below(ms, half), min(most, ms + half), "fit", basis, 0, depth)


def bandwidth_floor(memory: Memory, uses: Sequence[GpuUse], depth: float | None, *, experts: bool) -> float | None:
    """Milliseconds in which the devices can read the weights on them and the KV cache at this depth, at best.

    Bandwidth is twice the memory clock (data on both edges, as NVML counts it) times the bus width. Devices hold a
    part of the layers each and work one after another. None with experts, of which a step reads only a few.
    """
    weights = (
        next((p.bytes for p in memory.device.parts if p.name == "target weights"), None) if memory.device else None
    )
    if weights is None or not uses or experts:
        return None
    rates: list[float] = []
    for use in uses:
        bits, clock = use.gpu.found.memory_bus_bits, use.gpu.found.memory_clock_max_mhz
        if not bits or not clock:
            return None
        rates.append(bits / 8 * clock * 1e6 * 2)
    kv = (memory.kv.bytes_per_token or 0.0) * (depth or 0.0)
    return 1000 * (weights + kv) / (sum(rates) / len(rates))
