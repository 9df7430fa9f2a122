"""The helper's lines, read into facts. What each line means stands in specscope/sources/probes/program.py."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import msgspec

from specscope.events import (
    CopiesTraced,
    CycleTraced,
    DraftDropped,
    EventsMissed,
    RequestBegan,
    StallsSampled,
    TraceStarted,
)
from specscope.sources.probes.functions import told_by
from specscope.sources.trace.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.events import Event
    from specscope.events.trace import CopyOwner, SpanKind

_LOST: Final = re.compile(r"[Ll]ost (\d+) events")
_NS: Final = 1_000_000_000

FIRST_TURN_S: Final = 0.5
"""Taken for the length of a turn before one was seen."""

QUIET_TURNS: Final = 3
"""A turn that is followed by nothing for so many times its length was the last before a pause."""

DROP_S: Final = 3.0
DROP_TURNS: Final = 20
"""A draft that was not verified for so long, and as many turns, will not be: its request was cancelled. Earlier
would take a server that was held up (a swapped model, a busy machine) for one that gave up."""
_SLOTS: Final = 65_535

UNREADABLE: Final = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What a damaged line raises while it is read: no number, too few of them, other JSON, a stamp beyond all time."""

Mode = Literal["cheap", "auto", "full"]


@dataclass
class TraceLines:
    """Reads lines in the order in which they come.

    Args:
        target: the server the facts are about.
        mode: what was asked for.
        at: turns a CLOCK_MONOTONIC stamp in seconds into a fact's time.
        in_use: drafting methods of the server, where known: they tell apart those that share an implementation.

    Attributes:
        ready: the probes are armed.
        failed: why they are not; complaint: bpftrace's last word on something else.
        threads: those that run the server's loop, latest last.
        cycles: cycles seen; forwards: forwards of the target.
        answers: bursts answered; bursts_fail: why the latest could not be armed.
        widths: this build lets draft widths be seen.
    """

    target: str
    mode: Mode
    at: Callable[[float], float]
    in_use: tuple[str, ...] = ()
    ready: bool = False
    failed: str = ""
    complaint: str = ""
    widths: bool = False
    bursts: bool = False
    bursts_fail: str = ""
    answers: int = 0
    missing: tuple[str, ...] = ()
    cycles: int = 0
    forwards: int = 0
    last_at: float | None = None
    threads: dict[int, None] = field(default_factory=dict[int, "None"])
    _turns: Turns = field(default_factory=lambda: Turns(sampling=False, drafting=False, explicit_wait=True))
    _methods: dict[int, str] = field(default_factory=dict[int, str])
    _pending: dict[int, tuple[int, str | None]] = field(default_factory=dict[int, "tuple[int, str | None]"])
    turn_s: float = FIRST_TURN_S
    _armed_at: float = -math.inf
    _given_up: dict[int, tuple[int, str | None]] = field(default_factory=dict[int, "tuple[int, str | None]"])
    _restored: set[int] = field(default_factory=set[int])
    _ends: list[float] = field(default_factory=list[float])
    _facts: list[Event] = field(default_factory=list["Event"])
    _handlers: dict[str, Callable[[list[int]], None]] = field(init=False)

    def __post_init__(self) -> None:
        self._handlers = {
            "B ": self._began,
            "W ": self._width,
            "D ": self._drafted,
            "P ": self._forward,
            "F ": self._features,
            "S ": self._sampled,
            "R ": self._restore,
            "A ": self._accepted,
        }

    def read(self, line: str, now: float) -> list[Event]:
        """The facts that one line completes; ``now`` is for those that carry no stamp of their own."""
        try:
            self._read(line, now)
        except UNREADABLE:
            self._facts.append(self._missed(now, 1, "an unreadable line"))
        facts, self._facts = self._facts, []
        return facts

    def settle(self, now: float) -> list[Event]:
        """Nothing has come for a while: tell the last turn, and give up drafts that were not verified long after."""
        quiet_s = 0.0 if self.last_at is None else now - self.last_at
        if quiet_s > QUIET_TURNS * self.turn_s:
            self._turns.settle()
            self._tell_turns()
        if quiet_s > max(DROP_S, DROP_TURNS * self.turn_s):
            for slot, draft in list(self._pending.items()):
                self._given_up[slot] = draft
                self._drop(slot, now)
        facts, self._facts = self._facts, []
        return facts

    def _read(self, line: str, now: float) -> None:
        kind = line[:2]
        handler = self._handlers.get(kind)
        if handler is not None:
            handler([int(word) for word in line[2:].split()])
            self.last_at = now
        elif kind[:1] == "#":
            self._own(json.loads(line[1:]), now)
        elif line.strip() == "ready":
            self.ready, self._armed_at = True, now
        else:
            self._other(line, now)

    def _other(self, line: str, now: float) -> None:
        lost = _LOST.search(line)
        if lost is not None:
            self._facts.append(self._missed(now, int(lost[1]), "bpftrace lost events"))
        elif "ERROR" in line and "RLIMIT_MEMLOCK" not in line:
            self.complaint = line.strip()[:200]

    def _missed(self, now: float, count: int, reason: str) -> EventsMissed:
        return EventsMissed(at=now, target=self.target, source="trace", count=count, reason=reason)

    def _stamp(self, nanoseconds: int) -> float:
        return self.at(nanoseconds / _NS)

    # --- cycles -------------------------------------------------------------------------------------------------

    def _began(self, words: list[int]) -> None:
        stamp, slot = words
        at = self._stamp(stamp)
        self._drop(slot, at)
        if at < self._armed_at:
            return  # its first drafts may have been made before all the probes were armed
        self._facts.append(RequestBegan(at=at, target=self.target, slot=_slot(slot)))

    def _width(self, words: list[int]) -> None:
        slot, width, address = words
        self._restored.discard(slot)
        if slot in self._pending and self._ends:
            self._drop(slot, self._ends[-1])
        self._given_up.pop(slot, None)
        self._pending[_slot(slot)] = (_slot(width), self._methods.get(address))

    def _drop(self, slot: int, at: float) -> None:
        """A draft was made and its request ended before it was verified."""
        width, _ = self._pending.pop(slot, (None, None))
        if width is not None:
            self._facts.append(DraftDropped(at=at, target=self.target, slot=slot, drafted=width))

    def _drafted(self, words: list[int]) -> None:
        start, end, sampled, _ = words
        self._turns.drafted(start, end, sampled)

    def _forward(self, words: list[int]) -> None:
        start, end, sampled, samples, thread = words
        self.forwards += 1
        self.threads.pop(thread, None)
        self.threads[thread] = None
        self._turns.forward(start, end, sampled, samples)
        self._tell_turns()

    def _features(self, words: list[int]) -> None:
        self._turns.features(*words)

    def _sampled(self, words: list[int]) -> None:
        self._turns.sampled(*words)

    def _restore(self, words: list[int]) -> None:
        """A checkpoint is loaded between a draft and its end: its accepted part is verified again."""
        _, slot = words
        if slot in self._pending:
            self._restored.add(slot)

    def _accepted(self, words: list[int]) -> None:
        """A cycle ended. A replay accepts one token more than the first verification had (spec_is_replay)."""
        stamp, slot, accepted, sampled, samples = words
        at = self._stamp(stamp)
        self._turns.accepted(stamp, sampled, samples)
        width, method = self._pending.pop(slot, (None, None))
        late = width is None
        if late:  # given up too early: the server was held up
            width, method = self._given_up.get(slot, (None, None))
        self._given_up.pop(slot, None)
        replayed = slot in self._restored
        self._restored.discard(slot)
        if width is None:
            return  # its draft was made before the probes were armed
        self.cycles += 1
        self._ends.append(at)
        del self._ends[:-512]
        self._facts.append(
            CycleTraced(
                at=at,
                target=self.target,
                slot=_slot(slot),
                drafted=width,
                accepted=max(0, accepted - 1) if replayed else accepted,
                replayed=replayed,
                method=method,
                given_up=late,
            )
        )

    def _tell_turns(self) -> None:
        for end, turn in self._turns.take():
            self.turn_s = turn.whole_us / 1e6
            self._facts.append(msgspec.structs.replace(turn, at=self._stamp(end), target=self.target))

    # --- the helper's own lines ---------------------------------------------------------------------------------

    def _own(self, said: dict[str, Any], now: float) -> None:
        if "failed" in said:
            self.failed = str(said["failed"])
        elif "armed" in said:
            self._armed(said, now)
        elif "burst" in said:
            self.answers += 1
            self._burst(said)
        elif "burst_failed" in said:
            self.answers += 1
            self.bursts_fail = str(said["burst_failed"])

    def _armed(self, said: dict[str, Any], now: float) -> None:
        armed = cast("list[str]", said["armed"])
        self.widths = bool(said["widths"])
        self.bursts = bool(said["dear"])
        self.missing = tuple(said["missing"])
        self._methods = {}
        for address, implementation in said["methods"].items():
            self._methods |= told_by(int(address), str(implementation), self.in_use)
        self._turns = Turns(
            sampling="sample" in armed, drafting="draft" in armed, explicit_wait=bool(said["explicit_wait"])
        )
        self._facts.append(
            TraceStarted(
                at=now,
                target=self.target,
                mode=self.mode,
                functions=armed,
                missing=list(self.missing),
                asynchronous=said["asynchronous"],
                burst_s=BURST_S[self.mode] if self.bursts else None,
                burst_every_s=BURST_EVERY_S[self.mode] if self.bursts else None,
            )
        )

    def _burst(self, said: dict[str, Any]) -> None:
        begin, end = (self._stamp(stamp) for stamp in said["burst"])
        if said["lost"]:
            self._facts.append(self._missed(end, int(said["lost"]), "the burst's ring was full"))
        rows: list[tuple[CopyOwner, int, int]] = [(row[0], row[1], row[2]) for row in said["copies"]]
        apart = None if said["apart"] is None else [(int(size), int(copies)) for size, copies in said["apart"]]
        if rows or apart:
            span = round(end - begin, 4)
            turns = said["forwards"]
            self._facts.append(
                CopiesTraced(at=end, target=self.target, span_s=span, turns=turns, rows=rows, apart=apart)
            )
        told = cast("list[tuple[SpanKind, int, int]]", said["spans"])
        self._facts.append(
            StallsSampled(
                at=end,
                target=self.target,
                span_s=round(end - begin, 4),
                cycles=sum(begin < at <= end for at in self._ends),
                wait_us=said["wait_ns"] // 1000,
                idle_us=said["idle_ns"] // 1000,
                waits=said["waits"],
                submits=said["submits"],
                forwards=said["forwards"],
                samples=said["samples"],
                sampling_us=said["sampling_ns"] // 1000,
                draft_sampling_us=said["draft_sampling_ns"] // 1000,
                spans=[(kind, max(0, start) // 1000, length // 1000) for kind, start, length in told],
            )
        )


BURST_S: Final[dict[Mode, float | None]] = {"cheap": None, "auto": 0.3, "full": 1.0}
"""How long the dear probes are armed at a time. They slow an H200's cycle by 11 % while armed."""

BURST_EVERY_S: Final[dict[Mode, float | None]] = {"cheap": None, "auto": 20.0, "full": 1.0}
"""From the begin of one burst to the next. Arming and disarming cost more than the burst itself: every 10 s, an H200's
server is slowed by 2.3 % (1.4 .. 3.3), every 20 s by 1.2 % (0.7 .. 1.8; benchmarks/results/traced_on_h200.md)."""


def _slot(number: int) -> int:
    """A slot, width or length within what a fact can hold.

    Raises:
        ValueError: it is garbage: the probe read memory that is not what it took it for.
    """
    if not 0 <= number <= _SLOTS:
        raise ValueError(number)
    return number
