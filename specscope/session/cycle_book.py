"""Cycles and requests of one server since it started, told by several sources and counted once.

The strongest source that has told a cycle of a request is believed for that whole request; what a weaker one
had told of it is taken back. Weaker sources still give what the stronger lacks (KV fill, plain steps).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from specscope.session.request import Request
from specscope.session.state import Cycle
from specscope.session.tally import Tally
from specscope.session.window import Gain, Window

if TYPE_CHECKING:
    from specscope.events import CycleLogged, RequestLogged, SlotReleased, StreamEnded, StreamStepped
    from specscope.session.state import CycleSource

CYCLES_KEPT: Final = 4096
REQUESTS_KEPT: Final = 1000


@dataclass(eq=False)
class CycleBook:
    """The running account.

    Attributes:
        tally: all requests together, each by its strongest source.
        width_limit: the widest draft possible, where known; a polled step beyond it was two cycles.
        cycle_ms: the running cycle time of one slot, for judging whether two cycles hide in one polled step.
        merged: polled steps that held more than one cycle, so that none of them could be told.
        polled_cycles: cycles told by polling, whether or not a stronger source told them again.
    """

    label: str | None = None
    width_limit: int | None = None
    tally: Tally = field(default_factory=Tally)
    window: Window = field(default_factory=Window)
    cycles: deque[Cycle] = field(default_factory=lambda: deque(maxlen=CYCLES_KEPT))
    requests: OrderedDict[tuple[int, int | None], Request] = field(
        default_factory=OrderedDict["tuple[int, int | None]", Request]
    )
    slot_tallies: dict[int, Tally] = field(default_factory=dict[int, Tally])
    current: dict[int, Request] = field(default_factory=dict[int, Request])
    cycle_ms: float | None = None
    merged: int = 0
    polled_cycles: int = 0
    _next: int = 1

    # --- requests ---------------------------------------------------------------------------------------------

    def open(self, slot: int, task: int | None, at: float, *, whole: bool) -> Request:
        """The request of a slot and task; begun now if it is new. The slot's earlier one ends."""
        known = self.requests.get((slot, task))
        if known is not None:
            return known
        unnamed = self.requests.pop((slot, None), None)
        if unnamed is not None and task is not None and unnamed.ended_at is None:
            unnamed.task = task
            self.requests[slot, task] = unnamed
            return unnamed
        before = self.current.get(slot)
        if before is not None:
            self.finish(before, at)
        request = Request(slot=slot, task=task, started_at=at, whole=whole, label=self.label)
        self.requests[slot, task] = request
        self.current[slot] = request
        while len(self.requests) > REQUESTS_KEPT:
            self.requests.popitem(last=False)
        return request

    def finish(self, request: Request, at: float, stop: str = "finished") -> None:
        """End a request; a second end only adds what the first did not know."""
        if request.ended_at is None:
            request.ended_at = at
            if self.current.get(request.slot) is request:
                del self.current[request.slot]
            if request.chain_width is not None:
                self._count(request, Tally(unverified=request.chain_width))
                request.chain_width = None
        if request.stop in (None, "finished") and stop:
            request.stop = stop

    def _count(self, request: Request, change: Tally) -> None:
        request.tally.merge(change)
        self.tally.merge(change)
        self.slot_tallies.setdefault(request.slot, Tally()).merge(change)

    # --- cycles -----------------------------------------------------------------------------------------------

    def add_cycle(
        self,
        request: Request,
        at: float,
        drafted: int | None,
        accepted: int,
        seen_by: CycleSource,
        *,
        replayed: bool = False,
    ) -> None:
        """Count one cycle, told by ``seen_by``, unless a stronger source tells this request."""
        if request.outranks(seen_by):
            return
        if request.seen_by not in (None, seen_by):
            self._take_back(request)
        request.seen_by = seen_by
        gap_ms = request.note_cycle(at, accepted)
        if gap_ms is not None:
            self.cycle_ms = (
                gap_ms if self.cycle_ms is None else 0.9 * self.cycle_ms + 0.1 * min(gap_ms, 3 * self.cycle_ms)
            )
        change = Tally()
        change.add_cycle(drafted, accepted)
        self._count(request, change)
        position = request.cycle_tokens + request.tally.plain_steps if request.whole else request.decoded
        self.cycles.append(
            Cycle(
                self._next, at, request.slot, request.task or 0, drafted, accepted, gap_ms, seen_by, replayed, position
            )
        )
        self._next += 1
        width = -1 if drafted is None else drafted
        self.window.add(Gain(at, request.slot, accepted + 1, 1, gap_ms, width, accepted))

    def _take_back(self, request: Request) -> None:
        """Undo what a weaker source told of a request."""
        undone = request.tally.copy()
        request.tally = Tally()
        self.tally.merge(undone, -1)
        self.slot_tallies[request.slot].merge(undone, -1)
        request.cycle_tokens = 0
        request.last_step_at = request.first_token_at
        kept = [c for c in self.cycles if (c.slot, c.task) != (request.slot, request.task or 0)]
        self.cycles = deque(kept, maxlen=CYCLES_KEPT)
        self.window.drop(request.slot, request.started_at)

    def add_plain(self, request: Request, at: float, steps: int, *, first: bool = False, timed: bool = False) -> None:
        """Count forwards without a draft.

        Args:
            request: whose.
            at: when they had happened.
            steps: how many.
            first: the first token, which comes with the prompt's forward and takes no decoding time.
            timed: they are the request's latest steps, so that they move its clock.
        """
        if steps <= 0:
            return
        self._count(request, Tally(plain_steps=steps, tokens=steps))
        gap_ms = None
        if timed:
            gap_ms = None if request.last_step_at is None else max(0.0, (at - request.last_step_at) * 1000)
            request.last_step_at = at
        if first:
            request.first_token_at = at
            request.last_step_at = at
        else:
            self.window.add(Gain(at, request.slot, steps, steps, gap_ms, None, None))

    # --- what the log tells ---------------------------------------------------------------------------------------

    def cycle_logged(self, e: CycleLogged) -> None:
        """An ``accepted a/w`` line; a chain of restore lines and its final line is one cycle.

        The width is the first line's; the accepted length is the final line's, less the one token that the
        replay verified as its own draft (llama.cpp server-context.cpp, spec_is_replay).
        """
        request = self.open(e.slot, e.task, e.at, whole=False)
        if e.restored:
            if request.chain_width is None:
                request.chain_width = e.drafted
            return
        drafted, accepted, replayed = e.drafted, e.accepted, request.chain_width is not None
        if request.chain_width is not None:
            drafted, accepted = request.chain_width, max(0, e.accepted - 1)
            request.chain_width = None
        self.add_cycle(request, e.at, drafted, accepted, "log", replayed=replayed)

    def request_logged(self, e: RequestLogged) -> Request:
        """The server's totals of a finished request."""
        request = self.open(e.slot, e.task, e.at, whole=False)
        request.logged = e
        request.prompt_tokens = e.prompt_tokens if e.prompt_tokens is not None else request.prompt_tokens
        request.prompt_ms = e.prompt_ms
        request.generated = e.generated if e.generated is not None else request.generated
        request.generated_ms = e.generated_ms
        self.add_plain(request, e.at, request.settle_plain(), timed=True)
        self.finish(request, e.at)
        self._stopped_by_limit(request)
        return request

    def released(self, e: SlotReleased) -> None:
        """The log's ``stop processing`` line."""
        self.finish(self.open(e.slot, e.task, e.at, whole=False), e.at)

    def _stopped_by_limit(self, request: Request) -> None:
        limit = request.n_predict
        if request.stop == "finished" and limit is not None and limit > 0 and request.generated == limit:
            request.stop = "limit"

    # --- what a stream of our own tells -----------------------------------------------------------------------------

    def stream_stepped(self, e: StreamStepped) -> None:
        """A chunk of our own stream: each new pair of draft totals is one cycle."""
        request = self._of_stream(e.request, e.slot, e.at)
        if request is None or e.drafted is None or e.accepted is None:
            return
        before = request.stream_totals
        request.stream_totals = (e.drafted, e.accepted)
        if e.drafted > before[0]:
            self.add_cycle(request, e.at, e.drafted - before[0], e.accepted - before[1], "stream")

    def stream_ended(self, e: StreamEnded) -> None:
        """The final timings of our own request."""
        request = self._of_stream(e.request, e.slot, e.at)
        if request is None:
            return
        request.generated = e.generated if e.generated is not None else request.generated
        request.generated_ms = e.generated_ms if e.generated_ms is not None else request.generated_ms
        request.prompt_tokens = e.prompt_tokens if e.prompt_tokens is not None else request.prompt_tokens
        request.prompt_ms = e.prompt_ms if e.prompt_ms is not None else request.prompt_ms
        request.cached_tokens = e.cached_tokens if e.cached_tokens is not None else request.cached_tokens
        request.ttft_ms = e.ttft_ms
        self.add_plain(request, e.at, request.settle_plain(), timed=True)
        self.finish(request, e.at, e.stop or "finished")

    def _of_stream(self, stream: str, slot: int | None, at: float) -> Request | None:
        """The request a stream belongs to: by its id once known, else the running request of its slot.

        A stream that does not name its slot (``id_slot`` is -1 in some chunks) belongs to the only running
        request without a stream; where there are several it cannot be told.
        """
        for request in reversed(self.requests.values()):
            if request.stream_id == stream:
                return request
        if slot is not None and slot >= 0:
            request = self.current.get(slot)
            if request is None or request.stream_id is not None:
                request = self.open(slot, None, at, whole=True)
        else:
            free = [r for r in self.current.values() if r.stream_id is None]
            request = free[0] if len(free) == 1 else None
        if request is not None:
            request.stream_id = stream
        return request
