"""Streams of our own: the cycles that their running totals tell, and the request each of them belongs to."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.events import StreamEnded, StreamStepped
    from specscope.session.cycle_book import CycleBook
    from specscope.session.request import Request

CHUNKS_KEPT: Final = 4096
"""Chunks of a stream that wait until its request is known; of a longer one the first cycles are not told."""

STREAMS_KEPT: Final = 256
"""Streams that are remembered, running and ended."""

BEHIND_S: Final = 0.05
"""How long after a request's end its first chunk may come: a request of one token has ended by then."""

AHEAD_S: Final = 0.5
"""How long after a stream's first chunk another source may see the request begin: an idle server is polled slowly."""


@dataclass(eq=False)
class Stream:
    """One stream: when it began, the chunks that wait for its request, then the request and its last totals.

    Attributes:
        whole: its cycles are counted from its first chunk on; lost: they are of no interest any more.
    """

    since: float
    waiting: deque[StreamStepped] = field(default_factory=deque["StreamStepped"])
    request: Request | None = None
    totals: tuple[int, int] = (0, 0)
    whole: bool = True
    lost: bool = False


@dataclass(eq=False)
class StreamBook:
    """The streams of one server, feeding what they tell into its cycle book."""

    book: CycleBook
    streams: dict[str, Stream] = field(default_factory=dict[str, Stream])

    def follow(self, before: StreamBook, *, lost: bool) -> None:
        """Streams that run while all counts begin anew: only what they add from here on counts, or nothing."""
        for name, old in before.streams.items():
            for chunk in old.waiting:
                old.totals = (chunk.drafted or 0, chunk.accepted or 0)
            self.streams[name] = Stream(old.since, totals=old.totals, whole=False, lost=lost)

    def stepped(self, e: StreamStepped) -> None:
        """A chunk: each new pair of draft totals is one cycle."""
        stream = self._stream(e)
        if self._find(stream, e.slot):
            self._tell(stream, e)
            return
        if stream.lost:
            return
        stream.waiting.append(e)
        if len(stream.waiting) > CHUNKS_KEPT:
            first = stream.waiting.popleft()
            stream.totals = (first.drafted or 0, first.accepted or 0)

    def ended(self, e: StreamEnded) -> None:
        """The final timings."""
        stream = self._stream(e)
        self._find(stream, e.slot)
        request = stream.request
        if request is None:
            return
        self._tell(stream, e)
        request.learn(e, "generated", "generated_ms", "prompt_tokens", "prompt_ms", "cached_tokens", "ttft_ms")
        if not request.outranks("stream"):  # a stronger source may be late, and tells the end itself
            self.book.settle(request, e.at)
        self.book.finish(request, e.at, e.stop or "finished")

    def _stream(self, e: StreamStepped | StreamEnded) -> Stream:
        stream = self.streams.get(e.request)
        if stream is None:
            stream = self.streams[e.request] = Stream(e.at)
            if len(self.streams) > STREAMS_KEPT:
                del self.streams[next(iter(self.streams))]
        return stream

    def _tell(self, stream: Stream, e: StreamStepped | StreamEnded) -> None:
        """Count the cycle that the totals tell beyond those before."""
        if stream.request is None or e.drafted is None or e.accepted is None:
            return
        drafted, accepted = e.drafted - stream.totals[0], e.accepted - stream.totals[1]
        if drafted > 0 and accepted >= 0:
            stream.totals = (e.drafted, e.accepted)
            self.book.add_cycle(stream.request, e.at, drafted, accepted, "stream")

    def _find(self, stream: Stream, slot: int | None) -> bool:
        """Find the request of a stream, and tell what its chunks said before it was found.

        A stream that does not name its slot (``id_slot`` is -1 in all chunks but the last in some builds) belongs
        to the only request without a stream that was at work then; where there are several, its last chunk tells.
        """
        if stream.request is not None:
            return True
        if stream.lost:
            return False
        if slot is not None and slot >= 0:
            stream.request = self._on_slot(stream, slot)
        else:
            free = [r for r in self.book.requests.values() if self._may_be(r, stream)]
            stream.request = free[0] if len(free) == 1 else None
        if stream.request is None:
            return False
        stream.request.streamed = True
        for chunk in stream.waiting:
            self._tell(stream, chunk)
        stream.waiting.clear()
        return True

    def _on_slot(self, stream: Stream, slot: int) -> Request:
        """The slot's request that was at work when the stream began; else a new one.

        Another source may have told its end before the last chunk names the slot, and even the next request; and
        polling may see it later than the stream.
        """
        free = [r for r in self.book.requests.values() if r.slot == slot and self._may_be(r, stream)]
        begun = [r for r in free if r.started_at <= stream.since]
        if free:
            return begun[-1] if begun else free[0]
        return self.book.open(slot, None, stream.since, whole=stream.whole)

    @staticmethod
    def _may_be(request: Request, stream: Stream) -> bool:
        """Whether a request was at work when a stream began, as far as the sources' different lags let it be known."""
        if request.streamed or request.started_at >= stream.since + AHEAD_S:
            return False
        return request.ended_at is None or request.ended_at >= stream.since - BEHIND_S
