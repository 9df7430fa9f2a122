"""All sources of one server, put in order: who starts when, who tells the cycles, who looks again after a restart."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, Literal

import psutil

from specscope.events import ProcessSampled, RequestBegan, RequestLaunched, SourceAttached, SourceLost, TargetFound
from specscope.flags import parse_flags
from specscope.sources import procfs
from specscope.sources.discovery import find_pid, server_kind
from specscope.sources.gguf import GgufSource, files_in_use
from specscope.sources.llama_http import HttpSource
from specscope.sources.llama_log import LogSource
from specscope.sources.log_place import log_place_of
from specscope.sources.process import ProcessSource, process_seen
from specscope.sources.source import run_guarded
from specscope.sources.stacks import StacksSource
from specscope.sources.trace.source import TraceSource

if TYPE_CHECKING:
    from pathlib import Path

    from specscope.events import Event, PropsRead
    from specscope.flags import ServerFlags
    from specscope.sources.source import Clock, Emit, Source

LOG_WAIT_S: Final = 1.5
"""How long the first count waits for the log to be in place. Its history is at most 1.3 MB: a few milliseconds."""

TRACE_WAIT_S: Final = 8.0
"""How long the first count waits for the probes: what runs before they are armed would be counted by the server
and seen by nobody. Arming takes 0.5-3 s."""

DEFAULT_SLOTS: Final = 4
"""Slots of a llama-server that was not told how many (-np auto, since November 2025)."""

BUSY_CPU_PCT: Final = 25.0
"""A server at rest uses next to no CPU, one that decodes most of a core: reason enough to look at its slots."""


def is_server(pid: int) -> bool:
    """Whether a process runs a llama-server, under whatever name: flags and log of anything else would mislead."""
    argv = procfs.argv_of(pid)
    if not argv:
        return False
    return server_kind(pid, argv) is not None or any(word.endswith(".gguf") for word in argv)


class ServerWatch:
    """Watches one server through every source there is.

    On contact the process behind the address is looked up, its log and model files are attached, and only then
    are counters and slots read, so that a cycle counted by the server has been seen by the log too.

    Args:
        url: the server's address.
        clock: the watch's clock.
        target: its id in the facts.
        pid: its process, if known; looked up for local addresses otherwise.
        how: what led to it.
        kind: what it is.
        log: its log where the user named one: a path, or ``-`` for standard input.
        api_key: bearer token.
        live_metrics_s: see HttpSource.
        trace: how much to trace, see TraceSource.
        stacks: sample the Python frames of a server inside Python, see StacksSource.
    """

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        target: str = "t0",
        pid: int | None = None,
        how: str = "given",
        kind: str = "llama-server",
        log: str | None = None,
        api_key: str | None = None,
        live_metrics_s: float | None = None,
        trace: Literal["off", "cheap", "auto", "full"] = "off",
        stacks: bool = False,
    ) -> None:
        self._clock = clock
        self._target = target
        self._log = log
        self._pid = pid
        self._attached_pid: int | None = None
        self._log_path: Path | None = None
        self._log_ready = asyncio.Event()
        self._trace: Literal["off", "cheap", "auto", "full"] = trace
        self._trace_ready = asyncio.Event()
        self._with_stacks = stacks
        self._stacks: StacksSource | None = None
        self._telling: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._emit: Emit = lambda _: None
        self.http = HttpSource(url, clock, target, api_key, live_metrics_s=live_metrics_s, on_contact=self._on_contact)
        # Without name and password: the facts go to screens and files.
        self.url = self.http.address.shown
        self._found = TargetFound(at=clock.now(), target=target, url=self.url, pid=pid, kind=kind, how=how)

    @property
    def requests(self) -> int:
        """Requests sent to the server so far."""
        return self.http.requests

    async def run(self, emit: Emit) -> None:
        """Watch until cancelled."""
        self._emit = emit
        emit(self._found)
        if self._log is not None:
            self._start("log", LogSource(self._log, self._clock, target=self._target))
        try:
            await self.http.run(self._take)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def finish(self) -> None:
        """Let the closing comparison with the server's counters happen; call it while ``run`` runs."""
        stacks = self._stacks
        await asyncio.gather(self.http.finish(), *([stacks.finish()] if stacks is not None else []))

    def _take(self, event: Event) -> None:
        """Pass a fact on, and let the sources know what it means for them."""
        match event:
            case SourceAttached(source="log" | "trace" as source, tier=tier):
                self._tells_cycles(source, told=tier in ("cycles", "trace"))
            case SourceLost(source="log" | "trace" as source):
                self._tells_cycles(source, told=False)
            case RequestLaunched() | RequestBegan():
                self.http.wake()
            case ProcessSampled(cpu_pct=float() as cpu_pct) if cpu_pct >= BUSY_CPU_PCT:
                self.http.stir()
            case _:
                pass
        self._emit(event)

    def _tells_cycles(self, source: str, *, told: bool) -> None:
        """The log or the trace has found its place, with cycles in it or not: /slots need not be polled for them."""
        if told:
            self._telling.add(source)
        else:
            self._telling.discard(source)
        self.http.relax(relaxed=bool(self._telling))
        (self._log_ready if source == "log" else self._trace_ready).set()

    def _start(self, name: str, source: Source) -> None:
        old = self._tasks.pop(name, None)
        if old is not None:
            old.cancel()
        run = run_guarded(source, name, self._take, self._clock, self._target)
        self._tasks[name] = asyncio.create_task(run, name=f"specscope-{self._target}-{name}")

    async def _on_contact(self, props: PropsRead | None) -> bool | None:
        """The server is there, for the first time or again: put its process, log and files in place.

        Returns:
            Whether it is the process of before; None when its process cannot be seen.
        """
        before = self._attached_pid
        pid = self._pid if self._attached_pid is None and self._pid is not None else None
        if pid is None:
            pid = await asyncio.to_thread(find_pid, self.url)
        if pid is not None and pid != self._attached_pid:
            self._attached_pid = pid
            await self._attach_process(pid, props)
        if "trace" in self._tasks:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._trace_ready.wait(), TRACE_WAIT_S)
        if self._log is not None or "log" in self._tasks:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._log_ready.wait(), LOG_WAIT_S)
        return None if pid is None or before is None else pid == before

    async def _attach_process(self, pid: int, props: PropsRead | None) -> None:
        if pid != self._pid and not await asyncio.to_thread(is_server, pid):
            reason = f"process {pid} serves this address and is no llama-server, perhaps a tunnel or a proxy"
            hint = "on the server's machine, or with --pid and --log, more can be seen"
            at = self._clock.now()
            self._take(SourceLost(at=at, target=self._target, source="process", reason=reason, hint=hint))
            return
        try:
            seen = await asyncio.to_thread(process_seen, pid, self._clock.now(), self._target)
        except (OSError, psutil.Error) as error:
            self._take(SourceLost(at=self._clock.now(), target=self._target, source="process", reason=str(error)))
            return
        flags = parse_flags(seen.argv, seen.env or {})
        self.http.sleep_idle_s = flags.sleep_idle_s
        self._start("process", ProcessSource(pid, self._clock, self._target))
        files = files_in_use(pid, flags)
        if files:
            self._start("gguf", GgufSource(files, self._clock, self._target))
        if self._trace != "off":
            self._trace_ready.clear()
            slots = (props.total_slots if props is not None else None) or DEFAULT_SLOTS
            trace = TraceSource(pid, self._clock, self._target, mode=self._trace, slots=slots, methods=flags.spec_types)
            self._start("trace", trace)
        if self._with_stacks:
            self._stacks = StacksSource(pid, self._clock, self._target)
            self._start("stacks", self._stacks)
        if self._log is None:
            self._attach_log(pid, flags)

    def _attach_log(self, pid: int, flags: ServerFlags) -> None:
        """Follow the process's log, unless it is the file followed already."""
        place = log_place_of(pid, flags)
        if place.path is None:
            self._take(
                SourceLost(at=self._clock.now(), target=self._target, source="log", reason=place.words, hint=place.hint)
            )
            return
        running = self._tasks.get("log")
        if place.path == self._log_path and running is not None and not running.done():
            return
        self._log_path = place.path
        self._log_ready.clear()
        self._start("log", LogSource(place.path, self._clock, target=self._target))
