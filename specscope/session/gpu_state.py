"""What is known of the machine's GPUs, as the frozen state has it: readings, what limits them, energy, use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from specscope.events import GpuFound, GpuLinkRead, GpuMemoryRead, GpuSampled
    from specscope.session.state import SourceView

Phase: TypeAlias = Literal["decode", "prefill", "idle"]
"""What the servers on a device do; decode where any of them decodes."""

JUDGED_LEAST_S: Final = 3.0
"""Busy time before limits are told of: about thirty readings."""

WAITS_BELOW_PCT: Final = 80.0
"""Mean use below which a device whose clocks nothing limits is said to wait. (H200: 87 to 91 % while decoding plainly;
60 to 71 % with a drafter, where a trace saw it without work for 41 % of the time.)"""

HARDLY: Final = 0.1
"""What holds in less of the busy time than this is not what the clocks depend on."""

LimitName: TypeAlias = Literal[
    "power cap",
    "thermal",
    "power brake",
    "hardware slowdown",
    "application clocks",
    "sync boost",
    "display clocks",
]


class Limit(NamedTuple):
    """Something that kept the clocks down.

    Attributes:
        share: of the device's busy time in which the driver named it, 0..1; several can hold at once.
        busy_s: that time in seconds.
        sm_clock_mhz: mean clock meanwhile; None: not told.
        now: whether it holds at this moment.
        power_w: mean power meanwhile; None: not told.
    """

    name: LimitName
    share: float
    busy_s: float
    sm_clock_mhz: float | None
    now: bool
    power_w: float | None = None


class Decoding(NamedTuple):
    """Means over the time in which the servers on a device decode; prompts are another kind of work.

    ``to_device_bytes_per_s`` is PCIe traffic of the latest ``to_device_readings`` of that time. None: not told.
    """

    seconds: float = 0.0
    busy_pct: float | None = None
    memory_busy_pct: float | None = None
    to_device_bytes_per_s: float | None = None
    to_device_readings: int = 0


class GpuSecond(NamedTuple):
    """Means of one second, for a chart; None where nothing was told. ``limited``: share of it under any limit."""

    at: float
    power_w: float | None
    sm_clock_mhz: float | None
    busy_pct: float | None
    limited: float | None


@dataclass(frozen=True, eq=False, slots=True)
class Gpu:
    """One device.

    Attributes:
        found: what it is and the most it can.
        lost: why it does not answer any more; None while it does.
        now, memory, link: the latest reading of each kind; None before the first and after a loss.
        phase: what the servers on it do; None: not known.
        judged_s: busy time over which ``limits`` and the means are told; 0: none yet.
        reasons_known: the driver names reasons at all, so that no limit means none.
        power_w, sm_clock_mhz, busy_pct: means over busy time; None: not told.
        live_power_w: mean power of the latest ten seconds of decoding.
        to_host_bytes_per_s: mean PCIe traffic to the host of the latest ``to_host_readings`` while decoding.
        decoding: what else is told of the decoding time alone.
        seconds: the latest two minutes.
    """

    found: GpuFound
    lost: str | None = None
    now: GpuSampled | None = None
    memory: GpuMemoryRead | None = None
    link: GpuLinkRead | None = None
    phase: Phase | None = None
    judged_s: float = 0.0
    reasons_known: bool = False
    limits: tuple[Limit, ...] = ()
    power_w: float | None = None
    sm_clock_mhz: float | None = None
    busy_pct: float | None = None
    live_power_w: float | None = None
    to_host_bytes_per_s: float | None = None
    to_host_readings: int = 0
    decoding: Decoding = field(default_factory=Decoding)
    seconds: tuple[GpuSecond, ...] = ()

    @property
    def index(self) -> int:
        """NVML's number of the device."""
        return self.found.index


@dataclass(frozen=True, eq=False, slots=True)
class Energy:
    """Energy of a server's devices while it worked, whatever else ran on them; watched servers at work share it.

    Attributes:
        decode_j, prefill_j: joules in each phase (None: never seen in it), over ``tokens`` generated and ``accepted``
            draft tokens (None: no cycle was seen).
        counted: by the driver's energy counter; else integrated from power readings.
        j_per_token, j_per_accepted: decode energy over each, added up over the devices, each by the tokens of the
            time in which it was read; None: nothing generated (accepted) yet.
        live_j_per_token: power of the latest ten seconds of decoding over tokens per second.
        rejected_share: of the rows verified while decoding, those of rejected draft tokens, 0..1. A forward of the
            target computes them all at once, so it bounds what rejected drafts can have cost in energy from above:
            where the forward is bound by reading the weights, fewer rows would have taken about the same.
        rejected_j_per_token: that share of ``j_per_token``.
    """

    decode_j: float
    prefill_j: float | None
    tokens: int
    accepted: int | None
    counted: bool
    j_per_token: float | None = None
    j_per_accepted: float | None = None
    live_j_per_token: float | None = None
    rejected_share: float | None = None
    rejected_j_per_token: float | None = None


HowKnown: TypeAlias = Literal["processes", "files", "only", "named"]
"""How it is known that a server uses a device: the driver lists its process, it holds the device's file open, it is
the only device there is and the server's layers are offloaded, or the log names the device's PCI address."""


@dataclass(frozen=True, eq=False, slots=True)
class GpuUse:
    """A device that a server uses.

    Attributes:
        process_bytes: the server's own memory on it; None: the driver does not say.
        j_per_token: energy of this device alone for a generated token.
    """

    gpu: Gpu
    how: HowKnown
    process_bytes: int | None = None
    j_per_token: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Machine:
    """The machine's GPUs by number, and how the source of their figures fares."""

    gpus: tuple[Gpu, ...] = ()
    sources: tuple[SourceView, ...] = ()
