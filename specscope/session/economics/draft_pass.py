"""What a narrower draft limit saves beside rows to verify.

Where a request ends a draft is cut, and the target verifies fewer rows. Such a cycle takes longer than one of a server
whose limit is that width, for two reasons. Most drafters have drafted their whole width all the same (seen on b11549,
scripts/long/results/methods.md: block drafters compute n_max + 1 rows in one pass each cycle; EAGLE-3 and MTP make
n_max passes; draft-simple stops where no more tokens are wanted). And llama.cpp reuses the graph of the step before
only where it has as many rows: one of another width is built anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot
from typing import TYPE_CHECKING, Final

from specscope.session.economics.cost_book import PLAIN
from specscope.session.economics.state import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.events import ModelRead
    from specscope.session.economics.state import CostPoint, DraftedBy
    from specscope.session.economics.strata import Strata


REBUILT_MS: Final = (0.07, 0.2)
"""Milliseconds that a layer, the drafter's too, adds to the building of a graph: as it is taken, and at most; at least
it is nothing, where building overlaps with the device's work. On two cores a cycle of the lab's quick pair (9 layers)
took 0.8 ms longer than that of its own limit when what the drafter saves is taken off (0.09 a layer), on an H200 (37
layers) 2 ms (0.055; scripts/long/results/sweep.md)."""


@dataclass(frozen=True)
class DraftPass:
    """The drafter's work in one cycle.

    Attributes:
        by: how it grows with width.
        width: the limit in force.
        ms: what drafting takes at that limit; None: it makes narrower drafts for less, so that nothing is to be taken
            off the cycles that had them.
        rebuilt: what building the graph anew takes; None: nothing tells.
    """

    by: DraftedBy
    width: int
    ms: Span | None
    rebuilt: Span | None = None

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

    def cut(self, point: CostPoint, whole_ms: float) -> CostPoint:
        """A cycle whose draft was cut, as if its width were the limit; ``whole_ms``: of one that was not cut."""
        drafting_ms, rebuilt = self.ms.value if self.ms is not None else 0.0, rebuilt_in(point.ms, self.rebuilt)
        verified_ms = point.ms - drafting_ms - rebuilt.value
        like = verified_ms / (whole_ms - drafting_ms) if whole_ms > drafting_ms else None
        saved = self.saved(point.width, like)
        ms = max(1e-6, point.ms - saved.value - rebuilt.value)
        low = hypot(point.ms - point.low, saved.high - saved.value, rebuilt.high - rebuilt.value)
        high = hypot(point.high - point.ms, saved.value - saved.low, rebuilt.value - rebuilt.low)
        return replace(point, ms=ms, low=max(1e-6, ms - low), high=ms + high, how="cut")


def rebuilding(*models: ModelRead | None) -> Span | None:
    """What it takes to build the graphs of a target and its drafter; None where the target's layers are not known."""
    target, *others = (model.n_layer if model is not None else None for model in models)
    if target is None:
        return None
    layers = target + sum(n or 0 for n in others)
    return Span(REBUILT_MS[0] * layers, 0.0, REBUILT_MS[1] * layers)


def rebuilt_in(step_ms: float, rebuilt: Span | None) -> Span:
    """What of one step's time was the building of a graph: no more than half of it."""
    if rebuilt is None:
        return Span(0.0, 0.0, 0.0)
    return Span(min(rebuilt.value, step_ms / 4), 0.0, min(rebuilt.high, step_ms / 2))


def drafting_span(told_ms: float | None, seen: Sequence[CostPoint], strata: Strata) -> Span | None:
    """What drafting takes of a cycle; None: nothing bounds it.

    Args:
        told_ms: by the trace or the log's statistics.
        seen: cycle times by width.
        strata: with the time of a step without a draft: drafting takes no more than what the narrowest cycle takes
            beyond it. Of that, two thirds are said and all is possible (the lab's pairs: 54 to 85 %).
    """
    if told_ms is not None:
        return Span(told_ms, told_ms, told_ms)
    if not seen:
        return None
    step_ms = next((f.ms for f in strata.fits if f.width == PLAIN), 0.0)
    most = max(0.0, min(p.ms for p in seen) - step_ms)
    return Span(most * 2 / 3, 0.0, most)


def at_own_limit(seen: tuple[CostPoint, ...], drafter: DraftPass) -> tuple[tuple[CostPoint, ...], tuple[str, ...]]:
    """Cycle times of cut drafts as those of servers whose limit is that width, and what that takes for granted."""
    today = drafter.width
    if all(p.width >= today for p in seen):
        return seen, ()
    anew = "a draft that is cut makes the server build its graph anew"
    if drafter.rebuilt is None:
        return tuple(p for p in seen if p.width >= today), (f"{anew}: such cycles are left out",)
    why = [f"{anew}: {drafter.rebuilt.value:.1f} ms by the number of layers, {drafter.rebuilt.high:.1f} at most"]
    if drafter.ms is not None:
        known = "its own time" if drafter.ms.low == drafter.ms.high else "two thirds of the most that it can take"
        why.append(f"the drafter drafts all {today} of a draft that is cut: {known} is counted less with fewer rows")
    whole_ms = next((p.ms for p in seen if p.width == today), 0.0)
    return tuple(drafter.cut(p, whole_ms) if p.width < today else p for p in seen), tuple(why)
