"""The pipe that a helper's lines come through: read in batches, so that not every line wakes the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from typing import Final, Self

CHUNK: Final = 1 << 16

ROOM: Final = 1 << 20
"""Bytes that wait in the pipe while nobody reads: bpftrace drops events when it cannot write. The kernel allows a
plain user so much by default (/proc/sys/fs/pipe-max-size)."""


class LinePipe:
    """A pipe into this process. Not a StreamReader, which wakes up for whatever comes and keeps it.

    Attributes:
        inlet: the end to be given to who writes, and closed here after that.
    """

    def __init__(self) -> None:
        self._outlet, self.inlet = os.pipe()
        os.set_blocking(self._outlet, False)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._outlet, fcntl.F_SETPIPE_SZ, ROOM)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_inlet()
        os.close(self._outlet)

    def close_inlet(self) -> None:
        """Leave writing to others: without it the pipe has no end."""
        if self.inlet >= 0:
            os.close(self.inlet)
            self.inlet = -1

    async def read(self, within_s: float | None = None) -> bytes | None:
        """What is there, waiting for it if need be; b"" at the end, None where nothing came in time."""
        data = self._take()
        if data is not None:
            return data
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._outlet, arrived.set)
        try:
            # Not wait_for, which up to Python 3.11 forgets that it was cancelled when data comes at that moment.
            async with asyncio.timeout(within_s):
                await arrived.wait()
        except TimeoutError:
            return None
        finally:
            loop.remove_reader(self._outlet)
        return self._take()

    async def until_end(self) -> None:
        """Read on until all who write have closed it."""
        while True:
            if await self.read() == b"":
                return
            await asyncio.sleep(0)  # reading what is there suspends nobody, and a timeout needs a turn

    def _take(self) -> bytes | None:
        try:
            return os.read(self._outlet, CHUNK)
        except BlockingIOError:
            return None
