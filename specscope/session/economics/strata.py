"""The timed steps of one number of slots, by draft width, corrected to one KV depth."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from specscope.session.economics.batches import Mean
    from specscope.session.economics.cost_book import Cell, Key

LEAST_STEPS: Final = 12
"""Steps before a width's time is told: more than one lot of the trimmed mean, so that no three outliers are all of
it. Its interval says how well it is known."""

LEAST_BESIDE: Final = 9
"""The same where others of that width were left out because a graph was captured: more than one lot is all it needs."""

APART: Final = 3.0
"""Standard errors by which second cycles must be dearer than later ones to be held for those that capture a graph: on
an H200 it is 40, and where nothing is captured chance reaches it once in 700 times."""


class Fit(NamedTuple):
    """Mean milliseconds of a width's steps, their standard error, how many there were, and its degrees of freedom."""

    width: int
    ms: float
    se: float
    n: int
    freedom: float


@dataclass(frozen=True)
class Strata:
    """The steps of the number of slots seen most, by width, corrected to one depth.

    Attributes:
        slots: how many.
        depth: to which the times refer; None: not seen.
        slope: milliseconds that a resident token adds to each step; None: no width was seen at two depths.
        leaks: widths lie at different depths and nothing tells what depth costs.
        captured: cycles that took longer because a graph was captured, by width; they are in no other time.
    """

    slots: int
    depth: float | None
    slope: float | None
    leaks: bool
    fits: tuple[Fit, ...]
    captured: tuple[Fit, ...] = ()


class _Seen(NamedTuple):
    width: int
    depth: float | None
    mean: Mean


def stratum(
    cells: Mapping[Key, Cell], depth: float | None, captured: Mapping[Key, Cell] | None = None
) -> Strata | None:
    """Compare widths at the same number of slots and the same depth; None before there is enough of anything.

    Depth is compared within each width: a step reads the KV cache once, however many rows it has, so that the cost
    of depth is one slope, and a width that is only seen deep (the ends of requests) is not taken for a dear one.

    ``captured``: those that may have captured a graph; where they are not dearer, they are as good as all others.
    """
    by_slots: dict[int, int] = {}
    for key, cell in cells.items():
        if key.width >= 0:
            by_slots[key.slots] = by_slots.get(key.slots, 0) + cell.steps
    if not by_slots:
        return None
    slots = max(by_slots, key=lambda s: (by_slots[s], -s))
    seen, again = _seen(cells, slots), _seen(captured or {}, slots)
    if not _dearer(again, seen):
        seen, again = seen + again, []
    placed = [s for s in seen if s.depth is not None]
    if placed and 2 * sum(s.mean.n for s in placed) >= sum(s.mean.n for s in seen):
        seen = placed
    else:
        seen, depth = [s._replace(depth=None) for s in seen], None
    return _corrected(seen, slots, depth, tuple(_pooled_by_width(again)))


def _seen(cells: Mapping[Key, Cell], slots: int) -> list[_Seen]:
    return [
        _Seen(key.width, None if key.band is None else cell.depth, mean)
        for key, cell in cells.items()
        if key.slots == slots and key.width >= 0 and (mean := cell.times.mean()) is not None
    ]


def _pooled_by_width(seen: list[_Seen]) -> list[Fit]:
    """The means of each width, whatever their depth."""
    return [_pooled(width, rows) for width, rows in _by_width(seen).items()]


def _by_width(seen: list[_Seen]) -> dict[int, list[_Seen]]:
    return {w: [s for s in seen if s.width == w] for w in sorted({s.width for s in seen})}


def _pooled(width: int, rows: list[_Seen]) -> Fit:
    """The mean over the steps of one width."""
    means = [s.mean for s in rows]
    n = sum(m.n for m in means)
    se = sqrt(sum((m.se * m.n / n) ** 2 for m in means))
    return Fit(width, sum(m.value * m.n for m in means) / n, se, n, sum(m.freedom for m in means))


def _dearer(again: list[_Seen], seen: list[_Seen]) -> bool:
    """Whether second cycles take longer than others of their width, beyond chance."""
    others = {fit.width: fit for fit in _pooled_by_width(seen)}
    pairs = [(fit, others[fit.width]) for fit in _pooled_by_width(again) if fit.width in others]
    more = sum(a.n * (a.ms - b.ms) for a, b in pairs)
    return more > APART * sqrt(sum((a.n * hypot(a.se, b.se)) ** 2 for a, b in pairs)) > 0


def _corrected(seen: list[_Seen], slots: int, depth: float | None, captured: tuple[Fit, ...]) -> Strata:
    groups = _by_width(seen)
    slope, slope_se = _slope(groups.values()) if depth is not None else (None, 0.0)
    fits: list[Fit] = []
    depths: list[float] = []
    for width, rows in groups.items():
        fit = _pooled(width, rows)
        if depth is not None:
            off = depth - sum((s.depth or 0.0) * s.mean.n for s in rows) / fit.n
            depths.append(off)
            fit = fit._replace(ms=fit.ms + (slope or 0.0) * off, se=hypot(fit.se, slope_se * off))
        least = LEAST_BESIDE if any(f.width == width for f in captured) else LEAST_STEPS
        if fit.n >= least and fit.ms > 0:
            fits.append(fit)
    leaks = slope is None and bool(depths) and max(depths) - min(depths) > 1024  # noqa: PLR2004  a band of depth
    return Strata(slots, depth, slope, leaks, tuple(fits), captured)


def _slope(groups: Iterable[list[_Seen]]) -> tuple[float | None, float]:
    """Milliseconds per resident token, and its standard error: by width, never across widths."""
    across = along = noise = 0.0
    for rows in groups:
        if len(rows) < 2:  # noqa: PLR2004  one depth has no slope
            continue
        n = sum(s.mean.n for s in rows)
        middle = sum((s.depth or 0.0) * s.mean.n for s in rows) / n
        for s in rows:
            off = (s.depth or 0.0) - middle
            across += s.mean.n * off * off
            along += s.mean.n * off * s.mean.value
            noise += (s.mean.n * off * s.mean.se) ** 2
    if not across:
        return None, 0.0
    return max(0.0, along / across), sqrt(noise) / across
