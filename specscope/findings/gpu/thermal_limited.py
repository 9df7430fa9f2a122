"""Heat keeps the GPU's clocks down.

Looks at: the driver's own reasons for the clocks (thermal slowdown, by software or by hardware), temperature and SM
clock, over the time in which the device was at work.

Why it matters: a device that is too hot lowers its clocks until it is not, and everything it computes takes longer. A
higher power limit makes it worse: an A4000 was thermally limited at every cap that was tried, down to 375 MHz at 100 W
(llm-rig issue 100).

What to do: give it air: clean the cooler, raise the fans, leave a slot free. Until then a lower limit
(``nvidia-smi --power-limit``) makes less heat at about the same speed, because the clocks are low anyway.

Evidence: at least 30 s at work, and heat named as a reason in more than 10 % of it (the threshold of those reports).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings import clocks
from specscope.findings.rule import Rule

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.gpu_state import Gpu


def look(case: Case) -> Seen:
    """Judge the devices of one server."""
    return clocks.of_each(case, _look_at)


def _look_at(case: Case, gpu: Gpu) -> Finding | None:
    limit = clocks.held(gpu, "thermal")
    if limit is None:
        return None
    if not case.holds(limit.share, raise_at=clocks.HOT, clear_at=clocks.HOT_NO_MORE, part=clocks.part(gpu)):
        return None
    power = f"{limit.power_w:.1f} W" if limit.power_w is not None else "not told"
    return RULE.found(
        case,
        f"GPU {gpu.index} is too hot: heat keeps its clocks down {limit.share:.0%} of the time",
        (
            clocks.of_busy_time(limit, gpu),
            *clocks.clock(gpu, limit.sm_clock_mhz, "meanwhile"),
            *clocks.temperature(gpu),
            ("power meanwhile", power),
        ),
        "improve the airflow or clean the cooler; a higher power limit will not help, a lower one (nvidia-smi "
        "--power-limit) makes less heat",
        part=clocks.part(gpu),
        link=clocks.LINK,
    )


RULE = Rule("SPC302", "thermal_limited", "warning", look)
