"""What a trace tells: cycles by slot, requests by their begin, and the figures of turns, copies and stalls."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from specscope.session.anatomy import AnatomyBook, Sampled
from specscope.session.economics.method_book import MethodBook
from specscope.session.economics.turn_times import TurnTimes
from specscope.session.request import LATE_S
from specscope.session.stalls import burst_of

if TYPE_CHECKING:
    from specscope.events import (
        CopiesTraced,
        CycleTraced,
        DraftDropped,
        RequestBegan,
        StallsSampled,
        TraceStarted,
        TurnTraced,
    )
    from specscope.session.cycle_book import CycleBook
    from specscope.session.request import Request
    from specscope.session.turn_state import Burst

COPIES_KEPT: Final = 10
"""Seconds of copies that are averaged."""

BURSTS_KEPT: Final = 60

BURSTS_AVERAGED: Final = 6
"""Bursts that tell of sampling: a minute's, some 150 turns of a DFlash server at 100 a second."""


@dataclass(eq=False)
class TraceBook:
    """The trace's part of an epoch.

    Attributes:
        tracing: what is probed; None: nothing.
        methods: its cycles by drafting method. times: what they took, by their turns.
        log_tells: the log tells every cycle, and of which request it is: then the trace tells neither.
        anatomy: the parts of its turns.
        copies: those of the latest seconds with a turn; bursts: the latest in which something ran; oldest first.
    """

    book: CycleBook
    tracing: TraceStarted | None = None
    methods: MethodBook = field(default_factory=MethodBook)
    log_tells: bool = False
    anatomy: AnatomyBook = field(default_factory=AnatomyBook)
    copies: deque[CopiesTraced] = field(default_factory=lambda: deque(maxlen=COPIES_KEPT))
    bursts: deque[Burst] = field(default_factory=lambda: deque(maxlen=BURSTS_KEPT))
    _sampling: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=BURSTS_AVERAGED))
    _owners: dict[int, Request] = field(default_factory=dict[int, "Request"])
    times: TurnTimes = field(init=False)

    def __post_init__(self) -> None:
        self.times = TurnTimes(self.book)

    def started(self, e: TraceStarted) -> None:
        """Probes are armed."""
        self.tracing = e

    def began(self, e: RequestBegan) -> None:
        """A slot's prompt has ended: that of the oldest request there that may be it, else of one not told yet."""
        if self.log_tells:
            self._owners.pop(e.slot, None)
            return
        request = self._owners[e.slot] = self._of_begin(e.slot, e.at)
        request.begun_at = e.at

    def _of_begin(self, slot: int, at: float) -> Request:
        """The request whose prompt ended then."""
        for request in self.book.lately(slot):
            begun, sighted_from = request.begun_at, request.sighted_from
            if begun is not None and sighted_from is not None and begun < at <= sighted_from:
                apart = self.book.begin_apart(request, at)  # polling saw only the later of two
                self.book.find_name(request)
                return apart
        may_be = self.book.may_have_begun(slot, at)
        return may_be[0] if may_be else self.book.open(slot, None, at, whole=True)

    def cycle(self, e: CycleTraced) -> None:
        """One cycle of a slot."""
        if e.given_up:
            self.book.add_unverified(-e.drafted)
        request = self.book.at_work(e.slot, e.at) if self.log_tells else self._tell(e)
        count = None if e.method is None else self.methods.of(e.method)
        if count is not None:
            count.cycle(e.drafted, e.accepted)
        if request is not None:
            self.times.cycle(e, request, count)

    def _tell(self, e: CycleTraced) -> Request:
        """It is of the request whose prompt ended there last, where begins are told.

        Cycles before the first begin are all of the request that was at work when the probes were armed.
        """
        request = self._owner(e) or self.book.at_work(e.slot, e.at)
        if request is None:
            request = self.book.open(e.slot, None, e.at, whole=False)
        if self._tells_begins():
            self._owners[e.slot] = request
            if request.begun_at is None and request.seen_by != "trace":
                request.whole = False  # its first cycles came before the probes
        self.book.add_cycle(request, e.at, e.drafted, e.accepted, "trace", replayed=e.replayed)
        if request.logged is not None:
            self.book.settle(request, e.at)  # its totals were read first, and took this cycle for plain steps
        return request

    def _owner(self, e: CycleTraced) -> Request | None:
        owner = self._owners.get(e.slot)
        if owner is None or owner.ended_at is None or e.at <= owner.ended_at + LATE_S:
            return owner
        return None

    def _tells_begins(self) -> bool:
        return self.tracing is not None and "begin" in self.tracing.functions

    def dropped(self, e: DraftDropped) -> None:
        """A draft that was never verified: the server counted it as drafted."""
        self.book.add_unverified(e.drafted)

    def turn(self, e: TurnTraced) -> None:
        """One turn of the server's loop."""
        self.anatomy.turn(e)
        self.times.turn(e)

    def copies_traced(self, e: CopiesTraced) -> None:
        """Copies of the last second; one without a turn tells nothing of a turn."""
        if e.turns:
            self.copies.append(e)

    def stalls_sampled(self, e: StallsSampled) -> None:
        """A burst of the dear probes."""
        if e.forwards:
            self._sampling.append((e.forwards, e.samples or 0, e.draft_sampling_us or 0))
        burst = burst_of(e)
        if burst is not None:
            self.bursts.append(burst)

    def sampled(self) -> Sampled | None:
        """Sampling per turn as the latest bursts saw it; None before one saw a forward."""
        forwards = sum(f for f, _, _ in self._sampling)
        if not forwards:
            return None
        samples, draft_us = sum(s for _, s, _ in self._sampling), sum(d for _, _, d in self._sampling)
        return Sampled(samples / forwards, draft_us / forwards / 1000)
