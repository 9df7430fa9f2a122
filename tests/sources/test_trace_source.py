"""The trace as a source, with programs in the helper's place that a real one cannot be made to be."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from test_trace_lines import ARMED, BURST, accept, forward, own, width

from specscope import events as ev
from specscope.sources.source import Clock
from specscope.sources.trace import lines, source
from specscope.sources.trace.access import Obstacle, Way
from specscope.sources.trace.pipe import LinePipe
from specscope.sources.trace.source import TraceSource

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 20.0

SAY = """
import json, os, sys, time
def say(*lines):
    os.write(1, "".join(line + chr(10) for line in lines).encode())
def hear():
    return json.loads(sys.stdin.readline())
"""


def helper(script: str) -> Way:
    """A program in the helper's place: it hears requests and says lines."""
    return Way((sys.executable, "-c", SAY + script))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "RETRY_S", 0.05)
    monkeypatch.setattr(source, "QUIET_S", 0.1)


class Run:
    """A source that runs, and its facts."""

    def __init__(self, ways: list[Way | Obstacle], monkeypatch: pytest.MonkeyPatch, pid: int, **options: Any) -> None:  # noqa: ANN401
        self.facts: list[ev.Event] = []
        self.started = 0
        self._ways = ways
        monkeypatch.setattr(source, "way_in", self._way_in)
        self.task = asyncio.create_task(TraceSource(pid, Clock(), **options).run(self.facts.append))

    def _way_in(self) -> Way | Obstacle:
        self.started += 1
        return self._ways[min(self.started, len(self._ways)) - 1]

    def of(self, kind: type) -> list[Any]:
        return [fact for fact in self.facts if isinstance(fact, kind)]

    def lost(self) -> list[tuple[str, str]]:
        return [(fact.reason, fact.hint) for fact in self.of(ev.SourceLost)]

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():  # noqa: ASYNC110  what is waited for sets no event
                await asyncio.sleep(0.01)

    async def end(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


@contextlib.asynccontextmanager
async def running(
    *ways: Way | Obstacle, monkeypatch: pytest.MonkeyPatch, pid: int | None = None, **options: object
) -> Any:  # noqa: ANN401
    run = Run(list(ways), monkeypatch, os.getpid() if pid is None else pid, **options)
    try:
        yield run
    finally:
        await run.end()


ARM = f"say({own(ARMED)!r}, 'ready')\n"
WORK = f"say({width(0, 15)!r}, {accept(20, 0, 7)!r})\n"
LISTEN = "sys.stdin.read()\n"


async def test_an_obstacle_is_said_and_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Obstacle("tracing needs root", "sudo -v"), monkeypatch=monkeypatch) as run:
        await asyncio.wait_for(run.task, PATIENCE_S)
        assert run.lost() == [("tracing needs root", "sudo -v")]


async def test_a_helper_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Way(("/nowhere/python",)), monkeypatch=monkeypatch) as run:
        await asyncio.wait_for(run.task, PATIENCE_S)
        assert run.lost() == [("the helper does not start: No such file or directory", "")]


async def test_a_refusal_is_said_and_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    way = helper("hear(); say('#' + json.dumps({'failed': 'process 7 belongs to another user'})); sys.exit(1)")
    async with running(way, monkeypatch=monkeypatch) as run:
        await asyncio.wait_for(run.task, PATIENCE_S)
        assert run.lost() == [("process 7 belongs to another user", "")]
        assert run.started == 1


@pytest.mark.parametrize(
    ("mode", "methods", "asks"),
    [
        ("auto", ("draft-dflash",), {"tier": "auto", "drafts": True, "methods": ["draft-dflash"]}),
        ("full", (), {"tier": "auto", "drafts": False, "methods": []}),
        ("cheap", ("ngram-mod",), {"tier": "cheap", "drafts": True, "methods": ["ngram-mod"]}),
    ],
)
async def test_what_the_helper_is_asked(
    mode: str, methods: tuple[str, ...], asks: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    way = helper("say('#' + json.dumps({'failed': json.dumps(hear())}))")
    async with running(way, monkeypatch=monkeypatch, mode=mode, slots=3, methods=methods) as run:
        await asyncio.wait_for(run.task, PATIENCE_S)
        ((asked, _),) = run.lost()
        assert json.loads(asked) == {"do": "trace", "pid": os.getpid(), "slots": 3} | asks


async def test_cycles_are_told_and_it_attaches_once_the_probes_are_armed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(helper("hear()\n" + ARM + WORK + LISTEN), monkeypatch=monkeypatch) as run:
        await run.until(lambda: run.of(ev.CycleTraced) and run.of(ev.SourceAttached))
        (attached,) = run.of(ev.SourceAttached)
        assert (attached.source, attached.tier) == ("trace", "trace")
        assert attached.detail == f"auto, process {os.getpid()}"
        (cycle,) = run.of(ev.CycleTraced)
        assert (cycle.drafted, cycle.accepted, cycle.method) == (15, 7, "draft-dflash or draft-dspark")
        assert run.of(ev.TraceStarted)
        assert run.lost() == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"widths": False, "missing": ["method", "sample"]}, "(not in this build: method, sample)"),
        ({"widths": False}, "(40 slots)"),
    ],
)
async def test_without_widths_it_says_why_there_are_no_cycles(
    changes: dict[str, object], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = helper(f"hear(); say({own(ARMED | changes)!r}, 'ready')\n" + LISTEN)
    async with running(way, monkeypatch=monkeypatch, slots=40) as run:
        await run.until(lambda: run.of(ev.SourceAttached))
        (attached,) = run.of(ev.SourceAttached)
        assert attached.tier == "none"
        assert attached.detail == f"parts of a turn only, no cycles {says}"


async def test_a_line_may_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = f"for part in {list(width(0, 15) + chr(10) + accept(20, 0, 7) + chr(10))!r}:\n"
    pieces += "    os.write(1, part.encode()); time.sleep(0.01)\n"
    async with running(helper("hear()\n" + ARM + pieces + LISTEN), monkeypatch=monkeypatch) as run:
        await run.until(lambda: run.of(ev.CycleTraced))
        assert run.of(ev.EventsMissed) == []


async def test_a_helper_that_ends_is_said_lost_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    dies, lives = helper("hear()\n" + ARM + WORK), helper("hear()\n" + ARM + WORK + LISTEN)
    async with running(dies, lives, monkeypatch=monkeypatch) as run:
        await run.until(lambda: len(run.of(ev.SourceAttached)) == 2 and len(run.of(ev.CycleTraced)) == 2)
        assert run.lost() == [("bpftrace has ended", "")]
        assert run.started == 2
        said = [type(fact) for fact in run.facts if isinstance(fact, (ev.SourceAttached, ev.SourceLost))]
        assert said == [ev.SourceAttached, ev.SourceLost, ev.SourceAttached]


async def test_bpftraces_last_word_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    way = helper("hear(); say('ERROR: Could not resolve symbol', 'and so on')")
    async with running(way, monkeypatch=monkeypatch) as run:
        await run.until(run.lost)
        assert run.lost()[0] == ("ERROR: Could not resolve symbol", "")


async def test_probes_that_are_not_armed_in_time_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "ARM_TIMEOUT_S", 0.3)
    async with running(helper("hear()\n" + LISTEN), monkeypatch=monkeypatch) as run:
        await run.until(run.lost)
        assert run.lost()[0] == ("bpftrace did not attach within 0 s", "")
        assert run.of(ev.SourceAttached) == []


async def test_the_end_of_the_server_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = await asyncio.create_subprocess_exec("true")
    await gone.wait()
    async with running(helper("hear()\n" + ARM), monkeypatch=monkeypatch, pid=gone.pid) as run:
        await asyncio.wait_for(run.task, PATIENCE_S)
        assert run.lost() == [("the server has ended", "")]


async def test_a_draft_that_nothing_followed_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "DROP_S", 0.2)
    monkeypatch.setattr(lines, "DROP_TURNS", 0)
    async with running(helper(f"hear()\n{ARM}say({width(0, 9)!r})\n{LISTEN}"), monkeypatch=monkeypatch) as run:
        await run.until(lambda: run.of(ev.DraftDropped))
        (dropped,) = run.of(ev.DraftDropped)
        assert (dropped.slot, dropped.drafted) == (0, 9)


# --- bursts -------------------------------------------------------------------------------------------------------

ONCE = f"say({forward(1, 2, 11)!r}, {forward(3, 4, 22)!r}, {forward(5, 6, 33)!r})\n"
AGAIN = """
import threading
def work():
    while True:
        say(*LINES)
        time.sleep(0.02)
threading.Thread(target=work, daemon=True).start()
"""
"""The server is at work until the helper ends."""

BUSY = f"LINES = {[forward(1, 2, 11), forward(3, 4, 22), forward(5, 6, 33)]!r}\n{AGAIN}"
NO_FORWARD = f"LINES = {[width(0, 15), accept(20, 0, 7)]!r}\n{AGAIN}"


async def test_a_burst_is_asked_for_on_the_threads_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"hear()\n{ARM}{BUSY}asked = hear()\nsay('#' + json.dumps({{'failed': json.dumps(asked)}})); os._exit(1)\n"
    async with running(helper(script), monkeypatch=monkeypatch) as run:
        await asyncio.wait_for(run.task, PATIENCE_S)
        asked = json.loads(run.lost()[0][0])
    assert (asked["do"], asked["threads"]) == ("burst", [22, 33])
    assert asked["ms"] >= (lines.BURST_S["auto"] or 0) * 1000


async def test_bursts_come_again_while_there_is_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lines.BURST_EVERY_S, "auto", 0.05)
    script = f"hear()\n{ARM}{BUSY}" + f"hear(); say({own(BURST)!r})\n" * 3 + LISTEN
    async with running(helper(script), monkeypatch=monkeypatch) as run:
        await run.until(lambda: len(run.of(ev.StallsSampled)) == 3)
        assert run.lost() == []
        assert len(run.of(ev.CopiesTraced)) == 3


@pytest.mark.parametrize(
    ("mode", "armed", "work"),
    [
        ("cheap", ARMED, BUSY),
        ("auto", ARMED | {"dear": []}, BUSY),
        ("auto", ARMED, NO_FORWARD),
        ("auto", ARMED, ""),
    ],
    ids=["cheap", "nothing to arm", "no thread known", "at rest"],
)
async def test_no_burst_is_asked_for(
    mode: str, armed: dict[str, object], work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"hear()\nsay({own(armed)!r}, 'ready')\n{work}hear(); say('ERROR: asked for a burst'); os._exit(1)\n"
    async with running(helper(script), monkeypatch=monkeypatch, mode=mode) as run:
        await run.until(lambda: run.of(ev.SourceAttached))
        await asyncio.sleep(0.6)
        assert run.lost() == []


async def test_work_that_is_over_when_the_probes_are_armed_is_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"hear()\nsay({own(ARMED)!r})\n{ONCE}say('ready')\nhear(); say('ERROR: asked for a burst'); os._exit(1)\n"
    async with running(helper(script), monkeypatch=monkeypatch) as run:
        await run.until(lambda: run.of(ev.SourceAttached))
        await asyncio.sleep(0.6)
        assert run.lost() == []


# --- the end ------------------------------------------------------------------------------------------------------


async def told_to_end(task: asyncio.Task[None]) -> int:
    """How many times a task had to be told."""
    times = 0
    while not task.done():
        task.cancel()
        times += 1
        await asyncio.wait({task}, timeout=PATIENCE_S if times == 1 else 0.1)
    return times


async def test_it_ends_when_it_is_told_to_while_lines_come_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "READ_EVERY_S", 0.0)
    script = f"""hear()
{ARM}
import threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
while True:
    say(*{[width(0, 15), accept(20, 0, 7)] * 20!r})
"""
    for number in range(20):
        run = Run([helper(script)], monkeypatch, os.getpid())
        await run.until(lambda run=run: run.of(ev.CycleTraced))
        await asyncio.sleep(0.001 * number)
        assert await told_to_end(run.task) == 1, f"it went on after end {number + 1}"


async def test_the_end_waits_for_what_the_helper_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """A helper that does not listen is killed; its child holds the pipe a little longer."""
    monkeypatch.setattr(source, "END_S", 2.0)
    script = "import subprocess; subprocess.Popen(['sleep', '3'], stdin=subprocess.DEVNULL); time.sleep(60)"
    with LinePipe() as pipe:
        process = await started(script, pipe)
        await asyncio.sleep(0.5)
        await source._end(process, pipe)
        assert process.returncode == -9
        assert await pipe.read(0) == b""


async def test_the_end_of_stdin_is_enough_for_one_that_listens() -> None:
    with LinePipe() as pipe:
        process = await started("sys.stdin.read(); sys.exit(7)", pipe)
        await source._end(process, pipe)
        assert process.returncode == 7


async def started(script: str, pipe: LinePipe) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        *helper(script).command, stdin=asyncio.subprocess.PIPE, stdout=pipe.inlet
    )
    pipe.close_inlet()
    return process


async def test_a_pipe_waits_for_its_writers_and_holds_what_nobody_reads() -> None:
    with LinePipe() as pipe:
        assert await pipe.read(0.01) is None
        os.write(pipe.inlet, b"x" * 200_000)  # more than a pipe holds by default: it would block
        assert len(await pipe.read(0.01) or b"") == 65536
        pipe.close_inlet()
        await pipe.until_end()
        assert await pipe.read(0.01) == b""
