"""Rolling figures over the last seconds of decoding. The window ends at the last step seen, not at the present."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from specscope.session.state import Rates

if TYPE_CHECKING:
    from specscope.session.request import Request

WINDOW_S: Final = 10.0
"""Length of the window. Ten seconds hold 100-1,000 cycles of a GPU server (10-100 cycles/s): tau is then known
to about 4 % (standard deviation of an accepted length is near its mean)."""

MAX_STEPS: Final = 4096


MERGED_SHARE: Final = 0.5
"""Of the window's tokens: when more came in polled steps that may hold several cycles, no tau is told."""


STEADY_SHARE: Final = 0.9
"""Of the window's time: with more of it decoding, what was sampled in it (CPU use) tells of decoding. The rest are the
prompts between requests that follow one another at once."""


class Gain(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Tokens gained at once by one request: a cycle (drafted may be -1 for unseen), or plain steps.

    Tokens of which only their sum was seen have no ``steps``. A Struct, because a tuple with names takes four times as
    long to make.
    """

    at: float
    request: Request
    tokens: int
    steps: int
    gap_ms: float | None
    drafted: int | None
    accepted: int | None


AT: Final = attrgetter("at")


@dataclass(eq=False)
class Window:
    """The recent gains of one server."""

    gains: deque[Gain] = field(default_factory=lambda: deque(maxlen=MAX_STEPS))

    def drop(self, request: Request) -> None:
        """Forget the gains of a request (a better source will tell them again)."""
        self.gains = deque((g for g in self.gains if g.request is not request), maxlen=MAX_STEPS)

    def rates(self) -> Rates:
        """The figures of the window."""
        if not self.gains:
            return Rates()
        begin = max(map(AT, self.gains)) - WINDOW_S
        recent = sorted([g for g in self.gains if g.at > begin], key=AT)
        timed = [g for g in recent if g.gap_ms is not None]
        span = _union_s(timed)
        tokens = sum(g.tokens for g in timed) + sum(g.tokens for g in recent if g.gap_ms is None and g.drafted is None)
        steps = sum(g.steps for g in recent)
        merged = sum(g.tokens for g in recent if not g.steps)
        told = merged <= MERGED_SHARE * tokens  # else the steps that could be told are too few to speak for all
        cycles = [g for g in recent if g.accepted is not None]
        accepted = sum(g.accepted or 0 for g in cycles)
        widths = [g.drafted for g in cycles if g.drafted is not None and g.drafted >= 0]
        gaps = sorted(g.gap_ms for g in timed if g.gap_ms is not None and g.accepted is not None)
        widths_known = bool(cycles) and len(widths) == len(cycles)
        drafted = sum(widths)
        return Rates(
            tok_s=tokens / span if span > 0 else None,
            tau=sum(g.tokens for g in recent if g.steps) / steps if steps and told else None,
            tau_draft=1 + accepted / len(cycles) if cycles and told else None,
            acceptance=accepted / drafted if widths_known and drafted else None,
            width_mean=drafted / len(widths) if widths_known and widths else None,
            cycle_ms=_quantile(gaps, 0.5),
            cycle_ms_p95=_quantile(gaps, 0.95),
            span_s=span,
            steps=steps,
            busy_slots=sum(g.gap_ms or 0.0 for g in timed) / 1000 / span if span > 0 else None,
        )

    def without_pause(self, rates: Rates) -> tuple[float, float] | None:
        """Begin and end of the window when next to all of it was decoding; None when there were pauses."""
        if not self.gains or not rates.span_s:
            return None
        first, end = self.gains[0], max(map(AT, self.gains))
        begin = max(end - WINDOW_S, first.at - (first.gap_ms or 0.0) / 1000)
        return (begin, end) if rates.span_s >= STEADY_SHARE * (end - begin) else None


def _union_s(timed: list[Gain]) -> float:
    """Seconds covered by the gains' intervals, overlaps (other slots) counted once. ``timed`` is ordered by end."""
    total = 0.0
    low = float("inf")
    for gain in reversed(timed):
        start = gain.at - (gain.gap_ms or 0.0) / 1000
        end = min(gain.at, low)
        if end > start:
            total += end - start
        low = min(low, start)
    return total


def _quantile(ordered: list[float], q: float) -> float | None:
    """The q-quantile of an ordered list, nearest rank; None when it is empty."""
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else None
