"""What a narrower draft limit saves beside rows to verify: most drafters draft their whole width in every cycle.

When a request ends or a later stage cuts a draft, the target verifies fewer rows, and the drafter has done all its
work all the same. A cycle that was cut to n tokens therefore takes longer than one of a server whose limit is n, by
what the drafter then saves. Seen on b11549 (scripts/long/results/methods.md): block drafters compute n_max + 1 rows in
one pass each cycle; EAGLE-3 and MTP make n_max passes; draft-simple stops where no more tokens are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot
from typing import TYPE_CHECKING

from specscope.session.economics.cost_book import PLAIN
from specscope.session.economics.state import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.economics.cost_model import Strata
    from specscope.session.economics.state import CostPoint, DraftedBy


@dataclass(frozen=True)
class DraftPass:
    """The drafter's work in one cycle.

    Attributes:
        by: how it grows with width.
        width: the limit in force.
        ms: what drafting takes at that limit; None: it makes narrower drafts for less, so that nothing is to be taken
            off the cycles that had them.
    """

    by: DraftedBy
    width: int
    ms: Span | None

    def saved(self, n_max: int, like: float | None = None) -> Span:
        """Milliseconds that a limit of ``n_max`` saves.

        One pass of fewer rows costs no more, and no less than its share of the rows; ``like`` is that ratio for the
        target's rows, which the drafter's layers resemble. One pass for each token costs its share of the passes, or
        with MTP's several heads, which compute earlier rows again, its square.
        """
        if self.ms is None or n_max >= self.width or self.by == "table":
            return Span(0.0, 0.0, 0.0)
        part = n_max / self.width
        if self.by == "token":
            least, usual, most = part * part, part, (n_max + 1) / (self.width + 1)
        else:
            least, most = (n_max + 1) / (self.width + 1), 1.0
            usual = max(least, min(most, like)) if like is not None else (least + most) / 2
        return Span(self.ms.value * (1 - usual), self.ms.low * (1 - most), self.ms.high * (1 - least))

    def cut(self, point: CostPoint, drafting_ms: float, verified_ms: float) -> CostPoint:
        """A cycle whose draft was cut to a width, as one of a server whose limit that is."""
        like = (point.ms - drafting_ms) / verified_ms if verified_ms > 0 else None
        saved = self.saved(point.width, like)
        ms = point.ms - saved.value
        low = ms - hypot(point.ms - point.low, saved.high - saved.value)
        high = ms + hypot(point.high - point.ms, saved.value - saved.low)
        return replace(point, ms=ms, low=max(1e-6, low), high=high, how="cut")


def drafting_span(told_ms: float | None, seen: Sequence[CostPoint], strata: Strata) -> Span | None:
    """What drafting takes of a cycle; None: nothing bounds it.

    Args:
        told_ms: by the trace or the log's statistics.
        seen: cycle times by width.
        strata: with the time of a step without a draft: drafting takes no more than what the narrowest cycle takes
            beyond it. Of that, half is said and all is possible (the lab's quick and paying pair: 54 and 57 %).
    """
    if told_ms is not None:
        return Span(told_ms, told_ms, told_ms)
    if not seen:
        return None
    step_ms = next((f.ms for f in strata.fits if f.width == PLAIN), 0.0)
    most = max(0.0, min(p.ms for p in seen) - step_ms)
    return Span(most / 2, 0.0, most)


def at_own_limit(
    seen: tuple[CostPoint, ...], drafter: DraftPass, *, steady: bool
) -> tuple[tuple[CostPoint, ...], str | None]:
    """Cycle times of cut drafts as those of servers whose limit is that width, and what that takes for granted."""
    today = drafter.width
    if all(p.width >= today for p in seen):
        return seen, None
    if not steady:
        why = "a draft cut at a request's end makes a device build its graph anew: its time is left out"
        return tuple(p for p in seen if p.width >= today), why
    if drafter.ms is None:
        return seen, None
    ms = drafter.ms
    verified = next((p.ms for p in seen if p.width == today), 0.0) - ms.value
    known = "its own time" if ms.low == ms.high else "half of the time that it can take"
    why = f"the drafter drafts all {today} of a draft that is cut: {known} is made less by width"
    return tuple(drafter.cut(p, ms.value, verified) if p.width < today else p for p in seen), why
