"""What every source is: something that runs until it is cancelled and emits facts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeAlias

from specscope.events import Event, SourceLost

Emit: TypeAlias = Callable[[Event], None]
"""Takes one fact. Called on the event loop's thread only; never blocks, never raises."""


class Clock:
    """Seconds since the Unix epoch that never go backwards: wall time at its start plus monotonic time since.

    One clock serves all sources of a watch, so that their facts can be ordered.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """The present, in seconds since the epoch, to 10 microseconds (a recording repeats it in every line)."""
        return round(time.monotonic() + self._offset, 5)

    def at_monotonic(self, monotonic_s: float) -> float:
        """The same for a CLOCK_MONOTONIC stamp (a trace's, the server's own start time), in seconds."""
        return round(monotonic_s + self._offset, 5)


class Source(Protocol):
    """A reader of the outside world.

    ``run`` returns only when the source has nothing more to give, and is cancelled otherwise. It reports
    its own failures as ``SourceLost`` and its recovery as ``SourceAttached``; it raises nothing but
    ``CancelledError``. Blocking reads go through ``asyncio.to_thread`` inside the source.
    """

    name: str

    async def run(self, emit: Emit) -> None:
        """Emit facts until cancelled."""
        ...


async def run_guarded(source: Source, name: str, emit: Emit, clock: Clock, target: str) -> None:
    """Run a source; a mistake in it is its loss, and not the end of the others."""
    try:
        await source.run(emit)
    except Exception as error:  # noqa: BLE001  whatever it was, it is told
        reason = f"specscope failed: {type(error).__name__}: {error}"
        emit(SourceLost(at=clock.now(), target=target, source=name, reason=reason))
