"""What the program that runs as root takes from whom, and what it keeps of its rights."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from helping import Helper, trace_request
from probed import Code, alive, needs_probes
from watched import until

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.sources.probes.functions import DEAR, NEEDED, roles_of
from specscope.sources.probes.helper import MAX_BURST_MS
from specscope.sources.probes.privileges import KEPT
from specscope.sources.probes.program import MAX_SLOTS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

pytestmark = pytest.mark.trace

NOBODY = 65_534
OWN_PID = os.getpid()
DEEP = b"[" * 20_000 + b"\n"
"""More than a JSON reader can nest."""

RATES = ServerSpec(n_max=15, rates=LAB_RATES, trace=False)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@contextlib.contextmanager
def sleeping(user: int | None = None) -> Generator[int]:
    """Some process of a user."""
    with subprocess.Popen(["sleep", "60"], user=user) as process:
        try:
            yield process.pid
        finally:
            process.kill()


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_line", "says"),
    [
        (b"\n", "requests are JSON objects"),
        (b"garbage\n", "requests are JSON objects"),
        (b"\xff\xfe\x00\n", "requests are JSON objects"),
        (b"[1, 2]\n", "requests are JSON objects"),
        (b"7\n", "requests are JSON objects"),
        (DEEP, "requests are JSON objects"),
        (b'{"do": "trace", "pid": 1\n', "requests are JSON objects"),
        (b"{}\n", "this request must be a trace"),
        ({"do": "burst", "threads": [1], "ms": 5}, "this request must be a trace"),
        ({"do": "exec", "command": "id"}, "this request must be a trace"),
        ({"do": "trace"}, "pid must be a number"),
        (trace_request(0), "pid must be a number"),
        (trace_request(-1), "pid must be a number"),
        (trace_request(2**22 + 1), "pid must be a number"),
        (trace_request(None), "pid must be a number"),
        (trace_request("1"), "pid must be a number"),
        (trace_request("self"), "pid must be a number"),
        (trace_request(1.5), "pid must be a number"),
        (trace_request(OWN_PID, slots=0), "slots must be a number"),
        (trace_request(OWN_PID, slots=65_536), "slots must be a number"),
        (trace_request(OWN_PID, slots="4"), "slots must be a number"),
        (trace_request(OWN_PID, slots=None), "slots must be a number"),
        (trace_request(OWN_PID, tier="full"), "tier must be cheap or auto"),
        (trace_request(OWN_PID, tier=None), "tier must be cheap or auto"),
        (trace_request(OWN_PID, tier=["auto"]), "tier must be cheap or auto"),
    ],
    # the workers of a run must name a test alike
    ids=lambda value: "" if isinstance(value, str) else str(value).replace(str(OWN_PID), "own")[:60],
)
def test_a_malformed_request_is_refused_in_a_sentence(request_line: object, says: str) -> None:
    with Helper() as helper:
        helper.ask(request_line)
        assert helper.refusal().startswith(says)


def test_the_end_of_stdin_before_any_request_ends_it() -> None:
    with Helper() as helper:
        assert helper.end() == 1


def test_a_process_that_is_gone() -> None:
    with sleeping() as pid:
        pass
    with Helper() as helper:
        helper.ask(trace_request(pid))
        assert helper.refusal() == f"process {pid} is gone"


def test_a_program_that_is_no_server() -> None:
    with sleeping() as pid, Helper() as helper:
        helper.ask(trace_request(pid))
        assert re.fullmatch(r"\S+ has no llama.cpp functions with names: a static build .*", helper.refusal())


@pytest.mark.skipif(shutil.which("gcc") is None or shutil.which("strip") is None, reason="needs gcc and strip")
def test_a_static_build_without_symbols(tmp_path: Path) -> None:
    program = tmp_path / "own-server"
    source = tmp_path / "server.c"
    source.write_text(
        "#include <unistd.h>\nint llama_decode(void) { return 1; }\nint main(void) { pause(); return llama_decode(); }"
    )
    subprocess.run(["gcc", "-static", "-O0", str(source), "-o", str(program)], check=True)
    subprocess.run(["strip", str(program)], check=True)
    with subprocess.Popen([str(program)]) as process:
        try:
            with Helper() as helper:
                helper.ask(trace_request(process.pid))
                assert helper.refusal() == (
                    "own-server has no llama.cpp functions with names: "
                    "a static build without symbols (strip), or another program"
                )
        finally:
            process.kill()


@as_root
def test_another_users_process_is_refused_to_who_called_sudo() -> None:
    with sleeping() as pid, Helper({"SUDO_UID": str(NOBODY)}) as helper:
        helper.ask(trace_request(pid))
        assert helper.refusal() == f"process {pid} belongs to another user"


@as_root
def test_ones_own_process_is_not_refused_to_who_called_sudo() -> None:
    with sleeping(NOBODY) as pid, Helper({"SUDO_UID": str(NOBODY)}) as helper:
        helper.ask(trace_request(pid))
        assert "has no llama.cpp functions" in helper.refusal()


@as_root
def test_a_process_whose_user_changed_on_the_way_is_not_wholly_ones_own() -> None:
    script = f"import os, time; os.setresuid({NOBODY}, {NOBODY}, 0); print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"1\n"
            with Helper({"SUDO_UID": str(NOBODY)}) as helper:
                helper.ask(trace_request(process.pid))
                assert helper.refusal() == f"process {process.pid} belongs to another user"
        finally:
            process.kill()


# --- with a server ------------------------------------------------------------------------------------------------


@needs_probes
@pytest.mark.server
async def test_without_bpftrace_it_says_so() -> None:
    async with LabServer(RATES) as server:
        with Helper({"PATH": ""}) as helper:
            helper.ask(trace_request(server.pid))
            assert helper.refusal() == "bpftrace is not installed"


@dataclass(frozen=True)
class Traced:
    """A server, a helper whose probes are armed on it, and what the helper said of them."""

    server: LabServer
    helper: Helper
    armed: dict[str, Any]

    async def burst(self, **request: object) -> dict[str, Any]:
        """The answer to a burst."""
        self.helper.ask({"do": "burst", "ms": 200} | request)
        return await asyncio.to_thread(self.helper.said, "burst")

    async def refused(self, *requests: object) -> str:
        """Why a further request was refused."""
        self.helper.ask(*requests)
        return str((await asyncio.to_thread(self.helper.said, "burst_failed"))["burst_failed"])

    async def loop_thread(self) -> int:
        """The thread of the server that does the forwards, once it has done one."""
        while not self.seen("P"):
            await asyncio.to_thread(self.helper.line)
        return self.seen("P")[-1][-1]

    def seen(self, kind: str) -> list[list[int]]:
        """The numbers of all lines of a kind so far."""
        return [[int(w) for w in line.split()[1:]] for line in self.helper.lines if line.startswith(f"{kind} ")]


@contextlib.asynccontextmanager
async def traced(spec: ServerSpec = RATES, **changes: object) -> AsyncGenerator[Traced]:
    """All of it while the block runs."""
    async with LabServer(spec) as server:
        with Helper() as helper:
            helper.ask(trace_request(server.pid, **changes))
            yield Traced(server, helper, await asyncio.to_thread(helper.until_ready))


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


def threads_at_work(pid: int) -> list[int]:
    """The threads of a process, those that have used most of a CPU first."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    stats = {int(task.name): (task / "stat").read_text().rpartition(")")[2].split() for task in tasks}
    return sorted(stats, key=lambda number: -int(stats[number][11]) - int(stats[number][12]))


def rights(pid: int) -> dict[str, int]:
    """The capabilities of a process, and whether it can gain any."""
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1], 16) for words in lines if words[0].startswith(("Cap", "NoNewPrivs"))}


@needs_probes
@pytest.mark.server
async def test_the_rights_that_are_not_needed_are_given_up_for_good() -> None:
    kept = sum(1 << number for number in KEPT.values())
    own = rights(os.getpid())
    assert own["CapBnd"] & ~kept
    assert own["CapEff"] & ~kept
    async with traced() as trace:
        for pid in (trace.helper.process.pid, trace.helper.bpftrace().pid):
            found = rights(pid)
            assert found["CapBnd"] == own["CapBnd"] & kept
            assert found["CapEff"] == found["CapPrm"] == own["CapEff"] & kept
            assert found["CapInh"] == found["CapAmb"] == 0
            assert found["NoNewPrivs"] == 1


@needs_probes
@pytest.mark.server
async def test_it_says_what_it_has_armed_and_arms_nothing_else(own_library: dict[str, str]) -> None:
    async with traced(replace(RATES, env=own_library)) as trace:
        code = Code(trace.server.pid)
        always = roles_of("auto", drafts=True)
        assert trace.armed["armed"] == list(always)
        assert trace.armed["missing"] == []
        assert trace.armed["widths"] is True
        assert set(NEEDED) <= set(trace.armed["armed"])
        assert {"submit", "wait", "copy"} <= set(trace.armed["dear"]) <= set(DEAR)
        assert trace.armed["asynchronous"] is False
        assert trace.armed["explicit_wait"] is True
        assert code.changed() == {n for n, at in code.addresses().items() if at in trace.armed["addresses"]} != set()
        assert len(code.changed()) == len(trace.armed["addresses"])


@needs_probes
@pytest.mark.server
@pytest.mark.parametrize(
    ("asked", "probed"),
    [
        (["draft-dflash", "ngram-mod"], {"draft-dflash", "ngram-mod"}),
        (["draft-dflash", "draft-unheard-of"], None),
    ],
    ids=["all known", "one unheard of"],
)
async def test_only_the_methods_in_use_are_probed_where_all_of_them_are_known(
    asked: object, probed: set[str] | None
) -> None:
    async with traced(methods=asked) as trace:
        methods = set(trace.armed["methods"].values())
    assert methods == probed or (probed is None and len(methods) > 5)


@needs_probes
@pytest.mark.server
async def test_more_slots_than_a_program_can_loop_over_leave_the_turns() -> None:
    async with traced(slots=MAX_SLOTS + 1) as trace:
        assert trace.armed["widths"] is False
        await run_load(trace.server.url, LoadPlan(requests=1, tokens=60))
        trace.helper.ask({"do": "burst", "threads": [], "ms": 1})
        await asyncio.to_thread(trace.helper.said, "burst")
        assert trace.seen("W") == trace.seen("D") == []
        assert len(trace.seen("A")) > 5
        assert len(trace.seen("P")) > 5


@needs_probes
@pytest.mark.server
async def test_the_end_of_stdin_ends_it_and_bpftrace() -> None:
    async with traced() as trace:
        bpftrace = trace.helper.bpftrace()
        assert await asyncio.to_thread(trace.helper.end) == 0
        await until(lambda: alive([bpftrace]) == [], "bpftrace ended")


@needs_probes
@pytest.mark.server
async def test_the_end_of_the_server_ends_it() -> None:
    async with traced() as trace:
        bpftrace = trace.helper.bpftrace()
        os.kill(trace.server.pid, signal.SIGKILL)
        await asyncio.to_thread(trace.helper.process.wait, 20)
        await until(lambda: alive([bpftrace]) == [], "bpftrace ended")


@needs_probes
@pytest.mark.server
async def test_a_burst_sees_the_threads_of_the_server_and_no_others() -> None:
    async with LabServer(RATES) as beside, traced() as trace, load_on(beside), load_on(trace.server):
        own = [await trace.loop_thread()]
        strangers = threads_at_work(beside.pid)[:3]
        answer = await trace.burst(threads=own, ms=1000)
        assert answer["forwards"] > 0
        assert answer["submits"] > 0
        assert answer["copies"]
        for others in (strangers, [os.getpid()], [1], [2**31], [-1], [0], ["1"], [None], []):
            answer = await trace.burst(threads=others, ms=100)
            assert (answer["forwards"], answer["submits"], answer["waits"], answer["copies"]) == (0, 0, 0, [])
        answer = await trace.burst(threads=[*strangers, *own], ms=1000)
        assert answer["forwards"] > 0


@needs_probes
@pytest.mark.server
async def test_what_is_no_burst_is_refused_and_the_next_burst_is_answered() -> None:
    async with traced() as trace:
        pid = trace.server.pid
        for request, says in (
            (b"garbage\n", "requests are JSON objects"),
            (b"\xff\xfe\n", "requests are JSON objects"),
            (DEEP, "requests are JSON objects"),
            (b"\n", "requests are JSON objects"),
            (trace_request(pid), "this request must be a burst"),
            ({"do": "burst", "threads": [pid]}, "ms must be a number"),
            ({"do": "burst", "threads": [pid], "ms": 0}, "ms must be a number"),
            ({"do": "burst", "threads": [pid], "ms": MAX_BURST_MS + 1}, "ms must be a number"),
            ({"do": "burst", "threads": [pid], "ms": True}, "ms must be a number"),
            ({"do": "burst", "threads": 5, "ms": 1}, "threads must be a list"),
            ({"do": "burst", "threads": {"1": 1}, "ms": 1}, "threads must be a list"),
            ({"do": "burst", "threads": "12", "ms": 1}, "threads must be a list"),
        ):
            assert (await trace.refused(request)).startswith(says)
        assert (await trace.burst(threads=[pid], ms=1))["burst"]
        assert trace.helper.process.poll() is None


@needs_probes
@pytest.mark.server
async def test_requests_may_come_in_one_piece_or_in_pieces() -> None:
    async with LabServer(RATES) as server:
        with Helper() as helper:
            helper.ask(trace_request(server.pid), {"do": "burst", "threads": [server.pid], "ms": 1})
            await asyncio.to_thread(helper.said, "burst")
            helper.ask(b'{"do": "burst", "thr')
            await asyncio.sleep(0.05)
            helper.ask(b'eads": [], "ms": 1}\n')
            await asyncio.to_thread(helper.said, "burst")


@needs_probes
@pytest.mark.server
async def test_of_bursts_that_have_piled_up_the_newest_is_answered() -> None:
    async with traced() as trace:
        burst = {"do": "burst", "threads": [], "ms": 1}
        trace.helper.ask(burst | {"ms": 0}, burst | {"ms": MAX_BURST_MS + 1}, burst)
        said = await asyncio.to_thread(trace.helper.line)
        assert said is not None
        assert said.startswith('#{"burst":')
