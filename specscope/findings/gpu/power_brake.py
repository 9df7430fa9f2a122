"""The power supply, or the board itself, cuts the GPU's clocks to a half or less.

Looks at: the driver's own reasons for the clocks (power brake, hardware slowdown), over the time in which the device
was at work.

Why it matters: the brake is a signal from outside the GPU, such as an overloaded power supply; a hardware slowdown is
the board's own, by heat or by a power draw that rises too fast. Both halve the core clock, or worse.

What to do: check the power supply, its cables and connectors, and the server's power cap (BMC). A lower limit
(``nvidia-smi --power-limit``) keeps the draw below what sets it off.

Evidence: at least 30 s at work with the brake in more than 1 % of it: in a sound machine it never comes. A slowdown of
which the driver names no cause is also told of when the clocks merely change (DCGM's documentation of the same bit),
so it must hold in more than 10 %, and in more of the time than heat does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings import clocks
from specscope.findings.rule import Rule

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.gpu_state import Gpu, Limit

BRAKED: Final = 0.01
"""Of the busy time: three readings of ten a second in the least time that is judged; one may be a glitch."""

BRAKED_NO_MORE: Final = 0.005

SLOWED: Final = 0.1
"""Of the busy time, as for heat: what holds in less is not what the speed depends on."""

SLOWED_NO_MORE: Final = 0.05


def look(case: Case) -> Seen:
    """Judge the devices of one server."""
    return clocks.of_each(case, _look_at)


def _look_at(case: Case, gpu: Gpu) -> Finding | None:
    part = clocks.part(gpu)
    brake, slowdown = clocks.held(gpu, "power brake"), clocks.held(gpu, "hardware slowdown")
    if brake is not None and case.holds(brake.share, raise_at=BRAKED, clear_at=BRAKED_NO_MORE, part=part):
        return _found(case, gpu, brake, "the power brake cuts its clocks: the power supply or the server asks for it")
    if slowdown is None or slowdown.share <= clocks.share(gpu, "thermal"):
        return None
    if not case.holds(slowdown.share, raise_at=SLOWED, clear_at=SLOWED_NO_MORE, part=part):
        return None
    return _found(case, gpu, slowdown, "its own hardware cuts its clocks, and the driver does not name heat")


def _found(case: Case, gpu: Gpu, limit: Limit, what: str) -> Finding:
    return RULE.found(
        case,
        f"GPU {gpu.index}: {what}",
        (
            clocks.of_busy_time(limit, gpu),
            *clocks.clock(gpu, limit.sm_clock_mhz, "meanwhile"),
            *clocks.temperature(gpu),
        ),
        "check the power supply, its cables and the server's power cap; nvidia-smi --power-limit with a lower value "
        "keeps the draw below what sets it off",
        part=clocks.part(gpu),
        link=clocks.LINK,
    )


RULE = Rule("SPC303", "power_brake", "warning", look)
