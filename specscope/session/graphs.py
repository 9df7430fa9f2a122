"""How many of the target's forwards took the graph of the one before instead of building theirs.

The log's count is of the server's whole life, so that what lies between two requests is of the second one, if that ran
alone. Forwards of its prompt are not counted, and hardly ever reuse one; those of a request that was cancelled between
the two are not known. Both make the share too large, never too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from specscope.session.request import LATE_S

if TYPE_CHECKING:
    from specscope.events import RequestLogged
    from specscope.session.request import Request
    from specscope.session.request_book import RequestBook


class GraphReuse(NamedTuple):
    """Forwards of the target in so many requests, and how many of them reused a graph."""

    forwards: int
    reused: int
    requests: int

    @property
    def share(self) -> float:
        """Of all forwards, those that reused one, 0..1."""
        return min(1.0, self.reused / self.forwards)


@dataclass(eq=False)
class GraphBook:
    """The running account of one server process."""

    _forwards: int = 0
    _reused: int = 0
    _requests: int = 0
    _before: RequestLogged | None = None

    def logged(self, e: RequestLogged, request: Request, book: RequestBook) -> None:
        """A request's totals: count it, if nothing else ran since the totals before.

        Args:
            e: the totals.
            request: whose; it may have ended already.
            book: all requests.
        """
        if e.graphs_reused is None:
            return
        others = any(other is not request for other in book.current.values())
        before, self._before = self._before, None if others else e
        if others or before is None or before.graphs_reused is None or not e.generated:
            return
        reused = e.graphs_reused - before.graphs_reused
        if reused < 0 or not request.whole or request.started_at < before.at - LATE_S:
            return
        self._forwards += e.generated - (e.accepted or 0)
        self._reused += reused
        self._requests += 1

    def view(self) -> GraphReuse | None:
        """What is known; None before the second request."""
        return GraphReuse(self._forwards, self._reused, self._requests) if self._forwards > 0 else None
