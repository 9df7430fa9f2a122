"""The server's own counters against what was captured: the check that makes a number exact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.referee_state import METRICS_OFF, NO_COUNTERS, Referee, RefereeCount, SinceStart

if TYPE_CHECKING:
    from specscope.events import CountersRead, RequestLogged
    from specscope.session.cycle_book import CycleBook


EXCESS: Final = 4
EXCESS_SHARE: Final = 0.02

CHECK_WAIT_S: Final = 0.5
"""How long a request's last cycles may be read after its totals: reads are 0.03 (trace) and 0.2 s (log) apart."""


class Captured(NamedTuple):
    """What had been captured when a baseline was taken."""

    cycles: int
    drafted: int | None
    accepted: int
    requests: int


@dataclass(eq=False)
class RefereeBook:
    """Compares captured cycles with the counters' increase.

    The counters move when a slot is released, so the baseline is a read with all slots idle, and the requests
    between two such reads lie wholly inside the window. A read while some slots are busy is compared with the
    requests that have ended; one may be ending that very moment, so it can confirm but never refute.

    Attributes:
        book: what was captured.
        base: the first read with all slots idle; last: the one that was compared; latest: whatever came last.
        ended: requests that had ended by the compared read.
    """

    book: CycleBook
    base: CountersRead | None = None
    last: CountersRead | None = None
    latest: CountersRead | None = None
    base_captured: Captured | None = None
    count: RefereeCount | None = None
    missed: int = 0
    ended: int = 0
    checked: int = 0
    parted: int = 0
    _unsettled: list[tuple[int, int, float]] = field(default_factory=list["tuple[int, int, float]"])

    def counters(self, e: CountersRead) -> None:
        """Take in a read of the counters. Some builds have no draft counters before the first draft."""
        self.latest, book = e, self.book
        self.settle(e.at)
        if not e.idle:
            self._confirm_while_busy(e)
            return
        captured = Captured(book.tally.cycles, book.tally.drafted, book.tally.accepted, book.ended)
        if self.base is None or self.base_captured is None or (self.base.drafts is None and e.drafts is not None):
            self.base, self.base_captured = e, captured
        self.last, self.ended = e, book.ended
        self.count = self._compare(self.base, e, self.base_captured, captured)
        if self.count is not None and self.count.agrees:
            self.missed = 0

    def _confirm_while_busy(self, e: CountersRead) -> None:
        if self.base is None or self.base_captured is None:
            return
        book = self.book
        ended = book.tally.copy()
        for request in book.current.values():
            ended.merge(request.tally, -1)
        captured = Captured(ended.cycles, ended.drafted, ended.accepted, book.ended)
        count = self._compare(self.base, e, self.base_captured, captured)
        if count is not None and count.agrees:
            self.last, self.count, self.missed, self.ended = e, count, 0, book.ended

    @staticmethod
    def _compare(base: CountersRead, now: CountersRead, then: Captured, captured: Captured) -> RefereeCount | None:
        if now is base:
            return None
        cycles = _increase(base.drafts, now.drafts)
        drafted = _increase(base.drafted, now.drafted)
        accepted = _increase(base.accepted, now.accepted)
        if cycles is None or drafted is None or accepted is None:
            return None
        widths_seen = captured.drafted is not None and then.drafted is not None
        return RefereeCount(
            cycles=cycles,
            drafted=drafted,
            accepted=accepted,
            captured_cycles=captured.cycles - then.cycles,
            captured_drafted=captured.drafted - then.drafted if widths_seen else None,  # type: ignore[operator]
            captured_accepted=captured.accepted - then.accepted,
        )

    def request_checked(self, e: RequestLogged) -> None:
        """Compare a request's captured cycles with the totals that the log printed for it."""
        self.settle(e.at)
        if e.drafted is not None:
            self._unsettled.append((e.slot, e.task, e.at))
            self.settle(e.at)

    def settle(self, at: float) -> None:
        """Judge the requests that agree by now, and those that have had their time to.

        The lines of a trace and of the log are read in batches of their own, so that a request's totals may be
        there before its last cycles, or before all of them.
        """
        waiting: list[tuple[int, int, float]] = []
        for slot, task, since in self._unsettled:
            request = self.book.named(slot, task)
            agrees = None if request is None else request.agrees()
            may_come = at - since <= CHECK_WAIT_S and (request is None or request.seen_by != "log")
            if agrees is not True and may_come:
                waiting.append((slot, task, since))
                continue
            if request is not None:
                request.judged = True
            if agrees is not None:
                self.checked += 1
                self.parted += not agrees
        self._unsettled = waiting

    def steps_expected(self) -> int | None:
        """Steps of all slots that the counters tell for the window.

        Cycles, or generated - accepted without the first token of each request, whichever is more: n-gram
        methods also step without a draft.
        """
        if self.count is None or self.base is None or self.last is None or self.base_captured is None:
            return None
        generated = _increase(self.base.generated, self.last.generated) or 0
        requests = self.ended - self.base_captured.requests
        return max(self.count.cycles, generated - self.count.accepted - requests)

    def per_position(self) -> tuple[float, ...]:
        """Share of cycles with accepted > i, from the counters' increase; empty when they have none."""
        if self.count is None or not self.count.cycles or self.base is None or self.last is None:
            return ()
        now = self.last.accepted_per_position or []
        then = [*(self.base.accepted_per_position or []), *([0] * len(now))]
        return tuple((b - a) / self.count.cycles for a, b in zip(then, now, strict=False))

    def generated(self) -> int | None:
        """Tokens generated in the window, by the counters."""
        if self.base is None or self.last is None or self.last is self.base:
            return None
        return _increase(self.base.generated, self.last.generated)

    def saw_too_much(self) -> bool:
        """Whether polling saw more accepted tokens than the server counted: it took several cycles for one.

        Polling can only miss cycles, so that any excess is an error; a little is left to the last cycles, whose
        accepted length is told by the KV fill.
        """
        if self.count is None:
            return False
        excess = self.count.captured_accepted - self.count.accepted
        return excess > max(EXCESS, EXCESS_SHARE * self.count.accepted)

    def view(self, *, metrics_off: bool = False) -> Referee:
        """The frozen view; with /metrics off there is no count to wait for."""
        e = self.latest
        told = None if e is None else SinceStart(e.generated, e.drafts, e.drafted, e.accepted)
        return Referee(self.count, self.checked, self.parted, self.missed, self._waiting(metrics_off=metrics_off), told)

    def _waiting(self, *, metrics_off: bool) -> str:
        if self.count is not None:
            return ""
        if self.base is None:
            return METRICS_OFF if metrics_off else "waiting for all slots to be idle once"
        if self.base.drafts is None:
            return NO_COUNTERS
        return "the counters are read when the slots are idle"


def _increase(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else now - before
