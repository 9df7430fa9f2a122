"""Sampling a Python process: what is named, what is refused and why, and that nothing stays behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from specscope.events import SourceAttached, SourceLost, StacksSampled
from specscope.sources import stacks
from specscope.sources.source import Clock
from specscope.sources.stacks import StacksSource, denied, py_spy, runs_python

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from pathlib import Path

    from specscope.events import Event

BUSY = """
import threading

def pick_token_by_argmax():
    return sum(i * i for i in [1, 2, 3])

def beside():
    while True:
        pick_token_by_argmax()

threading.Thread(target=beside, name="logits", daemon=True).start()
print("up", flush=True)
threading.Event().wait()
"""


@contextlib.contextmanager
def running(*argv: str) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def busy() -> Generator[int]:
    """A Python process with a thread that is always at work."""
    with running(sys.executable, "-c", BUSY) as process:
        yield process.pid


@contextlib.asynccontextmanager
async def sampling(pid: int) -> AsyncGenerator[tuple[StacksSource, list[Event], asyncio.Task[None]]]:
    facts: list[Event] = []
    source = StacksSource(pid, Clock())
    task = asyncio.create_task(source.run(facts.append))
    try:
        yield source, facts, task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert spies() == []


def spies() -> list[psutil.Process]:
    """The py-spy that this process runs."""
    return [p for p in psutil.Process().children() if p.name() == "py-spy"]


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110  the facts of a source are all there is to wait for
            await asyncio.sleep(0.01)


def lost(facts: list[Event]) -> list[tuple[str, str]]:
    return [(f.reason, f.hint) for f in facts if isinstance(f, SourceLost)]


def tables(facts: list[Event]) -> list[StacksSampled]:
    return [f for f in facts if isinstance(f, StacksSampled)]


def program(path: Path, text: str) -> str:
    """A shell script in py-spy's place."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


async def test_a_busy_function_is_named_with_its_thread(busy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "SPAN_S", 1)
    async with sampling(busy) as (_, facts, _):
        await until(lambda: len(tables(facts)) == 2)
    attached = facts[0]
    assert isinstance(attached, SourceAttached)
    assert (attached.source, attached.tier) == ("stacks", "none")
    assert attached.detail == f"process {busy}, 20 samples/s"
    for table in tables(facts):
        named = dict(zip([frame for frame, _ in table.frames], table.threads, strict=True))
        frame = next(name for name in named if name.startswith("pick_token_by_argmax (<string>:"))
        assert named[frame] == "logits"
        assert sum(n for _, n in table.frames) <= table.samples <= 20
        assert "Event.wait" not in str(table.frames)


async def test_the_end_of_a_watch_tells_what_was_sampled_so_far(busy: int) -> None:
    async with sampling(busy) as (source, facts, task):
        await until(lambda: facts)
        await asyncio.sleep(0.5)
        await source.finish()
        assert task.done()
    (table,) = tables(facts)
    assert table.span_s < stacks.SPAN_S
    assert 0 < sum(n for _, n in table.frames) <= table.samples
    assert lost(facts) == []


async def test_a_short_rest_does_not_replace_a_whole_table(busy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "SPAN_S", 2)
    async with sampling(busy) as (source, facts, _):
        await until(lambda: tables(facts) and spies())
        await source.finish()
    (table,) = tables(facts)
    assert 20 < table.samples <= 40  # less those that were missed


async def test_finishing_before_anything_began(busy: int) -> None:
    source = StacksSource(busy, Clock())
    await source.finish()
    facts: list[Event] = []
    await source.run(facts.append)
    assert facts == []


async def test_a_process_that_ends_is_said_once(busy: int) -> None:
    async with sampling(busy) as (_, facts, task):
        await until(lambda: facts)
        os.kill(busy, signal.SIGKILL)
        await until(task.done)
    assert lost(facts) == [(f"process {busy} ended", "")]


async def test_a_program_in_another_language() -> None:
    with running("sh", "-c", "echo up; exec sleep 60") as process:
        async with sampling(process.pid) as (_, facts, task):
            await until(task.done)
    assert lost(facts) == [("the server is no Python process: it has no Python frames", "")]
    assert runs_python(os.getpid())


async def test_without_py_spy(busy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "py_spy", lambda: None)
    async with sampling(busy) as (_, facts, task):
        await until(lambda: facts)
        assert not task.done()
    assert lost(facts) == [("py-spy is not installed", "install it: pip install py-spy")]


async def test_what_is_lifted_is_tried_again(busy: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = py_spy()
    script = program(tmp_path / "py-spy", "echo 'Permission Denied: Try running again' >&2; exit 1")
    monkeypatch.setattr(stacks, "RETRY_S", 0.05)
    tried: list[None] = []
    monkeypatch.setattr(stacks, "py_spy", lambda: tried.append(None) or (script if len(tried) < 4 else real))
    async with sampling(busy) as (_, facts, _):
        await until(lambda: any(isinstance(f, SourceAttached) for f in facts))
    assert len(lost(facts)) == 1
    assert lost(facts)[0] == denied(busy)[:2]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'Error: Unsupported version of Python: 9.9'; exit 1", "py-spy: Unsupported version of Python: 9.9"),
        ("exit 3", "py-spy has ended"),
        (
            "echo 'py-spy> Sampling process'; echo \"py-spy> Wrote raw '/dev/stdout'. Samples: 0 Errors: 100\"",
            "py-spy cannot read the frames of this Python",
        ),
    ],
)
async def test_what_py_spy_complains_of(
    script: str, reason: str, busy: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = program(tmp_path / "py-spy", script)
    monkeypatch.setattr(stacks, "py_spy", lambda: path)
    async with sampling(busy) as (_, facts, _):
        await until(lambda: lost(facts))
    assert lost(facts) == [(reason, "")]


async def test_py_spy_that_is_killed_is_started_again(busy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "RETRY_S", 0.05)
    async with sampling(busy) as (_, facts, _):
        await until(lambda: facts)
        spies()[0].kill()
        await until(lambda: len(facts) == 3)
    assert lost(facts) == [("py-spy has ended", "")]
    assert isinstance(facts[2], SourceAttached)


@pytest.fixture
def scope(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where Yama's rule stands."""
    path = tmp_path / "ptrace_scope"
    monkeypatch.setattr(stacks, "PTRACE_SCOPE", str(path))
    return path


@pytest.mark.parametrize(
    ("rule", "user", "said"),
    [
        ("3", 1000, ("this kernel lets nobody read another process (ptrace_scope 3) until it is restarted", "")),
        ("1", 0, ("root may not read other processes here", "start the container with --cap-add=SYS_PTRACE")),
        ("1", 4711, ("the server belongs to another user", stacks.AS_ROOT)),
    ],
)
def test_why_it_is_not_permitted(
    rule: str, user: int, said: tuple[str, str], scope: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope.write_text(f"{rule}\n")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert denied(os.getpid())[:2] == said


@pytest.mark.parametrize(
    ("rule", "reason", "hint"),
    [
        ("1", "this kernel lets a process be read by its parent alone (ptrace_scope 1)", "sudo sysctl"),
        (None, "reading the server's memory is not permitted", "run specscope as root"),
    ],
)
def test_why_the_servers_own_user_is_not_permitted(
    rule: str | None, reason: str, hint: str, scope: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rule is not None:
        scope.write_text(f"{rule}\n")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    monkeypatch.setattr(stacks, "PROC", scope.parent)  # where no owner can be seen
    obstacle = denied(os.getpid())
    assert obstacle.reason == reason
    assert obstacle.hint.startswith(hint)
    assert not obstacle.final


async def test_it_dies_with_whoever_started_it(busy: int) -> None:
    code = (
        "import asyncio\nfrom specscope.sources import stacks\nfrom specscope.sources.source import Clock\n"
        f"asyncio.run(stacks.StacksSource({busy}, Clock()).run(lambda fact: print('up', flush=True)))"
    )
    with running(sys.executable, "-c", code) as process:
        (spy,) = psutil.Process(process.pid).children()
        assert spy.name() == "py-spy"
        process.kill()
    await until(lambda: not spy.is_running() or spy.status() == psutil.STATUS_ZOMBIE)
