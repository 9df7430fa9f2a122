"""``specscope snapshot``: watch for a while, print the state."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from specscope.cli.common import settings_of
from specscope.cli.exits import OK
from specscope.cli.pump import played
from specscope.cli.runs import load_runs
from specscope.cli.targets import resolve
from specscope.cli.watching import mark, sleep_or_signal, watching
from specscope.recording import Recording
from specscope.reports.findings_text import findings_text
from specscope.reports.snapshot import encode, snapshot
from specscope.reports.text import summary

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.cli.pump import Pump
    from specscope.cli.runs import Runs
    from specscope.cli.targets import LiveTarget
    from specscope.settings import Settings


def run(args: Namespace) -> int:
    """Print a snapshot of a server or of a recording's end."""
    settings, runs = settings_of(args), load_runs(args.runs)
    target = resolve(args.target, args.pid, settings.url)
    if isinstance(target, Recording):
        show(played(target, settings, args.label, runs), as_json=args.json)
        return OK
    return asyncio.run(_watch(args, target, settings, runs))


async def _watch(args: Namespace, target: list[LiveTarget], settings: Settings, runs: Runs) -> int:
    async with watching(target, settings, runs=runs) as pump:
        pump.look_along()
        mark(pump, args.label)
        await sleep_or_signal(args.seconds)
    show(pump, as_json=args.json)
    return OK


def show(pump: Pump, *, as_json: bool) -> None:
    """Write the state to stdout."""
    session, diagnosis = pump.session(), pump.diagnosis(final=True)
    if as_json:
        first = session.targets[0].id if session.targets else "t0"
        sys.stdout.write(encode(snapshot(session, diagnosis, first)) + "\n")
    else:
        sys.stdout.write(f"{summary(session)}\n{findings_text(diagnosis, brief=True)}\n")
