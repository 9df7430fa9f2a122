"""``--log -`` on the screen: the log comes from the pipe, the keys from the terminal."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

import pytest

from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.server

END_S = 40.0


async def test_log_lines_are_no_keys_and_q_still_quits(tmp_path: Path) -> None:
    log = tmp_path / "keys.log"
    log.write_text("q p 2 /filter m mark\n" * 50, encoding="utf-8")
    async with LabServer(ServerSpec(n_max=7)) as server:
        await asyncio.to_thread(_drive, log, server.url)


def _drive(log: Path, url: str) -> None:
    shell = f"tail -n +1 -F {log} | {sys.executable} -m specscope --log - {url}"
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="120", LINES="40")
        os.execv("/bin/bash", ["bash", "-c", shell])  # noqa: S606  in the terminal that pty.fork made
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    shown = _read(terminal, until="READY")
    assert "PAUSED" not in shown + _read(terminal, until=None)
    os.write(terminal, b"q")
    assert "requests ended" in _read(terminal, until="requests ended")
    subprocess.run(["pkill", "-P", str(pid)], check=False)
    os.waitpid(pid, 0)
    os.close(terminal)


def _read(terminal: int, *, until: str | None) -> str:
    """What comes from the terminal until a text, or for a moment."""
    shown = ""
    deadline = time.monotonic() + (END_S if until is not None else 1.0)
    while time.monotonic() < deadline and (until is None or until not in shown):
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
    assert until is None or until in shown, shown[-800:]
    return shown
