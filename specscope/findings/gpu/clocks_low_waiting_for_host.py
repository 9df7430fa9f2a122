"""The GPU's clocks are low although nothing limits them: it has too little to do, because the host is slower.

Looks at: the SM clock and the use of the only device of a server over its busy time, what limits it by the driver's
word, and where a trace tells it, how long the device is without work.

Why it matters: a device that has nothing to do between two graphs saves power and lowers its clock, and then computes
the next graph more slowly as well. It looks like a power or heat problem and is none: neither a higher limit nor
better cooling changes it.

What to do: shorten what the host does in each cycle (``--top-k``, ``--backend-sampling``, a faster core). Where the
clocks were locked, ``nvidia-smi --reset-gpu-clocks`` frees them.

Evidence: at least 30 s at work; a mean use below 80 % (an H200 is used for 87-91 % in plain decoding, for 60-71 %
with a drafter); no limit in 10 % of the time; and a mean clock of less than 80 % of the highest. Consumer cards reach
85-95 % of it under full load; an H200 keeps its highest clock whatever it has to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings import clocks
from specscope.findings.rule import Inapplicable, Rule
from specscope.session.gpu_state import HARDLY, WAITS_BELOW_PCT

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.gpu_state import Gpu
    from specscope.session.state import Target

LOW: Final = 0.8
"""Of the highest clock."""

NOT_LOW: Final = 0.85
"""Above it, a raised finding is cleared."""


def look(case: Case) -> Seen:
    """Judge the device of one server. Of several devices each waits for the others' part of a forward as well."""
    gpus = [use.gpu for use in case.target.gpus]
    if len(gpus) > 1:
        return Inapplicable("of several GPUs each waits for the others")
    if any(gpu.now is not None and not gpu.found.sm_clock_max_mhz for gpu in gpus):
        return Inapplicable("the driver does not tell the GPU's highest clock")
    return clocks.of_each(case, _look_at)


def _look_at(case: Case, gpu: Gpu) -> Finding | None:
    most, mhz, busy = gpu.found.sm_clock_max_mhz, gpu.sm_clock_mhz, gpu.busy_pct
    if not most or mhz is None or busy is None or busy >= WAITS_BELOW_PCT:
        return None
    if any(limit.share >= HARDLY for limit in gpu.limits):
        return None
    if not case.holds(mhz / most, raise_at=LOW, clear_at=NOT_LOW, part=clocks.part(gpu)):
        return None
    return RULE.found(
        case,
        f"GPU {gpu.index} runs at {mhz / most:.0%} of its clock and nothing limits it: it waits for the host",
        (
            *clocks.clock(gpu, mhz, "at work"),
            ("in use", f"{busy:.0f}% of {gpu.judged_s:.0f} s at work"),
            ("limits", ", ".join(f"{limit.name} {limit.share:.0%}" for limit in gpu.limits) or "none"),
            *_host(case.target),
        ),
        "shorten the host's part of a cycle (--top-k 40, --backend-sampling, a faster core); if the clocks are "
        "locked, nvidia-smi --reset-gpu-clocks",
        part=clocks.part(gpu),
        link=clocks.LINK,
    )


def _host(target: Target) -> tuple[tuple[str, str], ...]:
    told: list[tuple[str, str]] = []
    if target.stalls is not None:
        told.append(("GPU without work", f"{target.stalls.idle:.0%} of the traced time"))
    threads = target.usage.threads if target.usage is not None else []
    if threads:
        told.append(("the server's busiest thread", f"{max(pct for _, pct in threads):.0f}% of a core"))
    return tuple(told)


RULE = Rule("SPC304", "clocks_low_waiting_for_host", "info", look)
