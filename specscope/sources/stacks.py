"""Python frames of a server that runs inside a Python process, sampled from outside by py-spy.

py-spy reads the interpreter's memory (process_vm_readv) and needs nothing of the server. It is told not to pause it:
pausing stops all threads of the server with ptrace for each sample. Measured on the lab's host under load (two cores,
11 threads, 9 ms a cycle): for 1.5-3 ms in the median and, where py-spy had to wait for a core meanwhile, for up to
0.6 s; at 20 samples a second that was 7-25 % of the time. Without pausing nothing is stopped, also not when py-spy is
killed, and what is left is its own CPU: 0.8 % of a core at 20 a second. In 66 pairs of requests, sampled and not, the
server's ms per cycle were 0.99 (5 a second), 1.01 (20), 1.03 (50) and 1.07 (500) times those without it, pausing 0.99,
1.03, 1.04 (5, 20, 50); a process that only sleeps gave 0.92, so that no less than 8 % could be told apart. A sample in
which the interpreter moved on while it was read is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.events import SourceAttached, SourceLost, StacksSampled
from specscope.sources.process import is_python
from specscope.sources.procfs import PROC, argv_of, has_ended, maps_name
from specscope.sources.stack_lines import StackCount, read_errors, read_stack
from specscope.sources.tether import tethered

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from specscope.sources.source import Clock, Emit

RATE_HZ: Final = 20
"""Samples per second. py-spy spaces them at random, so that they do not keep step with the server's cycles."""

SPAN_S: Final = 5
"""Seconds of one table. It is also how long py-spy lives, whatever becomes of specscope."""

RETRY_S: Final = 30.0
END_S: Final = 2.0
LINE_LIMIT: Final = 1 << 20
"""Bytes of one stack: a thousand frames are some 100,000."""

PTRACE_SCOPE: Final = "/proc/sys/kernel/yama/ptrace_scope"
AS_ROOT: Final = 'run specscope as root: sudo env "PATH=$PATH" specscope'


class Obstacle(NamedTuple):
    """Why there are no frames, what would change that, and whether to try again."""

    reason: str
    hint: str = ""
    final: bool = False


class StacksSource:
    """Samples one process until it ends or the watch does.

    Args:
        pid: the process.
        clock: the watch's clock.
        target: the server the facts are about.
    """

    name = "stacks"

    def __init__(self, pid: int, clock: Clock, target: str = "t0") -> None:
        self._pid = pid
        self._clock = clock
        self._target = target
        self._process: Process | None = None
        self._began: float | None = None
        self._attached = self._emitted = self._ending = False
        self._told = asyncio.Event()
        self._lost: Obstacle | None = None

    async def run(self, emit: Emit) -> None:
        """Emit a table every few seconds until cancelled, or until the process has ended or is no Python process."""
        try:
            while not self._ending:
                obstacle = await self._record(emit)
                if obstacle is None:
                    continue
                self._lose(obstacle, emit)
                if obstacle.final:
                    return
                await asyncio.sleep(RETRY_S)
        finally:
            self._told.set()

    async def finish(self) -> None:
        """Have what was sampled since the last table told, if it is worth one; call it while ``run`` runs."""
        self._ending = True
        if self._process is None or self._began is None:
            return
        _signal(self._process, signal.SIGINT)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._told.wait(), END_S)

    async def _record(self, emit: Emit) -> Obstacle | None:
        """Run py-spy once; returns what stood in the way."""
        program = py_spy()
        obstacle = await asyncio.to_thread(_obstacle, self._pid, program)
        if program is None or obstacle is not None:
            return obstacle
        process = await asyncio.create_subprocess_exec(
            *tethered(program),
            *("record", "--pid", str(self._pid), "--rate", str(RATE_HZ), "--duration", str(SPAN_S), "--nonblocking"),
            *("--threads", "--format", "raw", "--output", "/dev/stdout"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=LINE_LIMIT,
            process_group=0,  # Ctrl+C is for specscope, which ends it in order
        )
        self._process, self._began = process, None
        try:
            return await self._read(process, emit)
        finally:
            self._process = None
            await _end(process)

    async def _read(self, process: Process, emit: Emit) -> Obstacle | None:
        count, errors, complaint, stopped = StackCount(), None, "", False
        if process.stdout is None:
            return None
        async for data in process.stdout:
            text = data.decode("utf-8", "replace").strip()
            if text.startswith("py-spy> Sampling"):
                self._attach(emit)
            elif text.startswith("py-spy> Stopped"):
                stopped = True
            elif text.startswith(("Error:", "Permission Denied")):
                complaint = complaint or text
            elif (stack := read_stack(text)) is not None:
                count.add(stack)
            elif (found := read_errors(text)) is not None:
                errors = found
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), END_S)
        if self._began is None or errors is None:
            return None if self._ending else _failed(self._pid, complaint)
        span_s = self._clock.now() - self._began
        asked = round(RATE_HZ * span_s) if stopped else RATE_HZ * SPAN_S
        if asked and errors >= asked:
            return Obstacle("py-spy cannot read the frames of this Python")
        self._tell(count, max(asked - errors, count.busiest), span_s, emit)
        return None

    def _attach(self, emit: Emit) -> None:
        self._began, self._lost = self._clock.now(), None
        if self._attached:
            return
        self._attached = True
        detail = f"process {self._pid}, {RATE_HZ} samples/s"
        emit(SourceAttached(at=self._began, target=self._target, source=self.name, tier="none", detail=detail))

    def _tell(self, count: StackCount, samples: int, span_s: float, emit: Emit) -> None:
        """A table, unless it would replace a whole one with less than half of one."""
        if not samples or (self._emitted and span_s < SPAN_S / 2):
            return
        self._emitted = True
        rows = count.rows()
        emit(
            StacksSampled(
                at=self._clock.now(),
                target=self._target,
                span_s=round(span_s, 3),
                samples=samples,
                frames=[(frame, n) for frame, _, n in rows],
                threads=[thread for _, thread, _ in rows],
            )
        )

    def _lose(self, obstacle: Obstacle, emit: Emit) -> None:
        """Say it, once."""
        if obstacle == self._lost:
            return
        self._lost, self._attached = obstacle, False
        now, (reason, hint, _) = self._clock.now(), obstacle
        emit(SourceLost(at=now, target=self._target, source=self.name, reason=reason, hint=hint))


def py_spy() -> str | None:
    """The program, of this Python's environment or else on PATH."""
    beside = str(Path(sys.executable).with_name("py-spy"))
    return shutil.which(beside) or shutil.which("py-spy")


def runs_python(pid: int) -> bool:
    """Whether a process has a Python interpreter in it: it is one, or has loaded one."""
    argv = argv_of(pid)
    try:
        exe = str((PROC / str(pid) / "exe").readlink())
    except OSError:
        exe = argv[0] if argv else ""
    return is_python(exe) or maps_name(pid, "/libpython") is True


def _obstacle(pid: int, program: str | None) -> Obstacle | None:
    """What stands in the way before py-spy is tried."""
    if has_ended(pid):
        return _ended(pid)
    if not runs_python(pid):
        return Obstacle("the server is no Python process: it has no Python frames", final=True)
    if program is None:
        return Obstacle("py-spy is not installed", "install it: pip install py-spy")
    return None


def _ended(pid: int) -> Obstacle:
    return Obstacle(f"process {pid} ended", final=True)


def _failed(pid: int, complaint: str) -> Obstacle:
    """Why py-spy gave nothing."""
    if has_ended(pid):
        return _ended(pid)
    if complaint.startswith("Permission"):
        return denied(pid)
    said = complaint.removeprefix("Error:").strip().rstrip(".")
    return Obstacle(f"py-spy: {said}" if said else "py-spy has ended")


def denied(pid: int) -> Obstacle:
    """Which rule of ptrace(2), "Ptrace access mode checking", forbids it, and what lifts it."""
    try:
        scope = int(Path(PTRACE_SCOPE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        scope = 0
    if scope >= 3:  # noqa: PLR2004  SCOPE_NO_ATTACH, Documentation/admin-guide/LSM/Yama.rst
        return Obstacle("this kernel lets nobody read another process (ptrace_scope 3) until it is restarted")
    if os.geteuid() == 0:
        return Obstacle("root may not read other processes here", "start the container with --cap-add=SYS_PTRACE")
    with contextlib.suppress(OSError):
        if (PROC / str(pid)).stat().st_uid != os.geteuid():
            return Obstacle("the server belongs to another user", AS_ROOT)
    if scope == 1:
        lift = f"sudo sysctl kernel.yama.ptrace_scope=0, or {AS_ROOT}"
        return Obstacle("this kernel lets a process be read by its parent alone (ptrace_scope 1)", lift)
    return Obstacle("reading the server's memory is not permitted", AS_ROOT)


async def _end(process: Process) -> None:
    """Whatever came before, it has ended then."""
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: Process, number: signal.Signals) -> None:
    """Send it if the process runs. Its own method would reap one that has just ended, and asyncio complain of it."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
