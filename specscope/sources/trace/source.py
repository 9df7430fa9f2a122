"""The trace as a source: starts the helper, reads its lines, asks for bursts, and ends it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import TYPE_CHECKING, Final

from specscope.events import SourceAttached, SourceLost
from specscope.sources.trace.access import Obstacle, way_in
from specscope.sources.trace.lines import BURST_EVERY_S, BURST_S, TraceLines
from specscope.sources.trace.pipe import LinePipe

if TYPE_CHECKING:
    from specscope.events import Event
    from specscope.sources.source import Clock, Emit
    from specscope.sources.trace.lines import Mode

BURST_TIMEOUT_S: Final = 30.0
"""After which a burst that was never answered no longer keeps the next one waiting."""

BURST_TURNS: Final = 6
LONGEST_BURST_S: Final = 1.5
"""A burst covers so many turns, if they are not too long: copies are counted over whole turns."""

READ_EVERY_S: Final = 0.05
"""Between reads: waking up for every line took 1.4 % of a core more at 70 cycles a second."""

QUIET_S: Final = 0.3
"""Without a line for so long, it is looked whether a turn has ended or a draft was given up."""

ARM_TIMEOUT_S: Final = 30.0
"""bpftrace compiles for one to five seconds of CPU; on a machine whose cores are all busy it takes longer."""

RETRY_S: Final = 10.0
END_S: Final = 4.0
"""The kernel takes the probes off one by one while bpftrace ends: 1.5 s on an idle machine of two cores."""


class TraceSource:
    """Traces one server process until it ends or the watch does.

    Args:
        pid: the process.
        clock: the watch's clock.
        target: the server the facts are about.
        mode: ``cheap``: cycles and the parts of a turn. ``auto``: also sampling and copies, and the dear probes in
            bursts. ``full``: the dear probes all the time.
        slots: how many slots the server has.
        methods: drafting methods in use, where known; () means all.
    """

    name = "trace"

    def __init__(
        self,
        pid: int,
        clock: Clock,
        target: str = "t0",
        *,
        mode: Mode = "auto",
        slots: int = 1,
        methods: tuple[str, ...] = (),
    ) -> None:
        self._pid = pid
        self._clock = clock
        self._target = target
        self._mode: Mode = mode
        self._slots = slots
        self._methods = methods
        self._burst_at = 0.0
        self._forwards: int = 0
        self._asked: int = 0
        self._bursts_fail = ""

    async def run(self, emit: Emit) -> None:
        """Emit facts until cancelled, or until the process has ended or tracing is refused."""
        while True:
            way = await asyncio.to_thread(way_in)
            if isinstance(way, Obstacle):
                self._lose(emit, way.reason, way.hint)
                return
            lines = TraceLines(self._target, self._mode, self._clock.at_monotonic, self._methods)
            with LinePipe() as pipe:
                try:
                    process = await asyncio.create_subprocess_exec(
                        *way.command,
                        process_group=0,  # Ctrl+C in a terminal is for specscope, which has a comparison to finish
                        stdin=asyncio.subprocess.PIPE,
                        stdout=pipe.inlet,
                        stderr=asyncio.subprocess.DEVNULL,
                    )
                except OSError as error:
                    self._lose(emit, f"the helper does not start: {error.strerror}")
                    return
                pipe.close_inlet()
                try:
                    await self._trace(process, pipe, lines, emit)
                finally:
                    await _end(process, pipe)
            if lines.failed:
                self._lose(emit, lines.failed)
                return
            if not os.path.exists(f"/proc/{self._pid}"):  # noqa: PTH110, ASYNC240
                self._lose(emit, "the server has ended")
                return
            self._lose(emit, lines.complaint or "bpftrace has ended")
            await asyncio.sleep(RETRY_S)

    async def _trace(self, process: asyncio.subprocess.Process, pipe: LinePipe, lines: TraceLines, emit: Emit) -> None:
        """Read until the helper ends, or does not arm its probes in time."""
        stdin = process.stdin
        if stdin is None:
            return
        self._ask(stdin, self._request())
        began = self._clock.now()
        rest, attached = b"", False
        while True:
            data = await pipe.read(QUIET_S)
            now = self._clock.now()
            if data == b"":
                return
            if data:
                rest = _read(lines, rest + data, now, emit)
            else:
                _tell(lines.settle(now), emit)
            if attached:
                self._burst(stdin, lines, now)
                if lines.bursts_fail and lines.bursts_fail != self._bursts_fail:
                    self._bursts_fail = lines.bursts_fail
                    self._attach(lines, emit)
            elif lines.ready:
                attached = True
                self._attach(lines, emit)
            elif now - began > ARM_TIMEOUT_S:
                lines.complaint = lines.complaint or f"bpftrace did not attach within {ARM_TIMEOUT_S:.0f} s"
                return
            await asyncio.sleep(READ_EVERY_S)

    def _request(self) -> dict[str, object]:
        tier = "cheap" if self._mode == "cheap" else "auto"
        asked: dict[str, object] = {
            "do": "trace",
            "pid": self._pid,
            "slots": self._slots,
            "tier": tier,
            "drafts": bool(self._methods),
        }
        return asked | {"methods": list(self._methods)}

    def _burst(self, stdin: asyncio.StreamWriter, lines: TraceLines, now: float) -> None:
        """Ask for the dear probes when they are due and there is work to see."""
        if not lines.bursts or not lines.threads:
            return
        length, every = BURST_S[self._mode], BURST_EVERY_S[self._mode]
        if length is None or every is None or now - self._burst_at < every:
            return
        if lines.answers < self._asked and now - self._burst_at < BURST_TIMEOUT_S:
            return
        if lines.last_at is None or now - lines.last_at > QUIET_S or lines.forwards == self._forwards:
            return
        length = min(LONGEST_BURST_S, max(length, BURST_TURNS * lines.turn_s))
        self._burst_at, self._forwards, self._asked = now, lines.forwards, lines.answers + 1
        threads = list(lines.threads)[-2:]
        self._ask(stdin, {"do": "burst", "threads": threads, "ms": int(length * 1000)})

    def _ask(self, stdin: asyncio.StreamWriter, request: dict[str, object]) -> None:
        with contextlib.suppress(OSError):
            stdin.write(json.dumps(request).encode() + b"\n")

    def _attach(self, lines: TraceLines, emit: Emit) -> None:
        tier = "trace" if lines.widths else "none"
        detail = f"{self._mode}, process {self._pid}"
        if not lines.widths:
            why = f"not in this build: {', '.join(lines.missing)}" if lines.missing else f"{self._slots} slots"
            detail = f"parts of a turn only, no cycles ({why})"
        if lines.bursts_fail:
            detail += f"; no bursts: {lines.bursts_fail}"
        now = self._clock.now()
        emit(SourceAttached(at=now, target=self._target, source=self.name, tier=tier, detail=detail))

    def _lose(self, emit: Emit, reason: str, hint: str = "") -> None:
        now = self._clock.now()
        emit(SourceLost(at=now, target=self._target, source=self.name, reason=reason, hint=hint))


def _read(lines: TraceLines, data: bytes, now: float, emit: Emit) -> bytes:
    """Tell what whole lines say; returns the beginning of the next."""
    *whole, rest = data.split(b"\n")
    for line in whole:
        _tell(lines.read(line.decode("utf-8", "replace"), now), emit)
    return rest


def _tell(facts: list[Event], emit: Emit) -> None:
    for fact in facts:
        emit(fact)


async def _end(process: asyncio.subprocess.Process, pipe: LinePipe) -> None:
    """End the helper by ending its stdin, whoever it runs as; kill it if it does not listen."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(END_S):
            await _ended(process, pipe)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            process.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await _ended(process, pipe)


async def _ended(process: asyncio.subprocess.Process, pipe: LinePipe) -> None:
    """Wait for the helper, and until bpftrace, which writes into the same pipe, has closed it too."""
    await pipe.until_end()
    await process.wait()
