"""The GPU is at its power limit for most of the time, so that its clocks stay below what they could be.

Looks at: the driver's own reason for the clocks (power cap), with the power drawn while it held, the limit in force,
and the SM clock; over the time in which the device was at work.

Why it matters: verifying wide drafts and computing prompts is arithmetic and slows down with the clock. Plain
decoding is bound by memory bandwidth, and the memory's clock stays: an RTX 4090 at 240 W was at its cap in 91 % of the
readings and lost no speed (club-3090 issue 697), an RTX 3090 went from 38.8 to 40.4 tok/s with 10 W more (issue 103).

What to do: measure before you raise anything: ``nvidia-smi --power-limit`` sets another limit, where the board allows
one. Read the limit in force afterwards: a refused one goes unnoticed (llm-rig issue 100).

Evidence: at least 30 s at work, more than half of it at the cap, at 97 % of the limit or more meanwhile (thresholds of
those reports; where the driver tells no limit, its word counts alone). Where heat limits as well, that is the cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings import clocks
from specscope.findings.rule import Rule

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.gpu_state import Gpu, Limit

MOSTLY: Final = 0.5
"""Of the busy time: at the cap for longer than not."""

LESS: Final = 0.4
"""Below it, a raised finding is cleared."""

AT_LIMIT: Final = 0.97
"""Of the limit: readings of a card at its cap are 0.98 to 1 of it (246 of 250 W, 69.6 of 70 W)."""


def look(case: Case) -> Seen:
    """Judge the devices of one server."""
    return clocks.of_each(case, _look_at)


def _look_at(case: Case, gpu: Gpu) -> Finding | None:
    limit, most = clocks.held(gpu, "power cap"), gpu.found.power_limit_w
    if limit is None or clocks.share(gpu, "thermal") >= clocks.HOT:
        return None
    drawn = limit.power_w
    if drawn is not None and most is not None and drawn < AT_LIMIT * most:
        return None
    if not case.holds(limit.share, raise_at=MOSTLY, clear_at=LESS, part=clocks.part(gpu)):
        return None
    of_limit = f" of {most:g} W" if most is not None else ""
    return RULE.found(
        case,
        f"GPU {gpu.index} is at its power limit{of_limit} {limit.share:.0%} of the time",
        (
            clocks.of_busy_time(limit, gpu),
            *_power(gpu, limit),
            *clocks.clock(gpu, limit.sm_clock_mhz, "meanwhile"),
            *clocks.temperature(gpu),
            *_bound(case),
        ),
        _advice(gpu),
        part=clocks.part(gpu),
        link=clocks.LINK,
    )


def _power(gpu: Gpu, limit: Limit) -> tuple[tuple[str, str], ...]:
    found, told = gpu.found, list[tuple[str, str]]()
    if limit.power_w is not None:
        told.append(("power meanwhile", f"{limit.power_w:.1f} W"))
    if found.power_limit_w is not None:
        others = (("default", found.power_default_w), ("at most", found.power_max_w))
        known = "".join(f", {what} {watts:g} W" for what, watts in others if watts is not None)
        told.append(("limit in force", f"{found.power_limit_w:g} W{known}"))
    return tuple(told)


def _bound(case: Case) -> tuple[tuple[str, str], ...]:
    """How much of plain decoding is reading memory, which a higher clock does not speed up."""
    bound = case.target.economics.bound_share
    return (("reading memory", f"{bound:.0%} of a plain step at the least"),) if bound is not None else ()


def _advice(gpu: Gpu) -> str:
    limit, most = gpu.found.power_limit_w, gpu.found.power_max_w
    if limit is not None and most is not None and limit >= most:
        return (
            f"nvidia-smi --power-limit can set no more than {most:g} W here; decoding is mostly bound by memory "
            "bandwidth, and narrower drafts are less arithmetic: measure"
        )
    higher = f"={most:g}" if most is not None else ""
    return (
        "decoding is mostly bound by memory bandwidth: measure tok/s before and after nvidia-smi "
        f"--power-limit{higher}, and read the limit back"
    )


RULE = Rule("SPC301", "power_limited", "info", look)
