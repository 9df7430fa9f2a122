"""The log of a llama-server as a source: a file that is followed, or a stream such as stdin.

What a file held before the watch began is read only for what still holds (`LASTING`): cycles and requests of
before are never reported. Of a long file only the first `HEAD_BYTES`, where the start is, and the last
`TAIL_BYTES` are looked at. A stream has no before: what comes first is taken as new.

The tier is ``log`` until the log shows that LLAMA_TRACE is on, then ``cycles``; a restart without it takes it back.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from specscope.events import BufferLogged, CycleLogged, EventsMissed, LogSaid, SourceAttached, SourceLost
from specscope.sources.follow import LINE_LIMIT_BYTES, FileFollower, LineBuffer, Step, stream_chunks
from specscope.sources.log_dialects import LASTING, PER_PROCESS, PRELUDE
from specscope.sources.log_lines import LineParser
from specscope.sources.log_memory import CODES, OF_THE_PROCESS

if TYPE_CHECKING:
    from specscope.events import Event, Tier
    from specscope.sources.source import Clock, Emit

HEAD_BYTES: Final = 1024 * 1024
TAIL_BYTES: Final = 256 * 1024
TRACE_HINT: Final = "start the server with LLAMA_TRACE=1 in its environment to see every cycle"

_SOURCE: Final = "log"
_FASTEST_LOOK_S: Final = 0.02
_SLOWEST_LOOK_S: Final = 0.2
_SLOWING: Final = 1.25
_LOOK_WHEN_LOST_S: Final = 0.5
_QUIET_S: Final = 1.0
_LASTING: Final = LASTING | CODES
_OUTLIVES_A_LOAD: Final = PER_PROCESS | OF_THE_PROCESS
_TOO_LONG: Final = f"a line of more than {LINE_LIMIT_BYTES // 1024} KiB"


def _shows_cycles(event: Event) -> bool:
    return isinstance(event, CycleLogged) or (isinstance(event, LogSaid) and event.code == "trace_on")


def next_wait_s(step: Step, last_s: float) -> float:
    """How long to wait before the next look: not at all behind data, where there may be more, then ever longer."""
    if step.news == "data":
        return 0.0
    if step.news == "lost":
        return _LOOK_WHEN_LOST_S
    return min(max(last_s * _SLOWING, _FASTEST_LOOK_S), _SLOWEST_LOOK_S)


class History:
    """What a log said before the watch that still holds for the server process now running."""

    def __init__(self, parser: LineParser) -> None:
        self._parser = parser
        self._said: dict[int | None, list[LogSaid | BufferLogged]] = {}
        self._traced: set[int | None] = set()
        self._stamp_before_gap: int | None = None

    def read(self, head: bytes, tail: bytes, now: float) -> None:
        """Read the beginning and the end of a log; ``tail`` may begin within a line.

        A stamp that is lower behind the gap than before it tells of a restart within the gap.
        """
        for line in head.split(b"\n"):
            self._line(line, now)
        self._stamp_before_gap = self._parser.stamp_us
        for line in tail.split(b"\n")[1:]:
            self._line(line, now)
        self._parser.flush()
        self._parser.forget_time()

    @property
    def facts(self) -> list[LogSaid | BufferLogged]:
        """The facts that still hold, in the order of the log."""
        return [fact for said in self._said.values() for fact in said]

    @property
    def shows_cycles(self) -> bool:
        """Whether the running process logs every cycle."""
        return bool(self._traced)

    def _line(self, line: bytes, now: float) -> None:
        restarts = self._parser.restarts
        events = self._parser.parse(line, now)
        if self._parser.restarts != restarts or self._went_back_in_gap():
            self._forget()
        child = self._parser.child
        said = self._said.setdefault(child, [])
        for event in events:
            if isinstance(event, LogSaid) and event.code == "model_loading":
                said[:] = [fact for fact in said if isinstance(fact, LogSaid) and fact.code in _OUTLIVES_A_LOAD]
                self._traced.discard(child)
            if isinstance(event, BufferLogged) or (isinstance(event, LogSaid) and event.code in _LASTING):
                said.append(event)
            if _shows_cycles(event):
                self._traced.add(child)

    def _went_back_in_gap(self) -> bool:
        before, now = self._stamp_before_gap, self._parser.stamp_us
        if before is None or now is None or now == before:
            return False
        self._stamp_before_gap = None
        return now < before

    def _forget(self) -> None:
        """Keep of the last line's process only what may belong to a start that has just begun."""
        said = self._said.get(self._parser.child, [])
        kept = list(takewhile(lambda fact: isinstance(fact, LogSaid) and fact.code in PRELUDE, reversed(said)))
        said[:] = reversed(kept)
        self._traced.discard(self._parser.child)


class LogSource:
    """Reports what a server's log says.

    Args:
        log: The file, ``-`` for stdin, or an open binary stream.
        clock: The watch's clock.
        target: The server the facts are about.
        port: In a router's log, the child to report on. None: all.
    """

    name = _SOURCE

    def __init__(
        self, log: str | Path | BinaryIO, clock: Clock, *, target: str = "t0", port: int | None = None
    ) -> None:
        self._log = log
        self._clock = clock
        self._target = target
        self._parser = LineParser(target, port)
        self._lines = LineBuffer()
        self._tier: Tier = "none"
        self._lost_reason: str | None = None
        self._data_at = clock.now()

    async def run(self, emit: Emit) -> None:
        """Emit facts until cancelled, or until a stream ends."""
        if isinstance(self._log, (str, Path)) and str(self._log) != "-":
            await self._follow(FileFollower(Path(self._log)), emit)
        else:
            await self._drain(sys.stdin.buffer if isinstance(self._log, (str, Path)) else self._log, emit)

    async def _follow(self, follower: FileFollower, emit: Emit) -> None:
        wait_s = 0.0
        with contextlib.closing(follower):
            while True:
                step = follower.step()
                if step.news == "nothing":
                    self._settle(emit)
                elif step.news == "data":
                    self._take(step.data, emit)
                elif step.news == "lost":
                    self._lose(step, emit)
                else:
                    await self._begin(step, follower, emit)
                wait_s = next_wait_s(step, wait_s)
                await asyncio.sleep(wait_s)

    async def _begin(self, step: Step, follower: FileFollower, emit: Emit) -> None:
        """A file was opened, or starts over."""
        if step.news in {"opened", "appeared"}:
            self._lost_reason = None
            self._attach("log", emit)
        else:
            last = self._lines.drain()
            if step.news == "rotated" and last:
                self._report(self._parser.parse(last, self._clock.now()), emit)
        self._lines = LineBuffer()
        if step.news != "opened":
            return
        history = History(self._parser)
        try:
            now = self._clock.now()
            head, tail = await asyncio.to_thread(follower.history, HEAD_BYTES, TAIL_BYTES)
            both, partial = _split_partial(head, tail)
            self._lines.feed(partial)
            await asyncio.to_thread(history.read, *both, now)
        except OSError:
            return  # the next step meets the same error and reports it
        for fact in history.facts:
            emit(fact)
        if history.shows_cycles:
            self._attach("cycles", emit)

    async def _drain(self, stream: BinaryIO, emit: Emit) -> None:
        self._attach("log", emit)
        try:
            async with contextlib.aclosing(stream_chunks(stream, _QUIET_S)) as chunks:
                async for chunk in chunks:
                    if chunk:
                        self._take(chunk, emit)
                        await asyncio.sleep(0)
                    self._settle(emit)
            reason = "the stream ended"
        except (OSError, ValueError) as error:
            reason = f"cannot read the stream: {error}"
        last = self._lines.drain()
        events = self._parser.parse(last, self._clock.now()) if last else []
        self._report([*events, *self._parser.flush()], emit)
        self._lose(Step("lost", reason=reason), emit)

    def _take(self, data: bytes, emit: Emit) -> None:
        """Report what new bytes say."""
        now = self._data_at = self._clock.now()
        skipped = self._lines.skipped
        parse, restarts = self._parser.parse, self._parser.restarts
        lines = list(self._lines.feed(data))
        if len(lines) > 1:
            self._parser.anticipate(lines[-1], now)
        for line in lines:
            events = parse(line, now)
            if self._parser.restarts != restarts:
                restarts = self._parser.restarts
                if self._tier == "cycles":
                    self._attach("log", emit)
            if events:
                self._report(events, emit)
        missed = self._lines.skipped - skipped
        if missed:
            emit(EventsMissed(at=now, target=self._target, source=_SOURCE, count=missed, reason=_TOO_LONG))

    def _report(self, events: list[Event], emit: Emit) -> None:
        for event in events:
            if self._tier != "cycles" and _shows_cycles(event):
                self._attach("cycles", emit)
            emit(event)

    def _settle(self, emit: Emit) -> None:
        """After a silence, give up waiting for the rest of a block."""
        if self._clock.now() - self._data_at > _QUIET_S:
            self._report(self._parser.flush(), emit)

    def _attach(self, tier: Tier, emit: Emit) -> None:
        self._tier = tier
        detail = str(self._log) if isinstance(self._log, (str, Path)) else "a stream"
        hint = TRACE_HINT if tier == "log" else ""
        now = self._clock.now()
        emit(SourceAttached(at=now, target=self._target, source=_SOURCE, tier=tier, detail=detail, hint=hint))

    def _lose(self, step: Step, emit: Emit) -> None:
        """Say once why nothing comes, and report what was still open."""
        if step.reason == self._lost_reason:
            return
        self._lost_reason = step.reason
        self._report(self._parser.flush(), emit)
        now = self._clock.now()
        emit(SourceLost(at=now, target=self._target, source=_SOURCE, reason=step.reason, hint=step.hint))


def _split_partial(head: bytes, tail: bytes) -> tuple[tuple[bytes, bytes], bytes]:
    """Head and tail up to their last line end, and the line behind it, whose end has not been written yet."""
    if tail:
        whole, end, partial = tail.rpartition(b"\n")
        return (head, whole + end), partial
    whole, end, partial = head.rpartition(b"\n")
    return (whole + end, b""), partial
