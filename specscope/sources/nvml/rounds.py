"""The two threads' work while the driver answers: quick readings ten times a second, dear ones about once."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from specscope.events import MACHINE, GpuLost
from specscope.sources.nvml.asking import Device, Pulse
from specscope.sources.nvml.device import found, found_again, link_read, memory_read
from specscope.sources.nvml.library import DeviceLostError
from specscope.sources.nvml.quick import Quick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from specscope.events import Event, GpuFound
    from specscope.sources.nvml.library import DriverGoneError, Library
    from specscope.sources.source import Clock

    Hand: TypeAlias = Callable[[list[Event]], None]

TICK_S: Final = 0.1
TICKS_A_SECOND: Final = 10
"""Samples of a device in use; others have one a second."""

TICKS_A_HAND: Final = 2
"""Samples handed to the event loop at once: waking it costs ten times what a sample does (benchmarks/nvml_cost.py)."""

SLOW_S: Final = 1.0
TRAFFIC_REST_S: Final = 10.0
"""Between looks at the PCIe traffic of a device that nobody uses: each keeps the driver busy for 40 ms."""

LIMITS_S: Final = 10.0
LOST_LOOK_S: Final = 5.0
RENEW_S: Final = 60.0
"""While a device is lost, the library is let go of and initialised again so often: a device that was reset may be
found by a new initialisation alone, and while the library is held, a reset can be refused (nvidia-smi -r)."""


@dataclass(eq=False)
class Seat:
    """One device: as the quick thread asks it, and as the slow one does.

    Attributes:
        found: None while it is lost.
        told_lost: the reason last told.
        in_use: somebody computes on it, or that cannot be told.
        busy: a kernel ran since the last look at the processes.
        doubt: why the slow thread holds the device for lost.
        changed: the device was set up anew; what it never answered is asked again.
    """

    index: int
    found: GpuFound | None = None
    quick: Quick | None = None
    device: Device | None = None
    slow: Device | None = None
    told_lost: str | None = None
    in_use: bool = True
    busy: bool = False
    doubt: str | None = None
    changed: bool = False
    looked_s: float = 0.0
    traffic_s: float = 0.0


@dataclass(eq=False)
class Attachment:
    """The library, initialised, and the devices that were found with it.

    Attributes:
        over: no thread works with it any more.
        gone: why the driver went away, if that ended it.
    """

    library: Library
    clock: Clock
    quick_pulse: Pulse
    seats: list[Seat] = field(default_factory=list[Seat])
    slow_pulse: Pulse = field(default_factory=Pulse)
    over: threading.Event = field(default_factory=threading.Event)
    gone: DriverGoneError | None = None
    lost_since_s: float | None = None

    def end(self, gone: DriverGoneError | None = None) -> None:
        """Have both threads leave it; the first reason counts."""
        if self.gone is None:
            self.gone = gone
        self.over.set()

    def find(self, seat: Seat) -> list[Event]:
        """Look for a device. Its facts: that it was found, or that it is lost, which is said once.

        Raises:
            DriverGoneError: the driver is.
        """
        seat.looked_s = time.monotonic()
        try:
            handle = self.library.handle(seat.index)
            seat.device = Device(self.library, handle, self.quick_pulse)
            seat.slow = Device(self.library, handle, self.slow_pulse)
            seat.found = found(seat.device, seat.index, self.clock)
            seat.quick = Quick(seat.device, seat.index)
            Quick(seat.device, seat.index).sample()  # one that is lost may still tell its name
        except DeviceLostError as error:
            return self.lose(seat, str(error))
        seat.told_lost, seat.in_use, seat.doubt, seat.changed = None, True, None, False
        return [seat.found]

    def lose(self, seat: Seat, reason: str) -> list[Event]:
        """A device is lost; on the quick thread."""
        seat.found = None
        if seat.told_lost is not None:
            return []
        seat.told_lost = reason
        return [GpuLost(at=self.clock.now(), target=MACHINE, index=seat.index, reason=reason)]

    def renewal_due(self) -> bool:
        """Whether a device has been lost for so long that the library should be initialised anew."""
        if all(seat.found is not None for seat in self.seats):
            self.lost_since_s = None
            return False
        if self.lost_since_s is None:
            self.lost_since_s = time.monotonic()
        return time.monotonic() - self.lost_since_s >= RENEW_S


def run_quick(attachment: Attachment, hand: Hand) -> None:
    """Sample until the attachment is over. Runs in a thread of its own.

    Raises:
        DriverGoneError: the driver is.
    """
    began, tick, second = time.monotonic(), 0, -1
    facts: list[Event] = []
    waiting = 0
    while not attachment.over.is_set():
        full, second = tick // TICKS_A_SECOND != second, tick // TICKS_A_SECOND
        for seat in attachment.seats:
            facts += _quick_facts(attachment, seat, full=full)
        attachment.quick_pulse.since = None
        waiting += 1
        if full or waiting == TICKS_A_HAND:
            samples = [
                s for seat in attachment.seats if seat.quick is not None for s in seat.quick.told(attachment.clock)
            ]
            hand([*samples, *facts])
            facts, waiting = [], 0
        if full and attachment.renewal_due():
            return
        passed = int((time.monotonic() - began) / TICK_S)
        in_use = any(seat.in_use and seat.found is not None for seat in attachment.seats)
        tick = passed + 1 if in_use else (passed // TICKS_A_SECOND + 1) * TICKS_A_SECOND
        rest_s = began + tick * TICK_S - time.monotonic()
        if rest_s > TICK_S:
            attachment.over.wait(rest_s)
        elif rest_s > 0:
            time.sleep(rest_s)  # a third cheaper, and short enough to be waited out when it is over


def _quick_facts(attachment: Attachment, seat: Seat, *, full: bool) -> Iterable[Event]:
    """What is due of one device. ``full``: a second has passed."""
    if seat.found is None:
        late = time.monotonic() - seat.looked_s >= LOST_LOOK_S
        return attachment.find(seat) if full and late else []
    if not (full or seat.in_use) or seat.quick is None or seat.device is None:
        return []
    if seat.doubt is not None:
        return attachment.lose(seat, seat.doubt)
    if seat.changed:
        seat.changed = False
        seat.device.never.clear()
        seat.quick = Quick(seat.device, seat.index)
    try:
        tells = seat.quick.sample()
        seat.busy = seat.busy or seat.quick.busy
        if not full:
            return []
        memory = memory_read(seat.device, seat.found, attachment.clock)
    except DeviceLostError as error:
        return attachment.lose(seat, str(error))
    held = memory.processes if memory is not None else None
    seat.in_use = tells and (held is None or bool(held) or seat.busy)
    seat.busy = False
    return [] if memory is None else [memory]


def run_slow(attachment: Attachment, hand: Hand) -> None:
    """Read what is dear until the attachment is over. Runs in a thread of its own.

    Raises:
        DriverGoneError: the driver is.
    """
    limits_s = time.monotonic()
    while not attachment.over.is_set():
        began = time.monotonic()
        limits_due = began - limits_s >= LIMITS_S
        limits_s = began if limits_due else limits_s
        for seat in attachment.seats:
            try:
                facts = _slow_facts(attachment, seat, began, limits_due=limits_due)
            except DeviceLostError as error:
                seat.doubt = str(error)
                continue
            if attachment.over.is_set():
                return
            hand(facts)
        attachment.slow_pulse.since = None
        attachment.over.wait(max(0.0, began + SLOW_S - time.monotonic()))


def _slow_facts(attachment: Attachment, seat: Seat, now_s: float, *, limits_due: bool) -> list[Event]:
    before, device = seat.found, seat.slow
    if before is None or device is None:
        return []
    traffic = seat.in_use or now_s - seat.traffic_s >= TRAFFIC_REST_S
    seat.traffic_s = now_s if traffic else seat.traffic_s
    link = link_read(device, seat.index, attachment.clock, traffic=traffic)
    facts: list[Event] = [] if link is None else [link]
    if limits_due:
        now = found_again(device, before, attachment.clock)
        if now is not before and seat.found is before:
            seat.found, seat.changed = now, True
            device.never.clear()
            facts.append(now)
    return facts
