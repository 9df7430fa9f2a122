"""A recording as a source: the same facts, at their own pace or another."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.recording import Recording
    from specscope.sources.source import Emit

LONGEST_GAP_S: Final = 2.0
"""A silence of the recording longer than this is shortened to it: nobody waits for an idle server twice."""

BATCH: Final = 512


class ReplaySource:
    """Plays a recording.

    Attributes:
        speed: 1 is the recorded pace, 10 ten times as fast, 0 as fast as it can be read; may change while playing.
        at: time of the last fact played; ``done``: the recording ended.
    """

    name = "replay"

    def __init__(self, recording: Recording, speed: float = 1.0) -> None:
        self._recording = recording
        self.speed = speed
        self.at: float | None = None
        self.done = False

    async def run(self, emit: Emit) -> None:
        """Emit the recording's facts, then end."""
        debt = 0.0
        for played, event in enumerate(self._recording.events(), 1):
            if self.at is not None and self.speed > 0:
                debt += min(max(0.0, event.at - self.at), LONGEST_GAP_S) / self.speed
                if debt > 0.005:  # noqa: PLR2004  shorter sleeps cost more than they order
                    debt -= await self._sleep(debt)
            self.at = event.at if self.at is None else max(self.at, event.at)
            emit(event)
            if played % BATCH == 0:
                await asyncio.sleep(0)
        self.done = True

    @staticmethod
    async def _sleep(seconds: float) -> float:
        """Sleep, and return how long it really was."""
        began = time.monotonic()
        await asyncio.sleep(seconds)
        return time.monotonic() - began
