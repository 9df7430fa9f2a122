"""GPUs in words: readings beside the most they can be, what holds the clocks down, and who uses the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from specscope.session.gpu_state import HARDLY, JUDGED_LEAST_S, WAITS_BELOW_PCT
from specscope.views.figures import UNKNOWN, span

if TYPE_CHECKING:
    from specscope.session.gpu_state import Gpu, GpuUse, HowKnown, Limit, Phase
    from specscope.session.state import Target
    from specscope.views.frame import Frame

OLD_S: Final = 5.0
"""A device in use is read ten times a second, one at rest once: an older reading says nothing of now."""

PHASES: Final[dict[Phase, str]] = {"decode": "decoding", "prefill": "prefill", "idle": "idle"}

HOW: Final[dict[HowKnown, str]] = {
    "processes": "the driver lists its process",
    "files": "it holds the device open",
    "only": "the only device, and layers are offloaded",
    "named": "its log names the device",
}
NOT_KNOWN: Final = "not known if this server uses it"
NOT_KNOWN_SHORT: Final = "used? not known"


@dataclass(frozen=True, eq=False, slots=True)
class Device:
    """A device that is shown.

    Attributes:
        gpu: its state.
        use: how the server uses it; None where it is not known whether it does.
        unheld: it is known that it does not.
    """

    gpu: Gpu
    use: GpuUse | None
    unheld: bool = False


def devices_of(frame: Frame) -> list[Device]:
    """The devices that the server uses, and those of its machine that were lost; where none is known to be used, all.

    Devices of this machine say nothing of a server elsewhere, nor of one that is known to hold none of them open.
    """
    target = frame.target
    if target is None:
        return []
    used = [Device(use.gpu, use) for use in target.gpus]
    if not is_local(target):
        return used
    known = {use.gpu.index for use in target.gpus}
    others = (gpu for gpu in frame.session.machine.gpus if gpu.index not in known)
    return used + [Device(gpu, None) for gpu in others if gpu.lost or not (known or is_unheld(target, gpu))]


def is_local(target: Target) -> bool:
    """Whether the server runs on the machine whose devices are read, as far as its process or address tells."""
    host = urlsplit(target.url or "").hostname or ""
    return target.pid is not None or host in ("localhost", "::1") or host.startswith("127.")


def is_unheld(target: Target, gpu: Gpu) -> bool:
    """Whether the files that the server's process holds open are known, and the device is not among them."""
    minors = target.usage.gpu_minors if target.usage is not None else None
    return minors is not None and gpu.found.minor is not None and gpu.found.minor not in minors


def is_at_work(gpu: Gpu) -> bool:
    """Whether anything is known to run on it now."""
    return gpu.phase in ("decode", "prefill")


def name_of(gpu: Gpu) -> str:
    """Its name without the maker's; empty where the driver tells none."""
    return (gpu.found.name or "").removeprefix("NVIDIA ").removeprefix("GeForce ")


def tells_nothing(gpu: Gpu) -> bool:
    """Whether the driver answers and yet tells neither power, nor clocks, nor use."""
    now = gpu.now
    figures = (None,) if now is None else (now.power_w, now.sm_clock_mhz, now.busy_pct)
    return gpu.lost is None and all(figure is None for figure in figures)


def watts(power_w: float | None) -> str:
    """``426``, ``69.6``: without the unit."""
    if power_w is None:
        return UNKNOWN
    return f"{power_w:,.0f}" if power_w >= 100 else f"{power_w:.1f}"  # noqa: PLR2004  three digits are enough


def limit_watts(limit_w: float | None) -> str:
    """A limit as it was set: ``70``, ``62.5``."""
    return UNKNOWN if limit_w is None else f"{limit_w:,.4g}"


def power_words(gpu: Gpu) -> str:
    """``426 of 700 W``."""
    power = watts(gpu.now.power_w if gpu.now is not None else None)
    limit = gpu.found.power_limit_w
    return f"{power} W" if limit is None else f"{power} of {limit_watts(limit)} W"


def clock_words(mhz: float | None, most: float | None) -> str:
    """``1,410 of 2,617 MHz``."""
    clock = UNKNOWN if mhz is None else f"{mhz:,.0f}"
    return f"{clock} MHz" if most is None else f"{clock} of {most:,.0f} MHz"


def sm_clock_words(gpu: Gpu) -> str:
    """The SM clock now, of the most it can be."""
    return clock_words(gpu.now.sm_clock_mhz if gpu.now is not None else None, gpu.found.sm_clock_max_mhz)


def busy_words(gpu: Gpu) -> str:
    """``62 % busy``."""
    busy = gpu.now.busy_pct if gpu.now is not None else None
    return f"{UNKNOWN} busy" if busy is None else f"{busy} % busy"


def temperature_words(gpu: Gpu) -> str:
    """``71 C``."""
    read = gpu.memory.temperature_c if gpu.memory is not None else None
    return f"{UNKNOWN} C" if read is None else f"{read} C"


def mean_words(gpu: Gpu) -> str:
    """``while busy 241 W, 64 % busy``: means over the busy time."""
    if gpu.busy_pct is None and gpu.power_w is None:
        return ""
    busy = UNKNOWN if gpu.busy_pct is None else f"{gpu.busy_pct:.0f}"
    return f"mean at work: {watts(gpu.power_w)} W, {busy} % busy"


def age_words(gpu: Gpu, now: float) -> str:
    """How old the latest reading is, where it is not of the present; empty otherwise."""
    if gpu.now is None or now - gpu.now.at < OLD_S:
        return ""
    return f"last read {span(now - gpu.now.at)} ago"


def lost_words(frame: Frame, gpu: Gpu) -> str:
    """That a device does not answer any more, or none is read any more, and why."""
    unread = any(source.state == "lost" for source in frame.session.machine.sources)
    return f"{'NOT READ' if unread else 'LOST'}: {gpu.lost}"


class Limits(NamedTuple):
    """What is said of limits.

    Attributes:
        text: in full; short: in a few words.
        loud: it is what the clocks depend on.
        others: what else holds.
    """

    text: str
    short: str
    loud: bool = False
    others: str = ""


def limits_of(gpu: Gpu, *, several: bool = False) -> Limits:
    """What holds the clocks down, with its share of the busy time and the clock it costs; or that nothing does.

    Args:
        gpu: the device.
        several: the server uses other devices as well, whose part of a forward it has to wait for.
    """
    if gpu.judged_s < JUDGED_LEAST_S:
        seen = f"busy for {gpu.judged_s:.0f} s so far" if gpu.judged_s >= 1 else "not busy so far"
        return Limits(f"limits not judged yet: {seen}", "limits not judged yet")
    if not gpu.reasons_known:
        return Limits("limits not known: the driver names none", "limits not known")
    waits = gpu.busy_pct is not None and gpu.busy_pct < WAITS_BELOW_PCT
    worst = gpu.limits[0] if gpu.limits else None
    if worst is not None and (worst.share >= HARDLY or not waits):
        others = [f"{limit.name} {_share(limit)}" for limit in gpu.limits[1:] if limit.share >= HARDLY]
        others += [] if worst.now else ["not now"]
        loud = worst.share >= HARDLY
        return Limits(_holds(gpu, worst), f"{worst.name} {_share(worst)}", loud=loud, others=", ".join(others))
    what = "hardly anything" if worst is not None else "nothing"
    if not waits:
        return Limits(f"{what} limits the clocks", "not limited")
    if several:
        return Limits(
            f"{what} limits the clocks: it waits for the host or another GPU", "not limited: waits for others"
        )
    return Limits(f"{what} limits the clocks: it waits for the host", "not limited: waits for host")


def _holds(gpu: Gpu, worst: Limit) -> str:
    """``power cap 96 % of busy time: 1,410 of 2,617 MHz``."""
    said = f"{worst.name} {_share(worst)} of busy time"
    if worst.sm_clock_mhz is not None:
        said += f": {clock_words(worst.sm_clock_mhz, gpu.found.sm_clock_max_mhz)}"
    return said


def _share(limit: Limit) -> str:
    return "<1 %" if limit.share < 0.005 else f"{100 * limit.share:.0f} %"  # noqa: PLR2004  rounds down to none


def others_on(device: Device) -> int:
    """Processes on it beside the server's own; 0 where the driver's list does not have that one, or there is none."""
    gpu, use = device.gpu, device.use
    listed = gpu.memory.processes if gpu.memory is not None else None
    return len(listed) - 1 if listed and use is not None and use.how == "processes" else 0


def kind_words(gpu: Gpu) -> str:
    """What makes its figures differ from those of a bare device; empty where nothing does."""
    found = gpu.found
    said = (
        "cut into MIG instances: power and clocks are of all of them" if found.mig else "",
        "a virtual GPU" if found.virtual == "vgpu" else "",
        "computes in the system's memory" if found.unified else "",
    )
    return ", ".join(words for words in said if words)
