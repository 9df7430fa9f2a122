"""The time of a cycle by the turn of the server's loop that it was in.

On a server whose tables find something now and then, and on one with several methods, the time between two cycles of a
slot holds steps without a draft, or the draft of another method. A trace tells each turn's time, and which cycles were
in it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.economics.cost_book import PLAIN

if TYPE_CHECKING:
    from specscope.events import CycleTraced, TurnTraced
    from specscope.session.cycle_book import CycleBook
    from specscope.session.economics.method_book import MethodBook
    from specscope.session.request import Request

WAITING: Final = 256
"""Cycles that wait for their turn: one of each slot, and some that a late line leaves behind."""

TABLE: Final = "ngram"
"""What the names of methods that look drafts up begin with."""


class _Ended(NamedTuple):
    """A cycle, the tokens that lay before it in the slot, and its request."""

    cycle: CycleTraced
    depth: float | None
    request: Request


class _PlainTurn(NamedTuple):
    """A turn that drafted nothing: what it took, the slots at work, and their mean depth."""

    took_ms: float
    slots: int
    depth: float | None


@dataclass(eq=False)
class TurnTimes:
    """Gives the cost book the turns of a server whose cycles tell no time of their own.

    A cycle belongs to the turn in which it ended; a turn has at most one of each slot. Not taken: turns whose cycles
    were not all seen, replays, turns in which another slot computed its prompt, and those before a pause, whose end is
    that of their last event. A turn that drafted nothing although it was asked is a plain step, unless a replay follows
    it: then it was that one's first verification.

    Attributes:
        drafter_alone: tables go before a drafter. A draft width is asked of the drafter, so that the cost by width is
            that of its cycles; what the tables' cycles take is kept by method.
    """

    book: CycleBook
    methods: MethodBook
    drafter_alone: bool = False
    _ended: deque[_Ended] = field(default_factory=lambda: deque(maxlen=WAITING))
    _plain: _PlainTurn | None = None

    def cycle(self, e: CycleTraced, request: Request) -> None:
        """A cycle has ended, and was counted."""
        if e.replayed:
            self._plain = None
        if self.book.costs.sparse:
            base = request.resident_before()
            depth = None if base is None else base + (request.tokens() or 0) - (e.accepted + 1) / 2
            self._ended.append(_Ended(e, depth, request))

    def turn(self, e: TurnTraced) -> None:
        """A turn has ended, and its cycles have been told."""
        if not self.book.costs.sparse:
            return
        if self._plain is not None:  # no replay has followed it
            self.book.costs.turns += 1
            self.book.costs.add(PLAIN, self._plain.slots, self._plain.depth, self._plain.took_ms)
            self._plain = None
        begin, mine = e.at - e.whole_us / 1e6, list[_Ended]()
        while self._ended and self._ended[0].cycle.at <= e.at:
            ended = self._ended.popleft()
            if ended.cycle.at > begin:
                mine.append(ended)
        if not mine:
            self._plain = self._plain_turn(e) if not e.cycles and e.draft_us else None
        elif len(mine) == e.cycles and mine[-1].cycle.at < e.at and not any(m.cycle.replayed for m in mine):
            self._cycles(e, mine)

    def _cycles(self, e: TurnTraced, mine: list[_Ended]) -> None:
        at_work = self._at_work([m.request for m in mine])
        if at_work is None:
            return
        took_ms, names = e.whole_us / 1000, {m.cycle.method for m in mine}
        for cycle, depth, _ in mine:
            method = cycle.method
            if not self.drafter_alone or (method is not None and not method.startswith(TABLE)):
                self.book.costs.add(cycle.drafted, len(at_work), depth, took_ms)
            if method is not None:
                self.methods.of(method).timed(len(at_work), depth, took_ms)
        (only,) = names if len(names) == 1 else (None,)
        if only is not None and e.draft_us is not None:
            count = self.methods.of(only)
            count.draft_us += e.draft_us
            count.drafts += len(mine)

    def _plain_turn(self, e: TurnTraced) -> _PlainTurn | None:
        at_work = self._at_work([])
        if not at_work:
            return None
        bases = [(r.resident_before(), r.tokens()) for r in at_work]
        depths = [base + (tokens or 0) for base, tokens in bases if base is not None]
        return _PlainTurn(e.whole_us / 1000, len(at_work), sum(depths) / len(depths) if depths else None)

    def _at_work(self, seen: list[Request]) -> list[Request] | None:
        """The requests that decode, ``seen`` in this turn or not; None while one computes its prompt."""
        at_work = list(seen)
        for request in self.book.current.values():
            if request in seen:
                continue
            if request.begun_at is None and not request.cycle_tokens and not request.decoded:
                self.book.costs.mixed += 1
                return None
            at_work.append(request)
        return at_work
