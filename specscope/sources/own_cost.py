"""What specscope itself costs: its own CPU time, memory, and requests to the watched servers."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

import psutil

from specscope.events import OwnCostSampled

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.sources.source import Clock, Emit

INTERVAL_S: Final = 2.0


class OwnCostSource:
    """Samples this process every two seconds.

    Args:
        clock: the watch's clock.
        requests: returns how many requests all sources have sent so far.
    """

    name = "own cost"

    def __init__(self, clock: Clock, requests: Callable[[], int]) -> None:
        self._clock = clock
        self._requests = requests

    async def run(self, emit: Emit) -> None:
        """Emit samples until cancelled."""
        process = psutil.Process()
        cpu, sent, since = time.process_time(), self._requests(), time.monotonic()
        while True:
            await asyncio.sleep(INTERVAL_S)
            now, cpu_now, sent_now = time.monotonic(), time.process_time(), self._requests()
            span = now - since
            emit(
                OwnCostSampled(
                    at=self._clock.now(),
                    cpu_pct=round(100 * (cpu_now - cpu) / span, 2),
                    rss_bytes=process.memory_info().rss,
                    requests_per_s=round((sent_now - sent) / span, 1),
                )
            )
            cpu, sent, since = cpu_now, sent_now, now
