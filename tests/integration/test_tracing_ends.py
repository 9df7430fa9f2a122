"""However a trace ends, the server is left as it was: no probe in its code, and no process of ours."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from probed import TRACED, Code, alive, helpers_of, is_traced, needs_probes, trace_of, until_traced, with_children
from watched import target, until, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.sources.trace import source

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from specscope.session.state import Target

pytestmark = [pytest.mark.server, pytest.mark.trace, needs_probes]

SEEN_OF_A_CYCLE = ("common_speculative_begin", "common_speculative_draft", "common_speculative_accept", "llama_process")


@pytest.fixture
def spec(own_library: dict[str, str]) -> ServerSpec:
    """A server whose library is its own."""
    return ServerSpec(n_max=15, rates=LAB_RATES, trace=False, env=own_library)


@contextlib.asynccontextmanager
async def load_on(server: LabServer) -> AsyncGenerator[None]:
    """The server is at work inside the block."""
    load = asyncio.create_task(run_load(server.url, LoadPlan(requests=None, duration_s=120, tokens=300)))
    try:
        yield
    finally:
        load.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await load


@dataclass(frozen=True)
class Stream:
    """A ``specscope stream`` in a process of its own, its helper, and the helper's bpftrace."""

    process: asyncio.subprocess.Process
    helper: psutil.Process
    bpftrace: psutil.Process

    def alive(self) -> list[psutil.Process]:
        """What has not ended of the helper and bpftrace."""
        return alive([self.helper, self.bpftrace])


@contextlib.asynccontextmanager
async def streaming(server: LabServer, out: Path) -> AsyncGenerator[Stream]:
    """Its probes are armed and have told a cycle when the block begins; nothing of it is left after it."""
    command = [sys.executable, "-m", "specscope", "stream", server.url, "--trace", "auto"]
    with out.open("wb") as facts:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=facts, stderr=asyncio.subprocess.DEVNULL
        )
    family: list[psutil.Process] = []
    try:
        await until(lambda: b'"k":"traced"' in out.read_bytes(), "a traced cycle")
        (helper,) = helpers_of(process.pid)
        (bpftrace,) = helper.children()
        assert bpftrace.name() == "bpftrace"
        family = [helper, bpftrace]
        yield Stream(process, helper, bpftrace)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await until(lambda: alive(family) == [], "nothing left of it")


def _open_pipes() -> list[str]:
    """Of this process."""
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sorted(link for link in links if link.startswith("pipe:"))


def counted(view: Target) -> int | None:
    """Cycles that the server's own counters tell of."""
    return view.referee.count.cycles if view.referee.count is not None else None


def _is_probed(code: Code) -> bool:
    return all(any(wanted in name for name in code.changed()) for wanted in SEEN_OF_A_CYCLE)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
async def test_specscope_ends_under_load(how: signal.Signals, spec: ServerSpec, tmp_path: Path) -> None:
    async with LabServer(spec) as server, load_on(server):
        code = Code(server.pid)
        assert code.changed() == set()
        async with streaming(server, tmp_path / "facts") as stream:
            assert _is_probed(code)
            stream.process.send_signal(how)
            await until(lambda: code.changed() == set(), "the server's code as it was")
            await until(lambda: stream.alive() == [], "no process left")
            status = await stream.process.wait()
        assert status == (-signal.SIGKILL if how is signal.SIGKILL else 0)
        assert psutil.pid_exists(server.pid)


@pytest.mark.parametrize(
    ("flags", "settings", "traced"),
    [
        (["--trace", "off"], "auto", False),
        ([], "off", False),
        ([], "auto", True),
        ([], None, True),
    ],
    ids=["by flag", "by settings", "asked for by settings", "by default"],
)
async def test_a_helper_is_there_only_where_tracing_is_not_off(
    flags: list[str], settings: str | None, *, traced: bool, spec: ServerSpec, tmp_path: Path
) -> None:
    env = {k: v for k, v in os.environ.items() if k != "SPECSCOPE_TRACE"}
    env |= {} if settings is None else {"SPECSCOPE_TRACE": settings}
    out = tmp_path / "facts"
    async with LabServer(spec) as server, load_on(server):
        command = [sys.executable, "-m", "specscope", "stream", server.url, *flags]
        with out.open("wb") as facts:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=facts, stderr=asyncio.subprocess.DEVNULL, env=env
            )
        await until(lambda: b'"source":"metrics"' in out.read_bytes(), "attached")
        helpers = helpers_of(process.pid)
        assert bool(helpers) == traced
        code = Code(server.pid)
        if traced:
            await until(lambda: bool(code.changed()), "probes in the server's code")
        assert bool(code.changed()) == traced
        process.terminate()
        await process.wait()
        assert (b'"k":"tracing"' in out.read_bytes()) == traced
        assert (b'"source":"trace"' in out.read_bytes()) == traced
        assert alive(helpers) == []


@pytest.mark.parametrize("which", ["helper", "bpftrace"])
async def test_a_part_of_the_trace_is_killed_under_load(which: str, spec: ServerSpec, tmp_path: Path) -> None:
    async with LabServer(spec) as server, load_on(server):
        code = Code(server.pid)
        assert code.changed() == set()
        async with streaming(server, tmp_path / "facts") as stream:
            assert _is_probed(code)
            getattr(stream, which).kill()
            await until(lambda: code.changed() == set(), "the server's code as it was")
            await until(lambda: stream.alive() == [], "no process left")
            assert stream.process.returncode is None


async def test_leaving_a_watch_leaves_nothing_behind(spec: ServerSpec) -> None:
    async with LabServer(spec) as server:
        code = Code(server.pid)
        async with watch(server, TRACED) as pump:
            await until_traced(pump)
            assert _is_probed(code)
            family = with_children(helpers_of(os.getpid()))
            assert [p.name() for p in family[1:]] == ["bpftrace"]
        await until(lambda: code.changed() == set(), "the server's code as it was")
        assert alive(family) == []


async def test_a_helper_that_does_not_listen_is_killed(spec: ServerSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "END_S", 3.0)
    async with LabServer(spec) as server:
        code, before = Code(server.pid), _open_pipes()
        async with watch(server, TRACED) as pump:
            await until_traced(pump)
            (helper,) = helpers_of(os.getpid())
            family = with_children([helper])
            helper.suspend()
        assert _open_pipes() == before
        await until(lambda: alive(family) == [], "no process left")
        await until(lambda: code.changed() == set(), "the server's code as it was")


async def test_a_server_beside_that_runs_the_same_library_gets_its_code_back_too(spec: ServerSpec) -> None:
    async with LabServer(spec) as server, LabServer(spec) as beside:
        codes = [Code(server.pid), Code(beside.pid)]
        async with watch(server, TRACED) as pump:
            await until_traced(pump)
            await run_load(beside.url, LoadPlan(requests=1, tokens=60))
            assert _is_probed(codes[0])
            assert target(pump).cycles == ()
        await until(lambda: not any(code.changed() for code in codes), "the code of both as it was")


@pytest.mark.parametrize("which", [0, 1], ids=["the helper", "bpftrace"])
async def test_a_trace_that_was_killed_is_said_lost_and_comes_back(
    which: int, spec: ServerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "RETRY_S", 0.5)
    async with LabServer(spec) as server, watch(server, TRACED) as pump:
        await until_traced(pump)
        await run_load(server.url, LoadPlan(requests=1, tokens=100))
        await until(lambda: target(pump).evidence == "exact", "the first request confirmed")
        before = with_children(helpers_of(os.getpid()))
        before[which].kill()
        await until(lambda: (seen := trace_of(pump)) is not None and seen.state == "lost", "lost")
        lost = trace_of(pump)
        assert lost is not None
        assert lost.detail == "bpftrace has ended"
        await until(lambda: is_traced(pump), "traced again")
        assert alive(before) == []
        known = len(target(pump).cycles)
        await run_load(server.url, LoadPlan(requests=1, tokens=100))
        await until(lambda: all(r.ended_at is not None for r in target(pump).requests), "the requests ended")
    seen = target(pump)
    assert seen.referee.count is not None
    assert seen.referee.count.agrees
    assert seen.evidence == seen.cycle_evidence == "exact"
    assert len(seen.cycles) > known > 0


async def test_what_runs_while_the_trace_is_lost_is_polled_and_not_called_exact(
    spec: ServerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "RETRY_S", 60.0)
    async with LabServer(spec) as server, watch(server, TRACED) as pump:
        await until_traced(pump)
        await run_load(server.url, LoadPlan(requests=1, tokens=100))
        await until(lambda: target(pump).evidence == "exact", "the first request confirmed")
        helpers_of(os.getpid())[0].kill()
        await until(lambda: not is_traced(pump), "lost")
        await run_load(server.url, LoadPlan(requests=1, tokens=1500))
    seen = target(pump)
    count = seen.referee.count
    assert count is not None
    first, second = seen.requests
    assert first.seen_by == "trace"
    assert second.seen_by != "trace"
    assert (seen.tier, seen.cycle_evidence, seen.evidence) == ("polled", "polled", "counted")
    assert (seen.totals.cycles, seen.totals.drafted, seen.totals.accepted) == (
        count.cycles,
        count.drafted,
        count.accepted,
    )


async def test_two_watch_one_server_and_count_the_same(spec: ServerSpec) -> None:
    async with LabServer(spec) as server:
        code = Code(server.pid)
        async with watch(server, TRACED) as first:
            await until_traced(first)
            async with watch(server, TRACED) as second:
                await until_traced(second)
                assert len(helpers_of(os.getpid())) == 2
                await run_load(server.url, LoadPlan(requests=3, tokens=100))
            assert _is_probed(code)
        await until(lambda: code.changed() == set(), "the server's code as it was")
    views = [target(first), target(second)]
    counts = [view.referee.count for view in views]
    assert all(count is not None and count.agrees and count.cycles > 0 for count in counts)
    assert [view.evidence for view in views] == ["exact", "exact"]
    assert [v.totals.joint for v in views] == [views[0].totals.joint] * 2
    assert [(c.slot, c.drafted, c.accepted) for c in views[0].cycles] == [
        (c.slot, c.drafted, c.accepted) for c in views[1].cycles
    ]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=lambda how: how.name)
async def test_the_server_ends_while_it_is_traced(how: signal.Signals, spec: ServerSpec) -> None:
    server = LabServer(spec)
    async with server, watch(server, TRACED) as pump, load_on(server):
        await until_traced(pump)
        await until(lambda: len(target(pump).cycles) > 5, "cycles")
        family = with_children(helpers_of(os.getpid()))
        os.kill(server.pid, how)
        await until(lambda: (seen := trace_of(pump)) is not None and seen.state == "lost", "lost")
        lost = trace_of(pump)
        assert lost is not None
        assert lost.detail == "the server has ended"
        assert alive(family) == helpers_of(os.getpid()) == []
        await until(lambda: target(pump).server == "down", "down")


async def test_the_servers_successor_is_traced_from_its_first_cycle(spec: ServerSpec) -> None:
    first = LabServer(spec)
    async with first, watch(first, TRACED) as pump:
        await until_traced(pump)
        await run_load(first.url, LoadPlan(requests=1, tokens=100))
        os.kill(first.pid, signal.SIGKILL)
        await until(lambda: target(pump).server == "down", "down")
        async with LabServer(replace(spec, port=int(first.url.rsplit(":", 1)[1]))) as second:
            await until(lambda: target(pump).pid == second.pid and is_traced(pump), "the new process traced")
            await until(lambda: target(pump).referee.waiting != "waiting for all slots to be idle once", "a baseline")
            await run_load(second.url, LoadPlan(requests=2, tokens=100))
            await until(lambda: counted(target(pump)) == target(pump).totals.cycles, "the counters")
            seen = target(pump)
    assert seen.epoch == 2
    assert seen.referee.count is not None
    assert seen.referee.count.cycles == seen.totals.cycles == len(seen.cycles)
    assert seen.evidence == "exact"
    assert {c.seen_by for c in seen.cycles} == {"trace"}
