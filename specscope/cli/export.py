"""``specscope export``: what was seen, in the formats of other tools."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from specscope.cli.common import settings_of
from specscope.cli.exits import FINDINGS, OK, CommandError
from specscope.cli.targets import resolve
from specscope.cli.watching import mark, sleep_or_signal, watching
from specscope.events import (
    CycleTraced,
    GpuSampled,
    SourceAttached,
    SourceLost,
    TargetFound,
    TraceStarted,
    TurnTraced,
)
from specscope.recording import Recording
from specscope.reports.perfetto import SHOWN, encode_trace, trace_events

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.cli.targets import LiveTarget
    from specscope.events import Event
    from specscope.settings import Settings

TRACE: Final = "trace"
"""The name of the source that traces."""

WATCHED_S: Final = 5.0
"""How long a server is watched unless told otherwise: hundreds of cycles, and a file of a few megabytes."""


def run(args: Namespace) -> int:
    """Write the trace of a server, watched for a while, or of a recording."""
    settings = settings_of(args)
    path = Path(args.perfetto)
    if path.exists():
        raise CommandError(f"{path} exists: an export never overwrites")
    target = resolve(args.target, args.pid, settings.url)
    facts = Traced()
    watched_s = None if isinstance(target, Recording) else args.seconds or WATCHED_S
    if isinstance(target, Recording):
        for event in target.events():
            facts.take(event)
    else:
        asyncio.run(_watch(args, target, settings, facts))
    shown = facts.last(args.seconds)
    if not shown:
        raise facts.nothing(watched_s)
    events = trace_events(shown, facts.name)
    _write(path, encode_trace(events))
    sys.stderr.write(f"{len(events):,} events in {path}; open it at https://ui.perfetto.dev\n")
    return OK


class Traced:
    """The facts that are exported, of the first target that has any.

    Attributes:
        name: its address, for the track's title.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._facts: list[Event] = []
        self._traced = False
        self._lost: SourceLost | None = None
        self._gpus: list[GpuSampled] = []

    @property
    def name(self) -> str:
        """The target's address."""
        return self._names.get(self._facts[0].target, "llama-server") if self._facts else "llama-server"

    def take(self, event: Event) -> None:
        """Keep one if it is shown."""
        if isinstance(event, TargetFound) and event.url is not None:
            self._names[event.target] = event.url
        elif isinstance(event, SHOWN) and (not self._facts or event.target == self._facts[0].target):
            self._facts.append(event)
        elif isinstance(event, GpuSampled):
            self._gpus.append(event)
        elif isinstance(event, TraceStarted):
            self._traced = True
        elif isinstance(event, SourceLost | SourceAttached) and event.source == TRACE:
            self._lost = event if isinstance(event, SourceLost) else None

    def nothing(self, watched_s: float | None) -> CommandError:
        """Why there is nothing to export, after so many seconds; None: of a recording."""
        where = "in this recording" if watched_s is None else f"in the {watched_s:g} s watched"
        if self._traced:
            return CommandError(f"the server did no work {where}: nothing to export", FINDINGS)
        if self._lost is not None:
            hint = f" -> {self._lost.hint}" if self._lost.hint else ""
            return CommandError(f"nothing was traced: {self._lost.reason}{hint}")
        need = "that needs root and bpftrace on the server's machine (specscope doctor)"
        return CommandError(f"nothing was traced {where}: {need}")

    def last(self, seconds: float | None) -> list[Event]:
        """Those of the last seconds in which there were turns or cycles, or all, and the GPUs' readings meanwhile."""
        if not self._facts:
            return []
        if seconds is None:
            return self._with_gpus(self._facts)
        at_work = [f.at for f in self._facts if isinstance(f, TurnTraced | CycleTraced)]
        begin = max(at_work or [f.at for f in self._facts]) - seconds
        return self._with_gpus([f for f in self._facts if f.at >= begin])

    def _with_gpus(self, facts: list[Event]) -> list[Event]:
        begin, end = min(f.at for f in facts), max(f.at for f in facts)
        return [*facts, *(f for f in self._gpus if begin <= f.at <= end)]


async def _watch(args: Namespace, target: list[LiveTarget], settings: Settings, facts: Traced) -> None:
    async with watching(target, settings, listener=facts.take) as pump:
        mark(pump, args.label)
        await sleep_or_signal(args.seconds or WATCHED_S)


def _write(path: Path, data: bytes) -> None:
    """A new file.

    Raises:
        CommandError: it came to exist meanwhile, or cannot be written.
    """
    try:
        with path.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
