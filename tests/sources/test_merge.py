"""All sources of one server together: who tells the cycles, who wakes whom, and what a failure leaves standing."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest
from fake_server import FakeServer, Llama, slot
from http_watch import PATIENCE_S, pollers

from specscope import events as ev
from specscope.session.fold import Fold
from specscope.sources import llama_http, merge, own_cost, procfs
from specscope.sources.merge import ServerWatch
from specscope.sources.own_cost import OwnCostSource
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from specscope.sources.source import Emit

LAUNCH = "0.31.000.000 I slot launch_slot_: id  0 | task 9 | processing task, is_child = 0\n"
CYCLE = "0.32.000.000 I slot   operator(): id  0 | task 9 | accepted  5/15 draft tokens\n"


class Run:
    """A watch that runs, and its facts."""

    def __init__(self, watch: ServerWatch) -> None:
        self.watch = watch
        self.facts: list[ev.Event] = []
        self.fold = Fold()

    def emit(self, fact: ev.Event) -> None:
        self.facts.append(fact)
        self.fold.apply(fact)

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():  # noqa: ASYNC110  what is waited for sets no event
                await asyncio.sleep(0.01)

    def said(self, source: str) -> list[str]:
        """What was said of a source, in order: tiers, or ``lost``."""
        return [
            fact.tier if isinstance(fact, ev.SourceAttached) else "lost"
            for fact in self.facts
            if isinstance(fact, (ev.SourceAttached, ev.SourceLost)) and fact.source == source
        ]


@contextlib.asynccontextmanager
async def running(url: str, **options: str) -> AsyncGenerator[Run]:
    run = Run(ServerWatch(url, Clock(), **options))
    task = asyncio.create_task(run.watch.run(run.emit))
    try:
        yield run
        assert not task.done()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        async with asyncio.timeout(PATIENCE_S):
            while pollers():  # noqa: ASYNC110  what is waited for sets no event
                await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is a thread of this process, which is no llama-server's."""
    monkeypatch.setattr(merge, "find_pid", lambda _: None)
    monkeypatch.setattr(llama_http, "RETRY_S", 0.05)


async def test_a_log_that_tells_cycles_lowers_the_tier_of_polling_and_its_loss_lifts_it(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("")
    with FakeServer(Llama().routes()) as server:
        async with running(server.url, log=str(log)) as run:
            await run.until(lambda: run.said("slots") and run.said("log") and run.said("metrics"))
            assert (run.said("slots"), run.said("log")) == (["polled"], ["log"])
            with log.open("a") as file:
                file.write(CYCLE)
            await run.until(lambda: run.said("slots") == ["polled", "totals"])
            assert run.said("log") == ["log", "cycles"]
            log.unlink()
            await run.until(lambda: run.said("log")[-1] == "lost")
            await run.until(lambda: run.said("slots") == ["polled", "totals", "polled"])


async def test_a_launch_in_the_log_wakes_the_polling_of_a_server_that_may_sleep(tmp_path: Path) -> None:
    log, llama = tmp_path / "server.log", Llama()
    log.write_text("")
    with FakeServer(llama.routes()) as server:
        async with running(server.url, log=str(log)) as run:
            run.watch.http.sleep_idle_s = 0.4
            await run.until(lambda: run.watch.http.polling.poller and run.watch.http.polling.poller.paused)
            llama.slots = [slot(0, task=9, decoded=2), slot(1)]
            with log.open("a") as file:
                file.write(LAUNCH)
            await run.until(lambda: run.fold.view().targets[0].slots[0].busy)


async def test_a_begin_in_the_trace_wakes_the_polling_of_a_server_that_may_sleep() -> None:
    llama = Llama()
    with FakeServer(llama.routes()) as server:
        async with running(server.url) as run:
            run.watch.http.sleep_idle_s = 0.4
            await run.until(lambda: run.watch.http.polling.poller and run.watch.http.polling.poller.paused)
            llama.slots = [slot(0, task=9, decoded=2), slot(1)]
            run.watch._take(ev.RequestBegan(at=1.0, slot=0))
            await run.until(lambda: run.fold.view().targets[0].slots[0].busy)


async def test_a_busy_process_wakes_the_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    llama = Llama()
    with FakeServer(llama.routes()) as server:
        async with running(server.url) as run:
            run.watch.http.sleep_idle_s = 0.4
            await run.until(lambda: run.watch.http.polling.poller and run.watch.http.polling.poller.paused)
            llama.slots = [slot(0, task=9, decoded=2), slot(1)]
            run.watch._take(ev.ProcessSampled(at=1.0, cpu_pct=merge.BUSY_CPU_PCT - 1))
            run.watch._take(ev.ProcessSampled(at=1.0, cpu_pct=None))
            poller = run.watch.http.polling.poller
            assert poller is not None
            assert poller.paused
            run.watch._take(ev.ProcessSampled(at=1.0, cpu_pct=merge.BUSY_CPU_PCT))
            await run.until(lambda: run.fold.view().targets[0].slots[0].busy)


async def test_the_log_goes_on_where_the_key_is_wrong(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("")
    with FakeServer(Llama().routes(), key="right") as server:
        async with running(server.url, log=str(log), api_key="sk-wrong") as run:
            await run.until(lambda: run.said("log") and run.said("http"))
            assert run.said("http") == ["lost"]
            with log.open("a") as file:
                file.write(CYCLE)
            await run.until(lambda: any(isinstance(f, ev.CycleLogged) for f in run.facts))
            assert "sk-wrong" not in str(run.facts)


async def test_a_source_that_raises_is_lost_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run_badly(_: object, emit: Emit) -> None:
        raise LookupError("a mistake")

    monkeypatch.setattr(merge.LogSource, "run", run_badly)
    with FakeServer(Llama().routes()) as server:
        async with running(server.url, log=str(tmp_path / "x.log")) as run:
            await run.until(lambda: run.said("log") and run.said("slots"))
            (lost,) = [f for f in run.facts if isinstance(f, ev.SourceLost) and f.source == "log"]
            assert lost.reason == "specscope failed: LookupError: a mistake"


async def test_name_and_password_stay_out_of_the_facts() -> None:
    with FakeServer(Llama().routes()) as server:
        async with running(server.url.replace("http://", "http://me:hidden@")) as run:
            await run.until(lambda: run.said("slots"))
            assert run.watch.url == server.url
            assert server.authorizations == {"Basic bWU6aGlkZGVu"}
            assert "hidden" not in str(run.facts)


async def test_another_process_behind_the_address_is_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [11]
    monkeypatch.setattr(merge, "find_pid", lambda _: now[0])
    attached: list[int] = []

    async def attach(self: ServerWatch, pid: int, props: ev.PropsRead | None) -> None:
        attached.append(pid)

    monkeypatch.setattr(ServerWatch, "_attach_process", attach)
    llama = Llama(started=None)
    with FakeServer(llama.routes()) as server:
        port = server.port
        async with running(server.url) as run:
            state = run.fold.targets
            await run.until(lambda: run.said("slots") and run.said("metrics"))
            server.kill()
            await run.until(lambda: state["t0"].server == "down")
            with FakeServer(llama.routes(), port=port) as again:
                await run.until(lambda: state["t0"].server == "ready")
                assert (state["t0"].number, attached) == (1, [11]), "the same process: it was only out of reach"
                now[0] = 12
                again.kill()
                await run.until(lambda: state["t0"].server == "down")
            with FakeServer(llama.routes(), port=port):
                await run.until(lambda: state["t0"].server == "ready")
                assert (state["t0"].number, attached) == (2, [11, 12])


async def test_a_tunnel_is_not_taken_for_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "find_pid", lambda _: 1)
    with FakeServer(Llama().routes()) as server:
        async with running(server.url) as run:
            await run.until(lambda: run.said("slots") and run.said("process"))
            assert run.said("process") == ["lost"]
            assert not any(isinstance(fact, ev.ProcessSeen) for fact in run.facts)
            assert run.said("log") == []


@pytest.mark.parametrize(
    ("argv", "server"),
    [
        (["/opt/bin/llama-server", "-hf", "org/model"], True),
        (["./server", "-m", "x.gguf"], True),
        (["/usr/sbin/nginx", "-g", "daemon off;"], False),
        (["ssh", "-L", "8080:localhost:8080", "gpu"], False),
        ([], False),
    ],
)
def test_which_processes_are_servers(argv: list[str], server: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procfs, "argv_of", lambda _: argv)
    monkeypatch.setattr(procfs, "name_of", lambda _: "x")
    monkeypatch.setattr(procfs, "parent_of", lambda _: None)
    assert merge.is_server(1 << 30) is server


async def test_what_watching_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_cost, "INTERVAL_S", 0.02)
    sent = iter(range(0, 10_000, 5))
    facts: list[ev.Event] = []
    task = asyncio.create_task(OwnCostSource(Clock(), lambda: next(sent)).run(facts.append))
    async with asyncio.timeout(PATIENCE_S):
        while len(facts) < 2:  # noqa: ASYNC110  what is waited for sets no event
            await asyncio.sleep(0.01)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    for fact in facts:
        assert isinstance(fact, ev.OwnCostSampled)
        assert fact.cpu_pct is not None
        assert fact.cpu_pct >= 0
        assert fact.rss_bytes is not None
        assert fact.rss_bytes > 1 << 20
        assert fact.requests_per_s is not None
        assert fact.requests_per_s > 0
