"""``specscope stream``: facts as JSON lines, one fact a line, flushed as they come."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import TYPE_CHECKING

import msgspec

from specscope.cli.common import settings_of
from specscope.cli.exits import OK
from specscope.cli.targets import resolve
from specscope.cli.watching import mark, sleep_or_signal, watching
from specscope.recording import Recording

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.cli.targets import LiveTarget
    from specscope.events import Event
    from specscope.settings import Settings


def run(args: Namespace) -> int:
    """Write facts to stdout until told to stop."""
    settings = settings_of(args)
    target = resolve(args.target, args.pid, settings.url)
    lines = Lines()
    if isinstance(target, Recording):
        for event in target.events():
            lines.write(event)
        lines.flush()
        return OK
    return asyncio.run(_watch(args, target, settings, lines))


class Lines:
    """Facts as lines on stdout. A reader that went away ends the watch at the next fact."""

    def __init__(self) -> None:
        self._encode = msgspec.json.Encoder().encode
        self._out = sys.stdout.buffer
        self.closed = asyncio.Event()

    def write(self, event: Event) -> None:
        """One fact."""
        self._out.write(self._encode(event) + b"\n")

    def show(self, event: Event) -> None:
        """One fact, at once; never raises."""
        if self.closed.is_set():
            return
        try:
            self.write(event)
            self._out.flush()
        except (OSError, ValueError):
            self.closed.set()
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def flush(self) -> None:
        """Everything written so far."""
        self._out.flush()


async def _watch(args: Namespace, target: list[LiveTarget], settings: Settings, lines: Lines) -> int:
    async with watching(target, settings, listener=lines.show) as pump:
        mark(pump, args.label)
        told = asyncio.create_task(sleep_or_signal(args.seconds))
        closed = asyncio.create_task(lines.closed.wait())
        await asyncio.wait({told, closed}, return_when=asyncio.FIRST_COMPLETED)
        for task in (told, closed):
            task.cancel()
    return OK
