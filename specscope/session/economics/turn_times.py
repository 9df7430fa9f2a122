"""The time of a cycle by the turn of the server's loop that it was in.

On a server whose tables find something now and then, and on one with several methods, the time between two cycles of a
slot holds steps without a draft, or the draft of another method. A trace tells each turn's time, and which cycles were
in it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from specscope.session.economics.cost_book import PLAIN

if TYPE_CHECKING:
    from specscope.events import CycleTraced, TurnTraced
    from specscope.session.cycle_book import CycleBook
    from specscope.session.economics.method_book import MethodCount
    from specscope.session.request import Request

WAITING: Final = 256
"""Cycles that wait for their turn: one of each slot, and some that a late line leaves behind."""


_Ended: TypeAlias = "tuple[CycleTraced, Request, MethodCount | None]"


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
    drafter_alone: bool = False
    _ended: deque[_Ended] = field(default_factory=lambda: deque(maxlen=WAITING))
    _plain: _PlainTurn | None = None

    def cycle(self, e: CycleTraced, request: Request, count: MethodCount | None) -> None:
        """A cycle has ended, and was counted, with those of its method if that is known."""
        if e.replayed:
            self._plain = None
        if self.book.costs.sparse:
            self._ended.append((e, request, count))

    def turn(self, e: TurnTraced) -> None:
        """A turn has ended, and its cycles have been told."""
        costs = self.book.costs
        if not costs.sparse:
            return
        if self._plain is not None:  # no replay has followed it
            costs.turns += 1
            costs.add(PLAIN, self._plain.slots, self._plain.depth, self._plain.took_ms)
            self._plain = None
        at, begin, ended = e.at, e.at - e.whole_us / 1e6, self._ended
        mine: list[_Ended] = []
        replayed = False
        while ended and ended[0][0].at <= at:
            one = ended.popleft()
            if one[0].at > begin:
                mine.append(one)
                replayed = replayed or one[0].replayed
        if not mine:
            if not e.cycles and e.draft_us and costs.due(PLAIN):
                self._plain = self._plain_turn(e)
        elif len(mine) == e.cycles and mine[-1][0].at < at and not replayed:
            self._cycles(e, mine)

    def _cycles(self, e: TurnTraced, mine: list[_Ended]) -> None:
        """The cycles of a turn: each is one of its width, and one of its method."""
        costs, only, slots = self.book.costs, mine[0][2], 0
        for cycle, request, count in mine:
            if count is not only:
                only = None
            apart = self.drafter_alone and (count is None or count.table)  # tells nothing of the drafter's widths
            by_width = not apart and costs.due(cycle.drafted)
            by_method = count is not None and count.kept.due()
            if not by_width and not by_method:
                continue
            slots = slots or self._slots(mine)
            if not slots:
                return
            base = request.resident_before()
            depth = None if base is None else base + (request.tokens() or 0) - (cycle.accepted + 1) / 2
            if by_width:
                costs.add(cycle.drafted, slots, depth, e.whole_us / 1000)
            if count is not None and by_method:
                count.timed(slots, depth, e.whole_us / 1000)
        if only is not None and e.draft_us is not None:
            only.draft_us += e.draft_us
            only.drafts += len(mine)

    def _slots(self, mine: list[_Ended]) -> int:
        """Slots at work in a turn; 0 while one of them computes its prompt."""
        at_work = self._at_work([request for _, request, _ in mine])
        return len(at_work) if at_work is not None else 0

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
