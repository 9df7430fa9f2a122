"""Watching for a while without a screen: what snapshot, check, record and stream have in common."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from typing import TYPE_CHECKING, Final

from specscope.cli.exits import UNREACHABLE, CommandError
from specscope.cli.pump import Pump
from specscope.events import Marked, WatchEnded
from specscope.sources.merge import ServerWatch
from specscope.sources.own_cost import OwnCostSource
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from specscope.cli.targets import LiveTarget
    from specscope.events import Event
    from specscope.recording import Recorder
    from specscope.session.state import Target
    from specscope.settings import Settings

ATTACH_WAIT_S: Final = 6.0
"""How long sources may take to attach before watching begins without them."""

REACH_WAIT_S: Final = 3.0
"""How long a server may stay silent before a command that needs one gives up."""


def make_watches(targets: list[LiveTarget], clock: Clock, settings: Settings) -> list[ServerWatch]:
    """One watch per target, ``t0`` first."""
    return [
        ServerWatch(
            target.url,
            clock,
            target=f"t{i}",
            pid=target.pid,
            how=target.how,
            kind=target.kind,
            log=settings.log if i == 0 else None,
            api_key=settings.api_key,
            live_metrics_s=settings.live_metrics_s,
        )
        for i, target in enumerate(targets)
    ]


async def run_sources(watches: list[ServerWatch], clock: Clock, pump: Pump) -> None:
    """Run all sources until cancelled."""
    cost = OwnCostSource(clock, lambda: sum(w.requests for w in watches))
    async with asyncio.TaskGroup() as group:
        group.create_task(cost.run(pump.emit))
        for watch in watches:
            group.create_task(watch.run(pump.emit))


async def finish(watches: list[ServerWatch], clock: Clock, pump: Pump) -> None:
    """The orderly end of a watch, while its sources still run: the closing comparison, and the last fact."""
    await asyncio.gather(*(w.finish() for w in watches))
    await asyncio.sleep(0)
    pump.emit(WatchEnded(at=clock.now()))


@contextlib.asynccontextmanager
async def watching(
    targets: list[LiveTarget],
    settings: Settings,
    *,
    recorder: Recorder | None = None,
    listener: Callable[[Event], None] | None = None,
) -> AsyncGenerator[Pump]:
    """Sources attached and running inside the block; one line on stderr says so.

    Raises:
        CommandError: no server answers (exit 3).
    """
    clock = Clock()
    pump = Pump(settings, clock, recorder)
    if listener is not None:
        pump.listeners.append(listener)
    watches = make_watches(targets, clock, settings)
    task = asyncio.create_task(run_sources(watches, clock, pump))
    try:
        await _attached(pump, targets, task)
        yield pump
        await finish(watches, clock, pump)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _attached(pump: Pump, targets: list[LiveTarget], task: asyncio.Task[None]) -> None:
    """Wait until every source of every target has attached or said why not."""
    waited = 0.0
    while waited < ATTACH_WAIT_S:
        if task.done():
            task.result()
        views = pump.session().targets
        if len(views) == len(targets) and all(_settled(v) for v in views):
            break
        if waited > REACH_WAIT_S and all(v.server in ("down", "not_llama", "error", "unknown") for v in views):
            break
        await asyncio.sleep(0.05)
        waited += 0.05
    for view in pump.session().targets:
        if view.server in ("down", "not_llama", "unknown"):
            raise CommandError(f"{view.url}: {view.server_detail or 'no answer'}", UNREACHABLE)
        sys.stderr.write(f"watching {view.url} ({view.tier if view.server == 'ready' else view.server})\n")
    sys.stderr.flush()


def _settled(view: Target) -> bool:
    if view.server in ("needs_key", "router"):
        return True
    known = {s.name for s in view.sources}
    needed = ["http", "slots", "metrics", *(["log"] if view.process is not None else [])]
    return known.issuperset(needed)


def mark(pump: Pump, label: str | None) -> None:
    """Name what the server does from here on, if the user named it."""
    if label:
        pump.emit(Marked(at=pump.session().at, label=label))


async def sleep_or_signal(seconds: float | None) -> bool:
    """Wait so long, or for ever; returns whether SIGINT or SIGTERM ended it early."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    handled = [s for s in (signal.SIGINT, signal.SIGTERM) if _handle(loop, s, told)]
    try:
        await asyncio.wait_for(told.wait(), seconds)
    except TimeoutError:
        return False
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
    return True


def _handle(loop: asyncio.AbstractEventLoop, number: signal.Signals, told: asyncio.Event) -> bool:
    try:
        loop.add_signal_handler(number, told.set)
    except (NotImplementedError, RuntimeError):  # not the main thread
        return False
    return True
