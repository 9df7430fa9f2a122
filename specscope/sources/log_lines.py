"""Turns the lines of a llama-server log into facts. Pure: no clock, no files.

What may be in a log is never trusted. At -lv 5 whole request bodies are in it, and a prompt may itself quote a
log: a line is read only up to where such text begins, and no further than `HEAD_CHARS`. No fact carries text
from a prompt or an answer.

The debug line ``accepted a/w draft tokens, new n_tokens = ..`` is not read: with LLAMA_TRACE=1 it repeats the
cycle, and without it the last cycle of each request is missing (seen in build 10434).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from specscope.events import CycleLogged, EventsMissed, LogSaid, StatisticsLogged
from specscope.sources.log_clock import StampClock
from specscope.sources.log_dialects import SAYINGS, STARTS
from specscope.sources.log_frame import HEAD_CHARS, frame, worth_reading
from specscope.sources.log_memory import MemoryLines, is_about_memory
from specscope.sources.log_requests import RequestLines, is_about_a_request

if TYPE_CHECKING:
    from specscope.events import Event

_FIELD_CHARS: Final = 300
_FLOAT: Final = r"\d{1,12}(?:\.\d{1,9})?"

_SLOT = re.compile(r"id +(\d{1,4}) \| task (-?\d{1,10}) \|")
_CYCLE = re.compile(
    r"id +(\d{1,4}) \| task (-?\d{1,10}) \| accepted +(\d{1,6})/ *(\d{1,6}) draft tokens(?!,)"
    r"( \(restore checkpoint\))?"
)
_STATISTICS = re.compile(
    r"statistics +([\w-]{1,40}): #calls(?:\(b,g,a\) = *\d{1,15} +(\d{1,15}) +(\d{1,15})| = *(\d{1,15})),"
    r" #gen drafts = *(\d{1,15}), #acc drafts = *(\d{1,15}), #gen tokens = *(\d{1,15}), #acc tokens = *(\d{1,15})"
)
_DURATIONS = re.compile(rf"\bdur\(b,g,a[^)]*\) = ({_FLOAT}), ({_FLOAT}), ({_FLOAT})")
_DURATION = re.compile(rf"\bdur = ({_FLOAT}) ms")


class LineParser:
    """Reads one log, line by line.

    It remembers what the lines of a log leave unsaid: which request a line of a block belongs to, blocks that
    are not complete, and how the server's stamps relate to when the lines were read.

    Args:
        target: The server the facts are about.
        port: In a router's log, the child to read; lines of the other children are passed over. None: all.

    Attributes:
        restarts: How often the log said that a server process starts.
        child: The ``[PORT]`` in front of the last line that was read, None without one.
    """

    def __init__(self, target: str = "t0", port: int | None = None) -> None:
        self.restarts = 0
        self.child: int | None = None
        self._target = target
        self._port = port
        self._clocks: dict[int | None, StampClock] = {}
        self._requests: dict[int | None, RequestLines] = {}
        self._memory: dict[int | None, MemoryLines] = {}
        self._is_starting: dict[int | None, bool] = {}
        self._late = False

    def parse(self, line: bytes | str, arrival: float) -> list[Event]:
        """The facts of one line (without its newline), most often none. Raises nothing.

        Args:
            line: The line as read. Undecodable bytes are replaced.
            arrival: When it was read, seconds since the epoch.
        """
        if isinstance(line, bytes):
            text = str(line if line[:1] == b"{" else line[:HEAD_CHARS], "latin-1")
        else:
            text = line if line[:1] == "{" else line[:HEAD_CHARS]
        if not worth_reading(text) and not (self._late and "slot" in text):
            return []
        if not text.isascii():
            raw = text.encode("latin-1") if isinstance(line, bytes) else text.encode("utf-8", "replace")
            text = raw.decode("utf-8", "replace")
        text, child, stamp_us = frame(text)
        if child is not None and self._port is not None and child != self._port:
            return []
        self.child = child
        at = self._clock().at(stamp_us, arrival)
        if "draft tokens" in text and "| accepted " in text:
            events = self._cycles(text, at, stamp_us)
        elif "statistics" in text:
            events = self._statistics(text, at)
        elif is_about_a_request(text):
            events = self._of_requests().read(text, at)
        else:
            events = self._of_memory().read(text, at) if is_about_memory(text) else []
            events = events or self._said(text, at)
        return self._settled(text, events)

    def anticipate(self, line: bytes, arrival: float) -> None:
        """Learn the time from the last line of a batch, before the batch is parsed."""
        _, child, stamp_us = frame(str(line[:HEAD_CHARS], "latin-1"))
        if stamp_us is not None and child == self.child:
            self._clock().anticipate(stamp_us, arrival)

    def flush(self) -> list[Event]:
        """The requests whose block is not closed, and buffers whose graph is not told. For when a log falls silent."""
        self._late = False
        events = [event for requests in self._requests.values() for event in requests.close_all()]
        return [*events, *(event for memory in self._memory.values() for event in memory.settle())]

    def forget_time(self) -> None:
        """Drop what was learnt from stamps: the lines so far were read long after they were written."""
        self._clocks.clear()

    @property
    def stamp_us(self) -> int | None:
        """The stamp last seen from the process that wrote the last line."""
        return self._clock().stamp_us

    def _clock(self) -> StampClock:
        clock = self._clocks.get(self.child)
        if clock is None:
            clock = self._clocks[self.child] = StampClock()
        return clock

    def _of_requests(self) -> RequestLines:
        requests = self._requests.get(self.child)
        if requests is None:
            requests = self._requests[self.child] = RequestLines(self._target)
        return requests

    def _of_memory(self) -> MemoryLines:
        memory = self._memory.get(self.child)
        if memory is None:
            memory = self._memory[self.child] = MemoryLines(self._target)
        return memory

    def _settled(self, text: str, events: list[Event]) -> list[Event]:
        """Close blocks that this line ends, in front of its own facts, and note what may follow."""
        requests = self._requests.get(self.child)
        if requests is not None:
            if requests.has_late and "slot" in text and "print_timing" not in text:
                events = [*requests.close_late(), *events]
            self._late = requests.has_late
        if events:
            last = events[-1]
            self._is_starting[self.child] = isinstance(last, LogSaid) and last.code in STARTS
        return events

    def _cycles(self, text: str, at: float, stamp_us: int | None) -> list[Event]:
        events: list[Event] = [
            CycleLogged(
                at=at,
                target=self._target,
                slot=int(slot),
                task=int(task),
                drafted=int(drafted),
                accepted=int(accepted),
                restored=bool(restored),
                stamp_us=stamp_us,
            )
            for slot, task, accepted, drafted, restored in _CYCLE.findall(text)
        ]
        if not events and ", new n_tokens" not in text:
            reason = "a line about a cycle that cannot be read"
            events.append(EventsMissed(at=at, target=self._target, source="log", count=1, reason=reason))
        return events

    def _statistics(self, text: str, at: float) -> list[Event]:
        found = _STATISTICS.search(text)
        if not found:
            return []
        asked, verified, asked_once, *counts = found.groups()[1:]
        drafts, drafts_accepted, drafted, accepted = map(int, counts)
        three, one = _DURATIONS.search(text), _DURATION.search(text)
        fact = StatisticsLogged(
            at=at,
            target=self._target,
            method=found[1].replace("_", "-"),
            drafts=drafts,
            drafts_accepted=drafts_accepted,
            drafted=drafted,
            accepted=accepted,
            calls=int(asked or asked_once),
            verified=int(verified) if verified else None,
            begin_ms=float(three[1]) if three else None,
            generate_ms=float(three[2]) if three else float(one[1]) if one else None,
            accept_ms=float(three[3]) if three else None,
        )
        return [fact]

    def _said(self, text: str, at: float) -> list[Event]:
        for saying in SAYINGS:
            if saying.needle not in text:
                continue
            found = saying.pattern.search(text)
            if not found:
                continue
            fields = {name: value[:_FIELD_CHARS] for name, value in found.groupdict().items() if value}
            slot = _SLOT.search(text)
            if slot:
                fields |= {"slot": slot[1], "task": slot[2]}
            said = LogSaid(at=at, target=self._target, code=saying.code, fields=fields)
            before = self._restarted() if saying.code in STARTS else self._of_memory().heard(saying.code)
            return [*before, said]
        return []

    def _restarted(self) -> list[Event]:
        """Count a start once, although several lines may tell of it, and close what the old process left open."""
        if self._is_starting.get(self.child):
            return []
        self.restarts += 1
        self._memory.pop(self.child, None)
        requests = self._requests.pop(self.child, None)
        return requests.close_all() if requests else []
