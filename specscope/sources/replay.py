"""A recording as a source: the same facts, at their own pace or another."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from specscope.events import SourceLost
from specscope.recording import RecordingError

if TYPE_CHECKING:
    from specscope.recording import Recording
    from specscope.sources.source import Emit

LONGEST_GAP_S: Final = 2.0
"""A silence of the recording longer than this is shortened to it: nobody waits for an idle server twice."""

LEAST_SLEEP_S: Final = 0.005
"""Shorter sleeps cost more than they order."""

LONGEST_SLEEP_S: Final = 0.1
"""A change of speed is heard within this time, also in the middle of a silence."""

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
        """Emit the recording's facts, then end. A file that cannot be read to its end is told as a loss."""
        try:
            await self._play(emit)
        except RecordingError as error:
            emit(SourceLost(at=self.at or 0.0, source=self.name, reason=str(error)))
        self.done = True

    async def _play(self, emit: Emit) -> None:
        ahead_s = 0.0
        for played, event in enumerate(self._recording.events(), 1):
            if self.at is not None:
                ahead_s = await self._wait(ahead_s + min(max(0.0, event.at - self.at), LONGEST_GAP_S))
            self.at = event.at if self.at is None else max(self.at, event.at)
            emit(event)
            if played % BATCH == 0:
                await asyncio.sleep(0)

    async def _wait(self, ahead_s: float) -> float:
        """Let recorded time pass, and return what is left of it: too little to sleep for, or slept too much."""
        while self.speed > 0 and ahead_s / self.speed > LEAST_SLEEP_S:
            began, speed = time.monotonic(), self.speed
            await asyncio.sleep(min(ahead_s / speed, LONGEST_SLEEP_S))
            ahead_s -= (time.monotonic() - began) * speed
        return ahead_s if self.speed > 0 else 0.0
