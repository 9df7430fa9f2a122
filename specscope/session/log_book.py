"""What the log tells of requests and cycles, feeding the cycle book."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from specscope.events import RequestLogged
from specscope.session.graphs import GraphBook
from specscope.session.request import LATE_S
from specscope.session.tally import Tally

if TYPE_CHECKING:
    from specscope.events import CycleLogged, LogSaid, RequestLaunched, SlotReleased
    from specscope.session.cycle_book import CycleBook
    from specscope.session.request import Request


@dataclass(eq=False)
class LogBook:
    """The log's part of an epoch."""

    book: CycleBook
    graphs: GraphBook = field(default_factory=GraphBook)

    def launched(self, e: RequestLaunched) -> None:
        """The log's ``processing task`` line: the prompt ends after it."""
        request = self.book.open(e.slot, e.task, e.at, whole=True, begun="after")
        request.room = request.room._replace(similarity=e.similarity)

    def said(self, e: LogSaid) -> None:
        """A line that may be about a request, which it then names by slot and task."""
        slot, task = e.fields.get("slot", ""), e.fields.get("task", "")
        request = self.book.named(int(slot), int(task)) if slot.isdecimal() and task.isdecimal() else None
        if request is not None:
            request.room = request.room.heard(e.code)

    def cycle(self, e: CycleLogged) -> None:
        """An ``accepted a/w`` line; a chain of restore lines and its final line is one cycle.

        The width is the first line's; the accepted length is the final line's, less the one token that the
        replay verified as its own draft (llama.cpp server-context.cpp, spec_is_replay).
        """
        book = self.book
        request = book.open(e.slot, e.task, e.at, whole=False)
        if request.chain_counted and request.chain_width is not None:  # not cancelled: another source was faster
            request.chain_counted = False
            book.count(request, Tally(unverified=-request.chain_width))
        if e.restored:
            if request.chain_width is None:
                request.chain_width = e.drafted
            return
        drafted, accepted, replayed = e.drafted, e.accepted, request.chain_width is not None
        if request.chain_width is not None:
            drafted, accepted = request.chain_width, max(0, e.accepted - 1)
            request.chain_width = None
        book.add_cycle(request, e.at, drafted, accepted, "log", replayed=replayed)

    def totals(self, e: RequestLogged) -> None:
        """The server's totals of a finished request."""
        book, request = self.book, self._ended(e)
        self.graphs.logged(e, request, book)
        request.logged = e
        request.learn(e, "prompt_tokens", "prompt_ms", "generated", "generated_ms")
        if request.seen_by == "polled" and not e.drafted and not request.tally.accepted and e.generated is not None:
            book.take_back(request, e.at)  # the server drafted nothing: polling took its plain steps for cycles
            request.seen_by = None
        book.settle(request, e.at)
        book.finish(request, e.at)
        limit = request.asked.limit
        if request.stop == "finished" and limit is not None and limit > 0 and request.generated == limit:
            request.stop = "limit"

    def released(self, e: SlotReleased) -> None:
        """The log's ``stop processing`` line."""
        request = self._ended(e)
        request.room = request.room._replace(truncated=e.truncated)
        self.book.finish(request, e.at)

    def _ended(self, e: RequestLogged | SlotReleased) -> Request:
        """The request that the log tells the end of; what a trace saw begin after it is another's."""
        book = self.book
        request = book.open(e.slot, e.task, e.at, whole=False)
        if request.begun_at is not None and request.begun_at > e.at:
            traced, request = request, book.end_apart(request, e.at)
            book.find_name(traced)
        if request.begun_at is None and request.whole and isinstance(e, RequestLogged) and e.generated:
            self._find_begin(request, e)
        return book.named(e.slot, e.task) or request

    def _find_begin(self, request: Request, e: RequestLogged) -> None:
        """One that generated tokens has begun before its end, and before any later task did.

        A trace has told that under no name, or under that of a later task, or not at all.
        """
        book = self.book
        begun_at = -math.inf if e.generated_ms is None else e.at - e.generated_ms / 1000
        nameless = book.first_nameless(e.slot, e.task, begun_at - LATE_S, e.at)
        if nameless is not None:
            book.join(request, nameless)
            return
        after = ((r, r.begun_at) for r in book.lately(e.slot) if r.task is not None and r.task > e.task)
        taken = next((r for r, at in after if at is not None and at <= e.at), None)
        if taken is not None:
            book.pass_on(taken, e.at)
            book.find_name(taken)
