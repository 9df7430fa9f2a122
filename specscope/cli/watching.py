"""Watching for a while without a screen: what snapshot, check, record and stream have in common."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import signal
import socket
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from specscope.cli.exits import UNREACHABLE, CommandError, KeyWantedError
from specscope.cli.pump import Pump
from specscope.events import MACHINE, Marked, WatchEnded
from specscope.session.tiers import tier_of
from specscope.sources.address import read_address
from specscope.sources.merge import ServerWatch
from specscope.sources.nvml.source import NvmlSource
from specscope.sources.own_cost import OwnCostSource
from specscope.sources.source import Clock, run_guarded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from specscope.cli.runs import Runs
    from specscope.cli.targets import LiveTarget
    from specscope.events import Event
    from specscope.recording import Recorder
    from specscope.session.state import Session, Target
    from specscope.settings import Settings

ATTACH_WAIT_S: Final = 10.0
"""How long sources may take to attach before watching begins without them."""

REACH_WAIT_S: Final = 3.5
"""How long a server may stay silent before a command that needs one gives up: a little longer than one request."""

LOOK_S: Final = 0.05
UNREACHED: Final = ("down", "not_llama", "error", "unknown")
"""States in which there is nothing to watch. A server that loads, sleeps or wants a key is there."""

_told: ContextVar[asyncio.Event | None] = ContextVar("told to end", default=None)


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
            trace=settings.trace,
            stacks=settings.stacks,
        )
        for i, target in enumerate(targets)
    ]


async def run_sources(watches: list[ServerWatch], clock: Clock, pump: Pump, *, gpus: bool = False) -> None:
    """Run all sources until cancelled; with ``gpus`` those of this machine too, once for all servers."""
    cost = OwnCostSource(clock, lambda: sum(w.requests for w in watches))
    async with asyncio.TaskGroup() as group:
        group.create_task(cost.run(pump.emit))
        if gpus:
            group.create_task(run_guarded(NvmlSource(clock), NvmlSource.name, pump.emit, clock, MACHINE))
        for watch in watches:
            group.create_task(watch.run(pump.emit))


def gpus_wanted(targets: list[LiveTarget], settings: Settings) -> bool:
    """Whether this machine's GPUs are to be watched: a server may be using them."""
    return settings.gpu and any(t.pid is not None or is_here(t.url) for t in targets)


def is_here(url: str) -> bool:
    """Whether an address is this machine's, as far as it tells without asking a name server."""
    host = read_address(url).host
    if host.lower() in ("localhost", socket.gethostname().lower()):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    if address.is_loopback or address.is_unspecified:
        return True
    own = (a.address.partition("%")[0] for interface in psutil.net_if_addrs().values() for a in interface)
    return str(address) in own


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
    runs: Runs | None = None,
    against: Session | None = None,
    log_suffices: bool = False,
) -> AsyncGenerator[Pump]:
    """Sources attached and running inside the block; one line on stderr says so.

    ``log_suffices``: where no server answers, a log that was named with ``--log`` can still tell why.

    Raises:
        CommandError: no server answers (exit 3).
        KeyWantedError: one answers, and wants a key or refuses the one given (exit 3).
        CommandError: a run is of another model than the servers run (exit 2).
    """
    _tell_of_missing_log(settings.log)
    clock = Clock()
    pump = Pump(settings, clock, recorder, runs=runs, against=against)
    if listener is not None:
        pump.listeners.append(listener)
    watches = make_watches(targets, clock, settings)
    task = asyncio.create_task(run_sources(watches, clock, pump, gpus=gpus_wanted(targets, settings)))
    try:
        with _signals() as told:
            await _attached(pump, clock, targets, task, told, stacks=settings.stacks)
            if not told.is_set() and not (log_suffices and _log_tells(pump.session().targets, settings)):
                _need_access(pump.session().targets, targets, settings)
                pump.runs.need_all()
            _tell_of(pump.session().targets)
            yield pump
            await finish(watches, clock, pump)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _attached(
    pump: Pump,
    clock: Clock,
    targets: list[LiveTarget],
    task: asyncio.Task[None],
    told: asyncio.Event,
    *,
    stacks: bool,
) -> None:
    """Wait until every source of every target has attached or said why not, or the user wants to end."""
    began = clock.now()
    while not told.is_set():
        waited = clock.now() - began
        if task.done():
            task.result()
        views = pump.session().targets
        if len(views) == len(targets) and all(_settled(v, stacks=stacks) for v in views):
            break
        if waited > ATTACH_WAIT_S or (waited > REACH_WAIT_S and not any(_answers(v) for v in views)):
            break
        await asyncio.sleep(LOOK_S)


def _tell_of_missing_log(log: str | None) -> None:
    if log is not None and log != "-" and not Path(log).exists():
        sys.stderr.write(f"--log {log} does not exist yet; it is followed as soon as it does\n")


def _tell_of(views: tuple[Target, ...]) -> None:
    """One line on stderr for each server that is watched."""
    for view in views:
        sys.stderr.write(_watching(view) + "\n")
    sys.stderr.flush()


def _log_tells(views: tuple[Target, ...], settings: Settings) -> bool:
    """Whether a named log is read of servers of which none answers."""
    named = settings.log is not None and all(v.server in UNREACHED for v in views)
    return named and any(s.name == "log" and s.state == "attached" for v in views for s in v.sources)


def _need_access(views: tuple[Target, ...], targets: list[LiveTarget], settings: Settings) -> None:
    """One server at least must be there and show something.

    Raises:
        CommandError: none answers.
        KeyWantedError: those that answer want a key, or refuse the one given.
    """
    if all(v.server in UNREACHED for v in views):
        raise CommandError("\n".join(f"tried {v.url}: {v.server_detail or 'no answer'}" for v in views), UNREACHABLE)
    wanting = [v for v in views if v.server == "needs_key"]
    if any(v.server not in (*UNREACHED, "needs_key") for v in views):
        return
    given = {f"t{i}": bool(read_address(t.url, settings.api_key).headers) for i, t in enumerate(targets)}
    raise KeyWantedError(
        "\n".join(
            f"{v.url} refused the key" if given[v.id] else f"{v.url} wants a key: --api-key-file FILE or LLAMA_API_KEY"
            for v in wanting
        )
    )


def _watching(view: Target) -> str:
    """``watching URL (tier)``; what stands in the way follows in words."""
    if view.server == "ready":
        return f"watching {view.url} ({tier_of(view)})"
    hints = [s.hint for s in view.sources if s.name == "http" and s.hint]
    return f"watching {view.url} ({view.server})" + "".join(f": {w}" for w in (view.server_detail, *hints) if w)


def _answers(view: Target) -> bool:
    """Whether something is there."""
    return view.server not in UNREACHED


def _settled(view: Target, *, stacks: bool) -> bool:
    if view.server in ("needs_key", "router"):
        return True
    known = {s.name for s in view.sources}
    of_process = ["log", *(["stacks"] if stacks else [])] if view.process is not None else []
    needed = ["http", "slots", "metrics", *of_process]
    return known.issuperset(needed)


def mark(pump: Pump, label: str | None) -> None:
    """Name what the server does during this watch, if the user named it: all its requests have the label."""
    if label:
        pump.emit(Marked(at=pump.session().started_at, label=label))


async def sleep_or_signal(seconds: float | None) -> bool:
    """Wait so long, or for ever; returns whether SIGINT or SIGTERM ended it early."""
    with _signals() as told:
        try:
            await asyncio.wait_for(told.wait(), seconds)
        except TimeoutError:
            return False
    return True


@contextlib.contextmanager
def _signals() -> Generator[asyncio.Event]:
    """An event that SIGINT and SIGTERM set inside the block; blocks within it share the outermost one's."""
    outer = _told.get()
    if outer is not None:
        yield outer
        return
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    handled = [s for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if _handle(loop, s, told)]
    _told.set(told)
    try:
        yield told
    finally:
        _told.set(None)
        for number in handled:
            loop.remove_signal_handler(number)


def _handle(loop: asyncio.AbstractEventLoop, number: signal.Signals, told: asyncio.Event) -> bool:
    """The first signal ends in order, a second one at once."""

    def tell() -> None:
        if told.is_set():
            loop.remove_signal_handler(number)
            signal.raise_signal(number)
        told.set()

    try:
        loop.add_signal_handler(number, tell)
    except (NotImplementedError, RuntimeError):  # not the main thread
        return False
    return True
