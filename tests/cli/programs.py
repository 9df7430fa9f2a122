"""Runs specscope as a program, for what only a process has: pipes, signals, an exit status."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from specscope import events as ev
from specscope.recording import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE_S = 30.0
COMMAND = [sys.executable, "-m", "specscope"]


def start(*words: str) -> subprocess.Popen[bytes]:
    """Start a command with pipes for its output."""
    env = os.environ | {"PYTHONUNBUFFERED": ""}
    return subprocess.Popen(
        [*COMMAND, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    """Wait for its end: exit status, stdout, stderr."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err.decode()


def until_watching(process: subprocess.Popen[bytes]) -> str:
    """Read its stderr up to the line that says that it watches."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(b"watching "):
            return line.decode().strip()
    raise AssertionError(f"it ended with {process.wait()} before it watched")


def wait_for(holds: Callable[[], object]) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def make_recording(path: Path, *, cycles: int = 3) -> Path:
    """A short recording of a server at work."""
    at = 1_780_000_000.0
    facts: list[ev.Event] = [
        ev.TargetFound(at=at, url="http://127.0.0.1:8080"),
        ev.ServerChanged(at=at, state="ready"),
        ev.ServerStarted(at=at, token="1", by="contact"),  # noqa: S106  no secret
        ev.PropsRead(at=at, build="b11434", model_alias="granite", defaults={"min_p": 0.05}),
        ev.SourceAttached(at=at, source="log", tier="cycles"),
        ev.RequestLaunched(at=at + 1, slot=0, task=5),
        *(ev.CycleLogged(at=at + 1 + i / 10, slot=0, task=5, drafted=15, accepted=6) for i in range(1, cycles + 1)),
        ev.WatchEnded(at=at + 60),
    ]
    with Recorder(path, tool_version="test", started=at) as recorder:
        for fact in facts:
            recorder.write(fact)
    return path
