"""``specscope doctor``: what can be seen here, at which tier, and the one command that lifts it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING, Final

from specscope.cli.common import settings_of
from specscope.cli.exits import OK, UNREACHABLE, CommandError, KeyWantedError
from specscope.cli.targets import live
from specscope.cli.watching import gpus_wanted, watching
from specscope.events import MACHINE, GpuFound, GpuLost, SourceAttached, SourceLost
from specscope.session.tiers import TIER_NAMES, tier_of
from specscope.sources.discovery import discover

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.cli.targets import LiveTarget
    from specscope.events import Event
    from specscope.session.state import Target
    from specscope.settings import Settings

TESTED_BUILDS = ("b10434", "b11434", "b11549")

NVML_WAIT_S: Final = 5.0
"""Without persistence mode the driver first wakes each device up, a second or two."""


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
    gpus = Gpus()
    async with watching(target, settings, listener=gpus.take) as pump:
        await asyncio.sleep(0.3)
        for view in pump.session().targets:
            _report(view)
        if not settings.gpu:
            _line("INFO", "nvml: off (--gpu watches this machine's GPUs)")
        elif not gpus_wanted(target, settings):
            _line("INFO", "nvml: the server is on another machine")
        else:
            await gpus.report()
    return OK


class Gpus:
    """What the driver's library says in the first moments."""

    def __init__(self) -> None:
        self._state: SourceAttached | SourceLost | None = None
        self._found: dict[int, GpuFound] = {}
        self._told = asyncio.Event()

    def take(self, fact: Event) -> None:
        """Take in a fact; those of servers are passed over."""
        if fact.target != MACHINE:
            return
        match fact:
            case SourceAttached() | SourceLost():
                self._state = fact
            case GpuFound():
                self._found[fact.index] = fact
            case GpuLost():
                self._found.pop(fact.index, None)
            case _:
                return
        if self._found or isinstance(self._state, SourceLost):
            self._told.set()

    async def report(self) -> None:
        """One line: the driver and its devices, or what is missing."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._told.wait(), NVML_WAIT_S)
        state = self._state
        if state is None:
            _line("WARN", f"nvml: the NVIDIA driver has not answered within {NVML_WAIT_S:g} s")
        elif isinstance(state, SourceLost):
            level = "WARN" if state.hint else "INFO"  # a machine without a GPU has nothing to put right
            _line(level, f"nvml: {state.reason}" + (f" -> {state.hint}" if state.hint else ""))
        else:
            names = ", ".join(f"{i}: {f.name or 'nameless'}" for i, f in sorted(self._found.items()))
            _line("OK", f"nvml: {state.detail}" + (f" ({names})" if names else ""))


def _report(view: Target) -> None:
    state = f"{view.url}: {view.server}" + (f" ({view.server_detail})" if view.server_detail else "")
    _line("OK" if view.server == "ready" else "WARN", state)
    _build(view)
    for source in view.sources:
        level = "OK" if source.state == "attached" else "WARN"
        tier = f" [{TIER_NAMES[source.tier]}]" if source.tier != "none" else ""
        _line(level, f"{source.name}{tier}: {source.detail}" + (f" -> {source.hint}" if source.hint else ""))
    _line("INFO", f"the best evidence here: {tier_of(view)} (of trace, cycles, polled, totals)")
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
