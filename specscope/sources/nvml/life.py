"""One run of the source, off the event loop: attach to the driver, sample, attach again when it is back."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, Literal

from specscope.events import MACHINE, SourceAttached, SourceLost
from specscope.sources.nvml.asking import Pulse
from specscope.sources.nvml.library import DriverGoneError, Library
from specscope.sources.nvml.rounds import Attachment, Seat, run_quick, run_slow

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from specscope.events import Event
    from specscope.sources.source import Clock

HANGS_S: Final = 5.0
"""A call that takes longer has hung: the dearest one takes 20 ms (PCIe traffic, H200)."""

INIT_HANGS_S: Final = 30.0
"""Without persistence mode the driver sets every device up first, a second or two each."""

RETRY_S: Final = 5.0
ABSENT_RETRY_S: Final = 30.0
"""Where no driver has answered yet."""

END_S: Final = 2.0
"""How long the slow thread may take to leave the library before the library is left to it."""

SOURCE: Final = "nvml"


class Life:
    """Two threads: this one's quick readings, and the slow ones of each attachment.

    Args:
        clock: the watch's clock.
        devices: NVML's numbers of those to watch; None: all.
        loop: where the facts go.
        take: takes them there.
    """

    def __init__(
        self,
        clock: Clock,
        devices: frozenset[int] | None,
        loop: asyncio.AbstractEventLoop,
        take: Callable[[Life, list[Event]], None],
    ) -> None:
        self._clock = clock
        self._devices = devices
        self._loop = loop
        self._take = take
        self._stop = threading.Event()
        self._pulse = Pulse()
        self._attachment: Attachment | None = None
        self._attached = self._ever_attached = False
        self._lost: tuple[str, str] | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing is wanted any more."""
        return self._stop.is_set()

    def end(self) -> None:
        """Have the threads end at their next chance; waits for nothing."""
        self._stop.set()
        if self._attachment is not None:
            self._attachment.over.set()

    def hangs(self) -> Literal["quick", "slow"] | None:
        """Which thread waits too long for the driver. While the quick one does, nothing is told."""
        now_s, attachment = time.monotonic(), self._attachment
        patience_s = HANGS_S if self._attached else INIT_HANGS_S
        if self._pulse.waits(now_s) > patience_s:
            return "quick"
        return "slow" if attachment is not None and attachment.slow_pulse.waits(now_s) > HANGS_S else None

    def run(self) -> None:
        """Watch until ended: the body of the quick thread."""
        retry_s = 0.0
        while not self._stop.wait(retry_s):
            try:
                self._watch()
                retry_s = 0.0
            except DriverGoneError as gone:
                self._lose(gone)
                retry_s = RETRY_S if self._ever_attached else ABSENT_RETRY_S
            except Exception as error:  # noqa: BLE001  whatever it was, it is told
                self._lose(_mistake(error))
                retry_s = ABSENT_RETRY_S
            self._pulse.since = None

    def _watch(self) -> None:
        """One attachment, from beginning to end.

        Raises:
            DriverGoneError: there is no driver, or no longer one.
        """
        self._pulse.since = time.monotonic()
        library = Library()
        attachment = Attachment(library, self._clock, self._pulse)
        slow = threading.Thread(target=self._slow, args=(attachment,), name="specscope-nvml-slow", daemon=True)
        try:
            self._attach(attachment)
            slow.start()
            run_quick(attachment, self._hand)
        finally:
            attachment.over.set()
            if slow.ident is not None:
                slow.join(END_S)
            if not slow.is_alive():
                library.close()
        if attachment.gone is not None:
            raise attachment.gone

    def _attach(self, attachment: Attachment) -> None:
        """Find the devices. What was told of them before is not told again when only the library is a new one."""
        library, before = attachment.library, self._attachment
        count = library.count()
        numbers = [i for i in range(count) if self._devices is None or i in self._devices]
        if not numbers:
            raise DriverGoneError(
                f"the NVIDIA driver shows {'none of the devices asked for' if count else 'no device'}"
            )
        told_lost = {s.index: s.told_lost for s in before.seats} if before is not None and self._attached else {}
        attachment.seats = [Seat(i, told_lost=told_lost.get(i)) for i in numbers]
        self._attachment = attachment
        if self._stop.is_set():
            attachment.over.set()
        if not self._attached:
            self._attached = self._ever_attached = True
            self._lost = None
            detail = f"{count} device{'s' if count > 1 else ''}" + (
                f", driver {library.driver}" if library.driver else ""
            )
            at = self._clock.now()
            self._hand([SourceAttached(at=at, target=MACHINE, source=SOURCE, tier="none", detail=detail)])
        for seat in attachment.seats:
            self._hand(attachment.find(seat))

    def _slow(self, attachment: Attachment) -> None:
        """The body of the slow thread."""
        try:
            run_slow(attachment, self._hand)
        except DriverGoneError as gone:
            attachment.end(gone)
        except Exception as error:  # noqa: BLE001  whatever it was, it is told
            attachment.end(_mistake(error))

    def _lose(self, gone: DriverGoneError) -> None:
        """Say it, once."""
        self._attached = False
        if self._lost != (gone.reason, gone.hint):
            self._lost = (gone.reason, gone.hint)
            at = self._clock.now()
            self._hand([SourceLost(at=at, target=MACHINE, source=SOURCE, reason=gone.reason, hint=gone.hint)])

    def _hand(self, facts: list[Event]) -> None:
        """Hand facts over to the loop. A loop that is closed wants no more."""
        if not facts:
            return
        try:
            self._loop.call_soon_threadsafe(self._take, self, facts)
        except RuntimeError:
            self.end()


def _mistake(error: Exception) -> DriverGoneError:
    return DriverGoneError(f"specscope failed ({type(error).__name__}: {error})")
