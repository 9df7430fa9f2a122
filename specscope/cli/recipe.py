"""``specscope recipe``: the commands of a run to compare with, for a server without speculation or another width."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

from specscope.cli.common import settings_of
from specscope.cli.exits import OK, CommandError
from specscope.cli.pump import played
from specscope.cli.targets import resolve
from specscope.cli.watching import gpus_wanted, is_here, sleep_or_signal, watching
from specscope.recording import Recording
from specscope.reports.recipe import Around, Recipe
from specscope.sources.address import read_address
from specscope.sources.procfs import cwd_of, listeners

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.cli.targets import LiveTarget
    from specscope.session.state import Session, Target
    from specscope.settings import Settings

MEMORY_WAIT_S: Final = 1.0
"""The driver's readings of memory come once a second."""

DEFAULT_PORT: Final = 8080
MOST_PORT: Final = 65535


def run(args: Namespace) -> int:
    """Print the recipe for a server, or for the one that a recording is of; nothing is started."""
    args.trace = args.trace or "off"  # nothing that a probe tells goes into a recipe
    settings = settings_of(args)
    found = resolve(args.target, args.pid, settings.url)
    live = not isinstance(found, Recording)
    session = asyncio.run(_look(found, settings)) if live else played(found, settings).session()
    if not session.targets:
        raise CommandError("this recording tells of no server")
    target = session.targets[0]
    width = args.width if args.recipe == "width" else 0
    limit = target.config.drafter_limit
    if limit is not None and width > limit:
        raise CommandError(f"this drafter drafts at most {limit} tokens")
    given = {label for _, label in session.marks if label}
    label = args.label or (given.pop() if len(given) == 1 else None)
    sys.stdout.write(Recipe(target, _around(target, settings, label, live=live), width).text())
    return OK


async def _look(found: list[LiveTarget], settings: Settings) -> Session:
    async with watching(found, settings) as pump:
        if gpus_wanted(found, settings):
            await sleep_or_signal(MEMORY_WAIT_S)
        return pump.session()


def _around(target: Target, settings: Settings, label: str | None, *, live: bool) -> Around:
    """What the machine tells: of a recording's server nothing that holds now, so its flags are all there is."""
    flags = target.flags
    wants_key = flags is not None and (flags.has_api_key or flags.api_key_file is not None)
    local = target.url is None or is_here(target.url)
    here = live and local
    return Around(
        port=_free_port(target, taken={one.port for one in listeners()} if here else set()),
        cwd=cwd_of(target.pid) if here and target.pid is not None else None,
        key=wants_key or settings.api_key is not None,
        label=label,
        local=local,
    )


def _free_port(target: Target, taken: set[int]) -> int:
    """The next port above the server's on which nothing listens."""
    port = read_address(target.url).port if target.url is not None else DEFAULT_PORT
    above = (n for n in range(port + 1, MOST_PORT + 1) if n not in taken)
    return next(above, DEFAULT_PORT)
