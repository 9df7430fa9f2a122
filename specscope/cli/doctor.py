"""``specscope doctor``: what can be seen here, at which tier, and the one command that lifts it."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from specscope.cli.common import settings_of
from specscope.cli.exits import OK, UNREACHABLE, CommandError, KeyWantedError
from specscope.cli.targets import live
from specscope.cli.watching import watching
from specscope.sources.discovery import discover

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.cli.targets import LiveTarget
    from specscope.session.state import Target
    from specscope.settings import Settings

TESTED_BUILDS = ("b10434", "b11434", "b11549")


def run(args: Namespace) -> int:
    """Report; exit 3 when no server can be reached, or the one that is wants another key."""
    settings = settings_of(args)
    if args.target is None and args.pid is None:
        for line in discover().tried:
            _line("INFO", f"looked at {line}")
    try:
        target = live(args.target, args.pid, settings.url)
        return asyncio.run(_look(target, settings))
    except KeyWantedError as error:
        _line("FAIL", str(error))
        return UNREACHABLE
    except CommandError as error:
        if error.code != UNREACHABLE:
            raise
        _line("FAIL", str(error).splitlines()[0])
        _line("INFO", "start one, or try: specscope demo")
        return UNREACHABLE


async def _look(target: list[LiveTarget], settings: Settings) -> int:
    async with watching(target, settings) as pump:
        await asyncio.sleep(0.3)
        for view in pump.session().targets:
            _report(view)
    return OK


def _report(view: Target) -> None:
    state = f"{view.url}: {view.server}" + (f" ({view.server_detail})" if view.server_detail else "")
    _line("OK" if view.server == "ready" else "WARN", state)
    _build(view)
    for source in view.sources:
        level = "OK" if source.state == "attached" else "WARN"
        tier = f" [{source.tier}]" if source.tier != "none" else ""
        _line(level, f"{source.name}{tier}: {source.detail}" + (f" -> {source.hint}" if source.hint else ""))
    _line("INFO", f"cycles are seen at tier: {view.tier}")
    if view.tier not in ("cycles", "trace"):
        _line("INFO", "to see every cycle exactly: start the server with LLAMA_TRACE=1 in its environment,")
        _line("INFO", "or trace it, which also shows where its time goes: as root, with bpftrace installed")


def _build(view: Target) -> None:
    build = view.props.build if view.props else None
    if build is None:
        _line("WARN", "the server's build is unknown")
    elif not build.startswith(TESTED_BUILDS):
        _line("WARN", f"build {build} was not tested (tested: {', '.join(TESTED_BUILDS)}); check the figures' evidence")
    else:
        _line("OK", f"build {build}")


def _line(level: str, text: str) -> None:
    sys.stdout.write(f"{level:<5} {text}\n")
