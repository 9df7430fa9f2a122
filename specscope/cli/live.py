"""``specscope [TARGET]``: the live screen, or a recording in the same screen."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from specscope.cli.common import settings_of
from specscope.cli.exits import OK, CommandError
from specscope.cli.feeds import LiveFeed, ReplayFeed
from specscope.cli.runs import load_runs
from specscope.cli.targets import resolve
from specscope.recording import Recording
from specscope.reports.text import summary

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.settings import Settings


def run(args: Namespace) -> int:
    """Open the screen; print a summary when it closes."""
    need_terminal("specscope snapshot")
    settings = settings_of(args)
    if settings.log == "-":
        keys_from_terminal()
    target = resolve(args.target, args.pid, settings.url, every=True)
    runs = load_runs(args.runs)
    feed = (
        ReplayFeed(target, settings, 1.0, runs) if isinstance(target, Recording) else LiveFeed(target, settings, runs)
    )
    if args.label:
        feed.mark(args.label)
    return show(feed, settings)


def need_terminal(instead: str) -> None:
    """The screen never writes its escapes into a pipe. Textual draws on stderr, the summary goes to stdout.

    Raises:
        CommandError: stdout or stderr is no terminal (exit 2).
    """
    for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
        if not stream.isatty():
            raise CommandError(f"{name} is no terminal, and the screen needs one; for scripts: {instead} --json")


def keys_from_terminal() -> None:
    """Leave standard input to the log source and read the keys from the terminal itself.

    Raises:
        CommandError: standard input is no pipe, or there is no terminal to read keys from (exit 2).
    """
    if sys.stdin.isatty():
        raise CommandError("--log - reads the log from standard input: pipe it in")
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        instead = "for scripts: specscope snapshot --log -"
        raise CommandError(f"the screen needs a terminal for its keys; {instead}") from error
    sys.stdin = os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8", errors="replace")
    os.dup2(terminal, 0)  # where Textual reads keys from
    os.close(terminal)


def show(feed: LiveFeed | ReplayFeed, settings: Settings) -> int:
    """Run the screen on a feed."""
    # Textual takes half a second to import: only those who see a screen wait for it.
    from specscope.views.app import SpecscopeApp  # noqa: PLC0415

    SpecscopeApp(feed, settings).run()
    sys.stdout.write(summary(feed.pump.session()) + "\n")
    return OK
