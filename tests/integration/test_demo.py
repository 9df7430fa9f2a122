"""The demo: one command, a real server, load, and the screen or the snapshot."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

import psutil
import pytest

pytestmark = pytest.mark.server

DEMO = [sys.executable, "-m", "specscope", "demo"]
END_S = 60.0


def test_the_demo_prints_a_snapshot() -> None:
    done = subprocess.run(
        [*DEMO, "--seconds", "5", "--json"], capture_output=True, text=True, timeout=END_S, check=False
    )
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert next(iter(body)) == "schema_version"
    assert body["speculation"]["types"] == ["draft-dflash"]
    assert body["speculation"]["cycles"] > 50
    assert body["speculation"]["evidence"] == "exact"
    assert body["requests"]
    assert "watching http://" in done.stderr


def test_the_demo_without_a_trace_polls() -> None:
    command = [*DEMO, "--seconds", "5", "--json", "--no-trace"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=END_S, check=False)
    body = json.loads(done.stdout)["speculation"]
    assert body["cycle_evidence"] == "polled"
    assert body["evidence"] == "counted"
    assert 0.25 < body["cycle_completeness"] <= 1


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_the_screen_opens_shows_cycles_and_q_ends_it_all(size: tuple[int, int]) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(DEMO[0], DEMO)  # noqa: S606  in the terminal that pty.fork made
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    shown = _read_until(terminal, "= server")
    assert "cycles" in shown
    family = psutil.Process(pid).children(recursive=True)
    assert any("specscope.lab.host" in " ".join(p.cmdline()) for p in family)
    os.write(terminal, b"q")
    rest = _read_until(terminal, "requests ended")
    assert "tau_draft" in rest
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    os.close(terminal)


def _read_until(terminal: int, text: str) -> str:
    """What the terminal shows until ``text`` has been on it."""
    shown = b""
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                break
        if text.encode() in shown:
            return shown.decode(errors="replace")
    pytest.fail(f"never on screen: {text!r}; last: {shown[-500:]!r}")
