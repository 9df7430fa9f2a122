"""``specscope stacks``: which Python frames hold the threads of a server that runs inside Python."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import msgspec

from specscope import __version__
from specscope.cli.common import settings_of
from specscope.cli.exits import OK, CommandError
from specscope.cli.targets import resolve
from specscope.cli.watching import mark, sleep_or_signal, watching
from specscope.events import StacksSampled
from specscope.recording import Recording
from specscope.reports.snapshot import SCHEMA_VERSION, encode
from specscope.reports.stacks import merged, stacks_json, stacks_text

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.cli.targets import LiveTarget
    from specscope.events import Event
    from specscope.session.state import Target
    from specscope.settings import Settings


def run(args: Namespace) -> int:
    """Print the frames of a server, watched for a while, or of a recording.

    Raises:
        CommandError: there are none; the message says why, and what would change that.
    """
    settings = msgspec.structs.replace(settings_of(args), stacks=True, trace="off")
    target = resolve(args.target, args.pid, settings.url)
    spans = Spans()
    if isinstance(target, Recording):
        for event in target.events():
            spans.take(event)
        why = "no Python frames are in this recording (record --stacks writes them)"
    else:
        why = asyncio.run(_watch(args, target, settings, spans))
    found = merged(spans.taken)
    if found is None:
        raise CommandError(why)
    if args.json:
        said = {"schema_version": SCHEMA_VERSION, "tool_version": __version__, "stacks": stacks_json(found)}
        sys.stdout.write(encode(said) + "\n")
    else:
        sys.stdout.write(stacks_text(found) + "\n")
    return OK


class Spans:
    """The tables of the first target that has any."""

    def __init__(self) -> None:
        self.taken: list[StacksSampled] = []

    def take(self, event: Event) -> None:
        """Keep one."""
        if isinstance(event, StacksSampled) and (not self.taken or event.target == self.taken[0].target):
            self.taken.append(event)


async def _watch(args: Namespace, target: list[LiveTarget], settings: Settings, spans: Spans) -> str:
    """Watch as long as there is something to see; returns what stands in the way if there was nothing."""
    async with watching(target, settings, listener=spans.take) as pump:
        mark(pump, args.label)
        if not _why(pump.session().targets[0]):
            await sleep_or_signal(args.seconds)
    return _why(pump.session().targets[0]) or "nothing was sampled: watch for longer (--seconds)"


def _why(view: Target) -> str:
    """What stands in the way; empty when samples are taken."""
    sources = {source.name: source for source in view.sources}
    found = sources.get("stacks") or sources.get("process")
    if found is None:
        return "the server's process cannot be seen from here: py-spy needs it on the same machine"
    if found.state == "attached":
        return ""
    return found.detail + (f" -> {found.hint}" if found.hint else "")
