"""Readings of one GPU, folded: what limits it while it is busy, and its energy by what the servers on it do."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from specscope.session.energy import EnergyBook
from specscope.session.gpu_state import Decoding, Gpu, GpuSecond, Limit
from specscope.session.window import WINDOW_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.events import GpuFound, GpuLinkRead, GpuMemoryRead, GpuSampled
    from specscope.session.energy import Doing
    from specscope.session.gpu_state import LimitName, Phase

SECONDS_KEPT: Final = 120

BUS_READINGS: Final = 60
"""Readings of the bus that are averaged, one a second."""

MAX_GAP_S: Final = 1.5
"""A reading stands for the time since the one before, but for no longer than this: readings come at least once a
second, and what happened in a longer silence is not known."""

BUSY_PCT: Final = 20
"""Where no server tells what it does, a device this busy is at work. (H200 at rest: 0; decoding: 86-87; the least
seen while decoding with a drafter: 40.)"""

REASONS: Final[tuple[tuple[int, LimitName], ...]] = (
    (0x04, "power cap"),
    (0x20 | 0x40, "thermal"),
    (0x80, "power brake"),
    (0x08, "hardware slowdown"),
    (0x02, "application clocks"),
    (0x10, "sync boost"),
    (0x100, "display clocks"),
)
"""Bits of nvmlClocksEventReason* (nvml.h). 0x01 is idleness, which limits nothing."""

HARDWARE_DETAIL: Final = 0x40 | 0x80
"""0x08 is set together with its cause, where the driver knows that."""


def limits_of(reasons: int) -> tuple[LimitName, ...]:
    """What a set of reason bits names; hardware slowdown only where its cause is not among them."""
    if reasons & HARDWARE_DETAIL:
        reasons &= ~0x08
    return tuple(name for bits, name in REASONS if reasons & bits)


@dataclass(eq=False)
class _Mean:
    """A mean weighted by time."""

    total: float = 0.0
    seconds: float = 0.0

    def add(self, value: float | None, seconds: float) -> None:
        if value is not None:
            self.total += value * seconds
            self.seconds += seconds

    @property
    def value(self) -> float | None:
        return self.total / self.seconds if self.seconds > 0 else None


@dataclass(eq=False)
class _Limited:
    """The time in which one limit held."""

    seconds: float = 0.0
    clock: _Mean = field(default_factory=_Mean)
    power: _Mean = field(default_factory=_Mean)

    def add(self, e: GpuSampled, seconds: float) -> None:
        self.seconds += seconds
        self.clock.add(e.sm_clock_mhz, seconds)
        self.power.add(e.power_w, seconds)


@dataclass(eq=False)
class _Decoding:
    """Sums over the decoding time."""

    seconds: float = 0.0
    use: _Mean = field(default_factory=_Mean)
    memory_use: _Mean = field(default_factory=_Mean)
    to_device: deque[int] = field(default_factory=lambda: deque[int](maxlen=BUS_READINGS))

    def add(self, e: GpuSampled, seconds: float) -> None:
        self.seconds += seconds
        self.use.add(e.busy_pct, seconds)
        self.memory_use.add(e.memory_busy_pct, seconds)

    def view(self) -> Decoding:
        readings = self.to_device
        return Decoding(
            seconds=self.seconds,
            busy_pct=self.use.value,
            memory_busy_pct=self.memory_use.value,
            to_device_bytes_per_s=sum(readings) / len(readings) if readings else None,
            to_device_readings=len(readings),
        )


@dataclass(eq=False)
class _Busy:
    """Sums over the busy time."""

    judged_s: float = 0.0
    reasons_s: float = 0.0
    power: _Mean = field(default_factory=_Mean)
    clock: _Mean = field(default_factory=_Mean)
    use: _Mean = field(default_factory=_Mean)
    limited: dict[LimitName, _Limited] = field(default_factory=dict["LimitName", "_Limited"])

    def add(self, e: GpuSampled, seconds: float) -> None:
        self.judged_s += seconds
        self.power.add(e.power_w, seconds)
        self.clock.add(e.sm_clock_mhz, seconds)
        self.use.add(e.busy_pct, seconds)
        if e.reasons is None:
            return
        self.reasons_s += seconds
        for name in limits_of(e.reasons):
            self.limited.setdefault(name, _Limited()).add(e, seconds)


@dataclass(eq=False)
class _Second:
    """Means of the second under way."""

    at: float
    power: _Mean = field(default_factory=_Mean)
    clock: _Mean = field(default_factory=_Mean)
    use: _Mean = field(default_factory=_Mean)
    limited: _Mean = field(default_factory=_Mean)

    def view(self) -> GpuSecond:
        return GpuSecond(self.at, self.power.value, self.clock.value, self.use.value, self.limited.value)


@dataclass(eq=False)
class GpuBook:
    """One device's account; ``phase`` is what the servers on it do."""

    found: GpuFound
    lost: str | None = None
    now: GpuSampled | None = None
    memory: GpuMemoryRead | None = None
    link: GpuLinkRead | None = None
    phase: Phase | None = None
    energy: EnergyBook = field(default_factory=EnergyBook)
    _busy: _Busy = field(default_factory=_Busy)
    _decoding: _Decoding = field(default_factory=_Decoding)
    _live: deque[tuple[float, float, float]] = field(default_factory=deque["tuple[float, float, float]"])
    _to_host: deque[int] = field(default_factory=lambda: deque[int](maxlen=BUS_READINGS))
    _seconds: deque[_Second] = field(default_factory=lambda: deque(maxlen=SECONDS_KEPT))

    def sampled(self, e: GpuSampled, phase: Phase | None, at_work: Sequence[Doing] = ()) -> None:
        """A quick reading, what the servers on the device do together (None: nobody tells), and who is at work."""
        before, self.now = self.now, e
        self.phase = phase
        if before is None or e.at <= before.at:
            return
        seconds = min(e.at - before.at, MAX_GAP_S)
        self.energy.power(e.power_w, seconds, at_work)
        self._chart(e, seconds)
        if phase == "decode":
            self._decoding.add(e, seconds)
        if phase == "decode" and e.power_w is not None:
            self._live.append((e.at, e.power_w, seconds))
            while self._live[0][0] < e.at - WINDOW_S:
                self._live.popleft()
        if phase in ("decode", "prefill") or (phase is None and _at_work(e)):
            self._busy.add(e, seconds)

    def _chart(self, e: GpuSampled, seconds: float) -> None:
        if not self._seconds or int(e.at) != int(self._seconds[-1].at):
            self._seconds.append(_Second(float(int(e.at))))
        second = self._seconds[-1]
        second.power.add(e.power_w, seconds)
        second.clock.add(e.sm_clock_mhz, seconds)
        second.use.add(e.busy_pct, seconds)
        second.limited.add(None if e.reasons is None else float(bool(limits_of(e.reasons))), seconds)

    def linked(self, e: GpuLinkRead) -> None:
        """A slow reading."""
        self.link = e
        if self.phase != "decode":
            return
        if e.to_host_bytes_per_s is not None:
            self._to_host.append(e.to_host_bytes_per_s)
        if e.to_device_bytes_per_s is not None:
            self._decoding.to_device.append(e.to_device_bytes_per_s)

    def gone(self, reason: str) -> None:
        """The device, or the driver, does not answer: nothing read before says anything of now."""
        self.lost = reason
        self.now = self.memory = self.link = self.phase = None
        self.energy.interrupted()

    def begin_anew(self) -> None:
        """Forget all sums, on the user's wish."""
        self._busy, self._decoding, self.energy = _Busy(), _Decoding(), EnergyBook()
        self._live.clear()
        self._to_host.clear()

    def view(self) -> Gpu:
        """The frozen view."""
        busy, now = self._busy, self.now
        held = set(limits_of(now.reasons)) if now is not None and now.reasons is not None else set[str]()
        lived = sum(seconds for _, _, seconds in self._live)
        return Gpu(
            found=self.found,
            lost=self.lost,
            now=now,
            memory=self.memory,
            link=self.link,
            phase=self.phase,
            judged_s=busy.judged_s,
            reasons_known=busy.reasons_s > 0,
            limits=tuple(
                sorted(
                    (
                        Limit(
                            name=name,
                            share=of.seconds / busy.reasons_s,
                            busy_s=of.seconds,
                            sm_clock_mhz=of.clock.value,
                            now=name in held,
                            power_w=of.power.value,
                        )
                        for name, of in busy.limited.items()
                    ),
                    key=lambda limit: -limit.busy_s,
                )
            ),
            power_w=busy.power.value,
            sm_clock_mhz=busy.clock.value,
            busy_pct=busy.use.value,
            live_power_w=sum(p * s for _, p, s in self._live) / lived if lived else None,
            to_host_bytes_per_s=sum(self._to_host) / len(self._to_host) if self._to_host else None,
            to_host_readings=len(self._to_host),
            decoding=self._decoding.view(),
            seconds=tuple(second.view() for second in self._seconds),
        )


def _at_work(e: GpuSampled) -> bool:
    return e.busy_pct is not None and e.busy_pct >= BUSY_PCT
