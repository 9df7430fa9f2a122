"""What the rules about a GPU's clocks share: which devices can be judged, and what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Inapplicable
from specscope.findings.unjudged import no_gpu, wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.findings.rule import Case, Finding, Seen, Unjudged
    from specscope.session.gpu_state import Gpu, Limit, LimitName

LINK: Final = "https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html"

LEAST_BUSY_S: Final = 30.0
"""Busy time before what limits a device is judged: several requests, and longer than a cool device stays cool."""

HOT: Final = 0.1
"""Of the busy time: with less of it, heat is a peak of one prompt, and nothing that the speed depends on."""

HOT_NO_MORE: Final = 0.05
"""Half of that."""


def judged(case: Case) -> tuple[Gpu, ...] | Unjudged:
    """The server's devices of which the driver names limits, once they have worked for long enough."""
    answering = [use.gpu for use in case.target.gpus if use.gpu.lost is None]
    ready = tuple(gpu for gpu in answering if gpu.reasons_known and gpu.judged_s >= LEAST_BUSY_S)
    none = no_gpu(case.target, case.session)
    if ready or none is not None:
        return none or ready
    longest = max(gpu.judged_s for gpu in answering)
    if longest >= LEAST_BUSY_S:
        return Inapplicable("the driver does not say what limits the clocks")
    return wait(case.target, f"{LEAST_BUSY_S:.0f} s of work on the GPU ({longest:.0f} so far)")


def of_each(case: Case, look_at: Callable[[Case, Gpu], Finding | None]) -> Seen:
    """What is found of each device that can be judged."""
    gpus = judged(case)
    if not isinstance(gpus, tuple):
        return gpus
    return tuple(finding for gpu in gpus if (finding := look_at(case, gpu)) is not None)


def held(gpu: Gpu, name: LimitName) -> Limit | None:
    """A limit that held for any part of the busy time."""
    return next((limit for limit in gpu.limits if limit.name == name), None)


def share(gpu: Gpu, name: LimitName) -> float:
    """Of the busy time, that in which a limit held."""
    limit = held(gpu, name)
    return limit.share if limit is not None else 0.0


def part(gpu: Gpu) -> str:
    """The subject of a finding about a device."""
    return f"gpu {gpu.index}"


def of_busy_time(limit: Limit, gpu: Gpu) -> tuple[str, str]:
    """``("power cap", "96% of 203 s at work")``."""
    return limit.name, f"{limit.share:.0%} of {gpu.judged_s:.0f} s at work" + ("" if limit.now else ", not now")


def clock(gpu: Gpu, mhz: float | None, when: str) -> tuple[tuple[str, str], ...]:
    """``("SM clock meanwhile", "1,410 of 2,617 MHz (46% below)")``; nothing where it is not told."""
    if mhz is None:
        return ()
    most = gpu.found.sm_clock_max_mhz
    said = f"{mhz:,.0f} MHz" if not most else f"{mhz:,.0f} of {most:,} MHz ({1 - mhz / most:.0%} below)"
    return ((f"SM clock {when}", said),)


def temperature(gpu: Gpu) -> tuple[tuple[str, str], ...]:
    """How hot it is, and how hot it may be; nothing where it is not told."""
    read = gpu.memory.temperature_c if gpu.memory is not None else None
    if read is None:
        return ()
    edges = (("software slows it at", gpu.found.max_c), ("hardware at", gpu.found.slowdown_c))
    known = ", ".join(f"{what} {celsius} C" for what, celsius in edges if celsius is not None)
    return (("temperature", f"{read} C; {known}" if known else f"{read} C"),)
