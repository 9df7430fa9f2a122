"""The program that arms the probes, run as a process of its own and spoken to in its own lines."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Self

import psutil

from specscope.sources.trace.access import HELPER

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE_S = 60.0


def trace_request(pid: object, **changes: object) -> dict[str, object]:
    """A sound first request."""
    return {"do": "trace", "pid": pid, "tier": "auto", "slots": 1, "drafts": True, "methods": []} | changes


class Helper:
    """A helper, ended with the block.

    Args:
        env: what its environment has beside or instead of this one's; None takes a variable away.
    """

    def __init__(self, env: Mapping[str, str | None] | None = None) -> None:
        own = {"SUDO_UID": None} | dict(env or {})
        merged = {k: v for k, v in {**os.environ, **own}.items() if v is not None}
        self.process = subprocess.Popen(
            [sys.executable, "-m", HELPER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=merged,
            bufsize=0,
        )
        self.lines: list[str] = []
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def ask(self, *requests: object) -> None:
        """Send requests in one write; bytes go as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(
            b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in requests)
        )

    def line(self) -> str | None:
        """The next line, whoever wrote it; None at the end."""
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
            assert ready, f"nothing more came after {self.lines[-3:]}"
            data = os.read(self.process.stdout.fileno(), 65_536)
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        self.lines.append(line.decode())
        return self.lines[-1]

    def said(self, what: str) -> dict[str, Any]:
        """Its own next line of that kind."""
        while (line := self.line()) is not None:
            if line.startswith("#") and what in (said := json.loads(line[1:])):
                return said
        raise AssertionError(f"it ended without {what}: {self.lines}; {self.errors()}")

    def until_ready(self) -> dict[str, Any]:
        """What it has armed, once bpftrace has attached the probes."""
        armed = self.said("armed")
        while (line := self.line()) is not None:
            if line == "ready":
                return armed
        raise AssertionError(f"bpftrace did not attach: {self.lines}")

    def refusal(self) -> str:
        """The sentence with which it refuses; it has then ended by itself, and said no more."""
        sentence = self.said("failed")["failed"]
        assert self.line() is None
        assert self.process.wait(PATIENCE_S) == 1
        assert self.errors() == ""
        return str(sentence)

    def errors(self) -> str:
        """What it wrote to stderr until its end."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def bpftrace(self) -> psutil.Process:
        """Its bpftrace."""
        (child,) = psutil.Process(self.process.pid).children()
        return child

    def end(self) -> int:
        """End its stdin; its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
