"""What a trace tells, made by hand: a DFlash pair on an H200, and servers of which less is known."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import facts
from feeds import TracedFeed

from specscope import events as ev
from specscope.session.state import SourceView
from specscope.session.turn_state import Anatomy, BackendPath, Burst, CopyRow, Parts, Stalls, TraceView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.findings.rule import Finding

TURN = Parts(13.0, 3.4, 0.4, 4.7, 1.3, 3.2, 0.0, 0.2)
"""One turn of the DFlash pair, as measured."""

COPIES = (
    CopyRow("drafter", 40, 32.0, "top 10 chosen on the device (ids or scores)"),
    CopyRow("target", 3_145_728, 1.0, "logits of 16 rows"),
    CopyRow("target", 262_144, 5.0, "features of one layer, 16 rows"),
)
ESTIMATED_PATH = BackendPath("unknown", "host", "", "request: backend_sampling false", "estimated")
PATH = BackendPath(
    "device",
    "host",
    "32 x 40 bytes a turn: top 10 chosen on the device (ids or scores); no logits",
    "1 x 3,145,728 bytes a turn: logits of 16 rows",
    "exact",
)
AUTO = TraceView("auto", (), 0.5, 10.0)
TRACING = SourceView("trace", "attached", "trace", facts.T0, "auto, process 4242")
AS_ROOT = "run specscope as root, or `sudo -v` just before it, to see every cycle and where its time goes"
OFF = SourceView("trace", "lost", "none", facts.T0, "tracing needs root", AS_ROOT)
HTTP = SourceView("http", "attached", "polled", facts.T0, "/slots, /metrics")
WATCHED = [ev.OwnCostSampled(at=facts.T0 - 240, cpu_pct=1.1), *facts.exact(cycle_s=0.0131)]
"""A watch that began four minutes before."""

END = int(WATCHED[-1].at)
"""Its last second."""

STACKS = ev.StacksSampled(
    at=facts.T0 + 20,
    span_s=2.0,
    samples=200,
    frames=[
        ("_call_chat (xllamacpp/server.py:212)", 171),
        ("select (selectors.py:415)", 20),
        ("dumps (json/__init__.py:231)", 9),
    ],
)


def seconds(
    count: int, turn: Parts = TURN, end: int = END, *, pauses: bool = True
) -> tuple[tuple[float, int, Parts], ...]:
    """Turns of the last seconds; longer for a while, one much longer, and none in two pauses."""
    dice = random.Random(7)  # noqa: S311  a fixed sequence, not a secret
    told: list[tuple[float, int, Parts]] = []
    for back in range(count, 0, -1):
        wait = turn.wait_ms
        more = {30: 40.0}.get(back, 6.0 if 18 <= back < 24 else 0.0) * (turn.whole_ms / 13.0)
        noise = [dice.uniform(0.94, 1.06) for _ in range(4)]
        parts = replace(
            turn,
            draft_ms=turn.draft_ms * noise[0],
            wait_ms=None if wait is None else wait * noise[1],
            submit_ms=turn.submit_ms * noise[2],
            sampling_ms=None if turn.sampling_ms is None else turn.sampling_ms * noise[3] + more,
        )
        whole = parts.draft_ms + parts.submit_ms + (parts.wait_ms or 0) + parts.features_ms
        parts = replace(parts, whole_ms=whole + (parts.sampling_ms or 0) + parts.other_ms)
        if not pauses or (back not in range(40, 60) and back not in (12, 13)):
            told.append((float(end - back + 1), 76, parts))
    return tuple(told)


def anatomy(**fields: Any) -> Anatomy:  # noqa: ANN401
    """The DFlash pair's, with other fields where given."""
    known: dict[str, Any] = {
        "evidence": "exact",
        "basis": "traced",
        "parts": TURN,
        "turns": 154,
        "cycles": 154,
        "span_s": 2.0,
        "seconds": seconds(120),
        "asynchronous": True,
    }
    return Anatomy(**{**known, **fields})


def stalls(count: int = 14, every: float = 10.0, end: int = END) -> Stalls:
    """Bursts of half a second, the last one three seconds before the end."""
    dice = random.Random(3)  # noqa: S311  a fixed sequence, not a secret
    bursts = [
        Burst(end - 3 - n * every, 0.5, 0.46 + dice.uniform(-0.03, 0.03), 0.41 + dice.uniform(-0.03, 0.03), 61.0)
        for n in reversed(range(count))
        if n not in (4, 5)  # nothing ran
    ]
    return Stalls(tuple(bursts), 0.5, every)


def traced(findings: Sequence[Finding] = (), **fields: Any) -> TracedFeed:  # noqa: ANN401
    """A watch of the DFlash pair with all that a trace tells."""
    known: dict[str, Any] = {
        "tier": "trace",
        "anatomy": anatomy(),
        "copies": COPIES,
        "backend_path": PATH,
        "stalls": stalls(),
        "trace": AUTO,
        "sources": (HTTP, TRACING),
    }
    return TracedFeed(WATCHED, findings, **{**known, **fields})


ESTIMATE = anatomy(
    evidence="estimated",
    basis="turn of 13.3 ms from the time between steps; draft from the log's statistics of 986 drafts",
    parts=Parts(13.3, 3.4, None, None, None, None, 9.9),
    turns=0,
    cycles=986,
    span_s=10.0,
    seconds=(),
    asynchronous=True,
)


def estimated() -> TracedFeed:
    """Nothing is traced, and an estimate stands in for it."""
    return traced(
        tier="cycles",
        anatomy=ESTIMATE,
        copies=(),
        stalls=None,
        trace=None,
        sources=(HTTP, OFF),
        backend_path=ESTIMATED_PATH,
    )


def untraced() -> TracedFeed:
    """Nothing is traced, and nothing is known."""
    known = {"anatomy": None, "copies": (), "stalls": None, "trace": None, "backend_path": BackendPath()}
    return traced(tier="cycles", sources=(HTTP, OFF), **known)


def by_cpu() -> TracedFeed:
    """The lab's pair on a CPU: what is computed is within the submit, and nothing is waited for."""
    turn = Parts(27.4, 11.4, 12.1, None, 0.6, 2.9, 0.4, 0.9)
    known = anatomy(parts=turn, seconds=seconds(90, turn), turns=73, cycles=73, asynchronous=False)
    return traced(anatomy=known, stalls=None, trace=TraceView("auto", ("device_wait", "launch"), 0.5, 10.0))


def cheap() -> TracedFeed:
    """The cheap probes alone, of a build that lacks one of them."""
    turn = Parts(13.0, 3.4, 0.4, None, 1.3, None, 7.9)
    known = anatomy(parts=turn, seconds=seconds(90, turn))
    trace = TraceView("cheap", ("sample", "copy_2d_async"))
    return traced(anatomy=known, copies=(), stalls=None, backend_path=BackendPath(), trace=trace)


PLAIN_END = int(facts.plain()[-1].at)


def plain() -> TracedFeed:
    """A server that does not draft."""
    turn = Parts(3.37, 0.0, 0.21, 2.71, 0.0, 0.38, 0.07)
    steps = anatomy(parts=turn, cycles=0, turns=594, seconds=seconds(40, turn, PLAIN_END))
    path = BackendPath("unknown", "host", "speculation is off", "1 x 196,608 bytes a turn: logits of 1 row", "exact")
    copies = (CopyRow("target", 196_608, 1.0, "logits of 1 row"),)
    return TracedFeed(
        facts.plain(),
        (),
        **traced(anatomy=steps, copies=copies, backend_path=path, stalls=stalls(4, end=PLAIN_END)).fields,
    )
