"""``specscope replay``: a recording in the same screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from specscope.cli.common import settings_of
from specscope.cli.exits import CommandError
from specscope.cli.feeds import ReplayFeed
from specscope.cli.live import need_terminal, show
from specscope.cli.runs import load_runs
from specscope.recording import Recording, RecordingError

if TYPE_CHECKING:
    from argparse import Namespace


def run(args: Namespace) -> int:
    """Play the file."""
    try:
        recording = Recording(Path(args.file))
    except RecordingError as error:
        raise CommandError(str(error)) from error
    need_terminal(f"specscope snapshot {args.file}")
    settings = settings_of(args)
    return show(ReplayFeed(recording, settings, args.speed, load_runs(args.runs)), settings)
