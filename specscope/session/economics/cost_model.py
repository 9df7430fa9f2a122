"""Cycle time by width at one depth: what was seen, made monotone, and what lies between."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, hypot, log, sqrt
from typing import TYPE_CHECKING, Final

from specscope.session.economics.batches import Z95, below, t95
from specscope.session.economics.cost_book import PLAIN
from specscope.session.economics.state import CostPoint, PlainPoint, Span
from specscope.session.economics.strata import LEAST_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from specscope.session.economics.cost_book import Cell, Key
    from specscope.session.economics.draft_pass import DraftPass
    from specscope.session.economics.strata import Fit, Strata

KERNEL_ROWS: Final = 8
"""Rows up to which CUDA multiplies by the mat-vec kernels (ggml-cuda MMVQ_MAX_BATCH_SIZE, llama.cpp b11434): a draft
of 7 and the last token are 8 rows, a draft of 8 is the first beyond."""


REPEAT: Final = 0.041
"""Standard deviation of a run's times beside another run of the same server, as a share: published repeat-to-repeat
noise is 4.1 % (another card: 14.7 %), and no run's own scatter tells of it."""


def plain_points(cells: Mapping[Key, Cell], slots: int) -> tuple[PlainPoint, ...]:
    """Plain decode time by depth, where there are steps enough."""
    points: list[PlainPoint] = []
    for key, cell in sorted(cells.items(), key=lambda kv: kv[1].depth):
        mean = cell.times.mean() if key.width == PLAIN and key.slots == slots else None
        if mean is not None and mean.n >= LEAST_STEPS:
            half = t95(mean.freedom) * mean.se
            depth = None if key.band is None else cell.depth
            points.append(PlainPoint(depth, mean.value, below(mean.value, half), mean.value + half, mean.n))
    return tuple(points)


def of_another_run(ms: float, low: float, high: float) -> tuple[float, float]:
    """The ends of an interval that was seen in another run, as this one may take them."""
    return below(ms, hypot(ms * (ms / low - 1), Z95 * REPEAT * ms)), ms + hypot(high - ms, Z95 * REPEAT * ms)


def seen_costs(strata: Strata) -> tuple[CostPoint, ...]:
    """Cycle time at the widths seen here, as they were."""
    return tuple(_point(f) for f in strata.fits if f.width != PLAIN)


def with_recorded(own: Iterable[CostPoint], recorded: Iterable[CostPoint]) -> tuple[CostPoint, ...]:
    """Cycle time by draft limit, of this run and of others, never falling with width.

    A width seen in cycles that were not cut goes before one that was recorded, a recorded one before one that was cut.
    """
    points: dict[int, CostPoint] = {}
    for p in recorded:
        low, high = of_another_run(p.ms, p.low, p.high)
        if p.cycles and (p.width not in points or high - low < points[p.width].high - points[p.width].low):
            points[p.width] = replace(p, low=low, high=high, how="recorded")
    for p in own:
        if p.how == "seen" or p.width not in points:
            points[p.width] = p
    return _never_falling([points[w] for w in sorted(points)])


def _never_falling(points: Sequence[CostPoint]) -> tuple[CostPoint, ...]:
    """Neighbours that fall are pooled, and each keeps the interval of its own cycles.

    Isotonic regression by pooling adjacent violators: R. Barlow et al., Statistical Inference under Order
    Restrictions, 1972.
    """
    values = pooled([(p.ms, 1 / max(p.high - p.low, 1e-6 * p.ms) ** 2) for p in points])
    return tuple(
        replace(p, ms=ms, low=min(p.low, ms), high=max(p.high, ms)) for p, ms in zip(points, values, strict=True)
    )


def _point(fit: Fit) -> CostPoint:
    half = t95(fit.freedom) * fit.se
    return CostPoint(fit.width, fit.ms, below(fit.ms, half), fit.ms + half, fit.n, "seen")


def mean_cost(strata: Strata, cycles: Mapping[int, int]) -> Span | None:
    """Mean time of a cycle, all widths as they came; None before the first width with steps enough.

    ``cycles``: how many there were of each width; those too rare to be timed are left out.
    """
    fits = [(f, cycles[f.width]) for f in strata.fits if cycles.get(f.width)]
    n = sum(count for _, count in fits)
    if not n:
        return None
    captured = {f.width: f for f in strata.captured}
    total = variance = 0.0
    for fit, count in fits:
        dear = captured.get(fit.width)
        share = min(1.0, dear.n / count) if dear is not None else 0.0
        total += count * ((1 - share) * fit.ms + share * (dear.ms if dear is not None else 0.0))
        variance += (count * hypot((1 - share) * fit.se, share * (dear.se if dear is not None else 0.0))) ** 2
    half = t95(sum(f.freedom for f, _ in fits)) * sqrt(variance) / n
    return Span(total / n, below(total / n, half), total / n + half)


def pooled(values: list[tuple[float, float]]) -> list[float]:
    """The nearest sequence that never falls, of (value, weight)."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in values:
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, wa, na), (b, wb, nb) = blocks[-2:]
            blocks[-2:] = [((a * wa + b * wb) / (wa + wb), wa + wb, na + nb)]
    return [value for value, _, count in blocks for _ in range(count)]


@dataclass(frozen=True)
class CostCurve:
    """Cycle time at any width, as far as it is known.

    Attributes:
        points: known ones, by width.
        least: what a cycle takes at least, whatever its width (plain decode time or the bandwidth bound), and what
            that is: below the narrowest width seen, cost lies between it and that width's.
        drafter: of cycles whose widths vary by the drafter's choice, what a lower limit saves it.
        kernel_step: CUDA's kernels may compute them.
    """

    points: tuple[CostPoint, ...]
    least: tuple[float, float] | None = None
    drafter: DraftPass | None = None
    kernel_step: bool = True
    _known: dict[int, CostPoint | None] = field(default_factory=dict["int", "CostPoint | None"])

    def at(self, width: int) -> CostPoint | None:
        """The cost of a width; None beyond the widest known, and below the narrowest where nothing bounds it.

        Between two known ones it lies within their intervals, since cost does not fall with width; the figure in the
        middle of that is a straight line, and only the interval is a claim.
        """
        if width not in self._known:
            self._known[width] = self._find(width)
        return self._known[width]

    def _find(self, width: int) -> CostPoint | None:
        below = max((p for p in self.points if p.width <= width), key=lambda p: p.width, default=None)
        above = min((p for p in self.points if p.width >= width), key=lambda p: p.width, default=None)
        if below is not None and below.width == width:
            return below
        if above is None:
            return None
        if below is None:
            if self.least is None:
                return None
            below = CostPoint(0, self.least[0], self.least[1], self.least[0], 0, "between")
        share = (width - below.width) / (above.width - below.width)
        ms = exp((1 - share) * log(below.ms) + share * log(max(above.ms, below.ms)))
        step = self.kernel_step and below.width < KERNEL_ROWS <= above.width
        low, high = min(below.low, above.low, ms), max(below.high, above.high, ms)
        return CostPoint(width, ms, low, high, 0, "suggested" if step else "between")

    def mean(self, shares: Mapping[int, float], n_max: int) -> CostPoint | None:
        """The mean cost of cycles with these widths at a limit; None where one of them is not known."""
        parts = [(self.at(w), share) for w, share in shares.items()]
        known = [(p, share) for p, share in parts if p is not None]
        if len(known) < len(parts) or not known:
            return None
        widest = max((p for p, _ in known), key=lambda p: p.width)
        if len(known) > 1:
            ms, low, high = (sum(getattr(p, name) * share for p, share in known) for name in ("ms", "low", "high"))
            widest = CostPoint(widest.width, ms, low, high, sum(p.cycles for p, _ in known), widest.how)
        if self.drafter is None:
            return widest
        saved, (ms, low, high) = self.drafter.saved(n_max), (widest.ms, widest.low, widest.high)
        return replace(
            widest,
            ms=ms - saved.value,
            low=max(1e-6, ms - saved.value - hypot(ms - low, saved.high - saved.value)),
            high=ms - saved.value + hypot(high - ms, saved.value - saved.low),
        )
