"""``specscope record``: facts to a file."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from specscope import __version__
from specscope.cli.common import settings_of
from specscope.cli.exits import OK, CommandError
from specscope.cli.runs import load_runs
from specscope.cli.targets import live
from specscope.cli.watching import mark, sleep_or_signal, watching
from specscope.recording import Recorder, RecordingError
from specscope.reports.text import summary

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.cli.runs import Runs
    from specscope.cli.targets import LiveTarget
    from specscope.settings import Settings


def run(args: Namespace) -> int:
    """Record until told to stop (Ctrl+C ends it in order), then say what was seen."""
    settings, runs = settings_of(args), load_runs(args.runs)
    target = live(args.target, args.pid, settings.url)
    path = Path(args.output)
    try:
        with Recorder(path, tool_version=__version__, started=time.time()) as recorder:
            asyncio.run(_watch(args, target, settings, recorder, runs))
    except RecordingError as error:
        raise CommandError(str(error)) from error
    except OSError as error:  # the disk is full or gone; what was written before stays readable
        raise CommandError(f"{path}: {error.strerror or error}") from error
    except CommandError:  # nothing was seen, and the name is free for the next try
        path.unlink(missing_ok=True)
        raise
    sys.stderr.write(f"{recorder.facts:,} facts in {args.output}\n")
    return OK


async def _watch(args: Namespace, target: list[LiveTarget], settings: Settings, recorder: Recorder, runs: Runs) -> None:
    async with watching(target, settings, recorder=recorder, runs=runs) as pump:
        mark(pump, args.label)
        await sleep_or_signal(args.seconds)
    sys.stderr.write(summary(pump.session()) + "\n")
