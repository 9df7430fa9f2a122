"""The machine's GPUs as a source: two threads ask the driver, the event loop tells and watches over them.

A call into a driver can hang for ever, and nothing interrupts it. So the threads are the source's own and daemons: the
loop, its executor and the end of the process never wait for them.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Final, Literal

from msgspec.structs import replace

from specscope.events import MACHINE, GpuFound, GpuLost, SourceAttached, SourceLost
from specscope.sources.nvml.library import UNKNOWN_FIGURES
from specscope.sources.nvml.life import Life

if TYPE_CHECKING:
    from specscope.events import Event
    from specscope.sources.source import Clock, Emit

LOOK_S: Final = 1.0
SILENT: Final = "the NVIDIA driver does not answer"
SILENT_HINT: Final = "nvidia-smi hangs then too; the kernel's log (dmesg) may say why"


class NvmlSource:
    """Watches the GPUs of this machine until cancelled.

    Args:
        clock: the watch's clock.
        devices: NVML's numbers of those to watch; None: all.
    """

    name = "nvml"

    def __init__(self, clock: Clock, *, devices: frozenset[int] | None = None) -> None:
        self._clock = clock
        self._devices = devices
        self._emit: Emit | None = None
        self._told: SourceAttached | SourceLost | None = None
        self._found: dict[int, GpuFound] = {}
        self._hangs: Literal["quick", "slow"] | None = None

    async def run(self, emit: Emit) -> None:
        """Emit facts until cancelled."""
        self._emit, self._told, self._hangs = emit, None, None
        life = Life(self._clock, self._devices, asyncio.get_running_loop(), self._take)
        threading.Thread(target=life.run, name="specscope-nvml", daemon=True).start()
        try:
            while True:
                await asyncio.sleep(LOOK_S)
                self._look(life)
        finally:
            self._emit = None
            life.end()

    def _take(self, life: Life, facts: list[Event]) -> None:
        """Pass facts on, unless nobody listens any more. While the driver is said to be silent, nothing else is."""
        if self._emit is None or life.ended:
            return
        if self._hangs is not None:
            self._look(life)
        for fact in facts:
            match fact:
                case SourceAttached() | SourceLost():
                    self._told = fact
                    self._found.clear()
                case GpuFound():
                    self._found[fact.index] = fact
                case GpuLost():
                    self._found.pop(fact.index, None)
                case _:
                    pass
            if self._hangs != "quick":
                self._emit(fact)

    def _look(self, life: Life) -> None:
        """Say it when a thread waits too long for the driver, and when it does no more."""
        before, hangs = self._hangs, life.hangs()
        if hangs == before or self._emit is None:
            return
        self._hangs = hangs
        now, told = self._clock.now(), self._told
        if hangs == "quick":
            reason = SILENT + UNKNOWN_FIGURES
            self._emit(SourceLost(at=now, target=MACHINE, source=self.name, reason=reason, hint=SILENT_HINT))
        elif isinstance(told, SourceAttached):
            hint = f"{SILENT} when asked for energy, limits or PCIe traffic" if hangs == "slow" else told.hint
            self._emit(replace(told, at=now, hint=hint))
        elif told is not None:
            self._emit(replace(told, at=now))
        if before == "quick":
            for fact in self._found.values():
                self._emit(replace(fact, at=now))
