"""What a trace tells: cycles by slot, requests by their begin, and the figures of turns, copies and stalls."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from specscope.session.anatomy import AnatomyBook, Sampled
from specscope.session.economics.method_book import MethodBook
from specscope.session.economics.turn_times import TurnTimes
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

BEGIN_SLACK_S: Final = 0.25
"""A request may be met by polling (every 0.2 s while a trace tells the cycles) or in the log this much after its
prompt ended, and a trace tells its begin up to a read later: closer together they are one request."""


@dataclass(eq=False)
class TraceBook:
    """The trace's part of an epoch.

    Attributes:
        tracing: what is probed; None: nothing.
        methods: its cycles by drafting method. times: what they took, by their turns.
        anatomy: the parts of its turns.
        copies: those of the latest seconds with a turn; bursts: the latest in which something ran; oldest first.
    """

    book: CycleBook
    tracing: TraceStarted | None = None
    methods: MethodBook = field(default_factory=MethodBook)
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
        running = self.book.current.get(e.slot)
        known = [r for r in self.book.lately(e.slot) if r.ended_at is None or e.at <= r.ended_at]
        request = next((r for r in reversed(known) if _may_be(r, e.at)), None)
        if request is None and running is not None and running.started_at > e.at + BEGIN_SLACK_S:
            return  # the begin of one that is over and that nothing else told of
        if request is None:
            request = self.book.open(e.slot, None, e.at, whole=True)
        request.begun_at = e.at
        self._owners[e.slot] = request

    def cycle(self, e: CycleTraced) -> None:
        """One cycle of a slot: of the request whose prompt ended there last, where begins are told."""
        request = self._owner(e) or self.book.at_work(e.slot, e.at)
        if request is None:
            request = self.book.open(e.slot, None, e.at, whole=False)
        if request.seen_by != "trace" and request.begun_at is None and self._tells_begins():
            request.whole = False  # its first cycles came before the probes
        if e.given_up:
            self.book.add_unverified(-e.drafted)
        self.book.add_cycle(request, e.at, e.drafted, e.accepted, "trace", replayed=e.replayed)
        if request.logged is not None:
            self.book.settle(request, e.at)  # its totals were read first, and took this cycle for plain steps
        count = None if e.method is None else self.methods.of(e.method)
        if count is not None:
            count.cycle(e.drafted, e.accepted)
        self.times.cycle(e, request, count)

    def _owner(self, e: CycleTraced) -> Request | None:
        owner = self._owners.get(e.slot)
        if owner is None or owner.ended_at is None or e.at <= owner.ended_at + BEGIN_SLACK_S:
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


def _may_be(request: Request, begun_at: float) -> bool:
    """Whether a request is the one whose prompt ended at ``begun_at``.

    It is not when a begin or a cycle of it was traced already, or its first token was seen well before.
    """
    if request.begun_at is not None or request.seen_by == "trace":
        return False
    if request.first_token_at is not None:
        return request.first_token_at >= begun_at - BEGIN_SLACK_S
    if request.whole:
        return True
    unseen = not request.decoded and request.last_step_at is None
    return unseen or request.started_at >= begun_at - BEGIN_SLACK_S
