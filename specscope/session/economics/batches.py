"""A mean of many values that outliers do not move, with a standard error that knows of their correlation."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

LOT: Final = 8
"""Values judged together: their median stands against three outliers among them."""

TRIM: Final = 2.0
"""Of the lot's median: a value beyond it or below its inverse is left out. A cycle's time varies by a few tens of
percent (12.4-14.8 ms around 13 on an H200); a pause, a clock step or a prompt in between is several times as long."""

STRAYED: Final = 2.0
"""Of the median of all batches: a batch whose own median is beyond it is left out (the machine slept)."""

MOST: Final = 32
"""Batches kept; when there are more, pairs are merged, so that batches grow with the run and memory does not."""

LARGEST: Final = 512
"""Values of a batch; from there on the oldest batch is forgotten instead, so that the mean is of the latest values."""

T95: Final = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12)
"""Student's t at 97.5 % for 1, 2, .. degrees of freedom."""

Z95: Final = 1.96


def t95(freedom: float) -> float:
    """Student's t at 97.5 %; above the table its usual expansion, 1.96 + 2.4 / freedom (within 0.01)."""
    if freedom < 1:
        return T95[0]
    return T95[int(freedom) - 1] if freedom <= len(T95) else Z95 + 2.4 / freedom


def below(value: float, half: float) -> float:
    """The lower end of a positive figure's interval: as far down as up by its factor, so that it never reaches 0."""
    return value * value / (value + half)


class Share(NamedTuple):
    """A share with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(hits: float, n: float, clustering: float = 1.0) -> Share:
    """How often something happens that was seen ``hits`` of ``n`` times (E. Wilson, JASA 22, 1927).

    ``clustering``: how much larger the variance is than that of independent trials.
    """
    share, z2 = hits / n, Z95**2 * clustering
    middle, half = (share + z2 / (2 * n)), sqrt(z2 * (share * (1 - share) + z2 / (4 * n)) / n)
    return Share(share, (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n))


class Mean(NamedTuple):
    """A mean, its standard error, the values it rests on, degrees of freedom of the error, variance of one value."""

    value: float
    se: float
    n: int
    freedom: float
    variance: float


class _Lot(NamedTuple):
    n: int
    total: float
    squares: float
    middle: float


@dataclass(eq=False)
class Batches:
    """Values in the order in which they came, in batches.

    The spread of the batches' means gives the standard error: values that follow one another depend on each other
    (clocks, text that is easy for a while), and an error from single values would be too small. Batch means: C.
    Alexopoulos and D. Goldsman, "To batch or not to batch", ACM TOMACS 14 (2004).

    Attributes:
        robust: outliers are left out; for counts (accepted lengths) they are not.
        lot: values judged together.
        dropped: values left out so far.
    """

    robust: bool = True
    lot: int = LOT
    dropped: int = 0
    _fresh: list[float] = field(default_factory=list[float])
    _kept: list[_Lot] = field(default_factory=list["_Lot"])
    _size: int = LOT
    _mean: Mean | None = None

    def add(self, value: float) -> None:
        """Take in a value."""
        self._mean = None
        self._fresh.append(value)
        if len(self._fresh) >= self.lot:
            self.take(self._fresh)

    def take(self, values: list[float] | list[int]) -> None:
        """Take in a whole lot; the list is empty then, for the next."""
        self._mean = None
        lot = self._lot(values)
        self.dropped += len(values) - lot.n
        values.clear()
        kept = self._kept
        if kept and kept[-1].n + self.lot // 2 < self._size:
            kept[-1] = _merged(kept[-1], lot)
            return
        kept.append(lot)
        if len(kept) <= MOST:
            return
        if self._size < LARGEST:
            self._kept = [_merged(a, b) for a, b in zip(kept[::2], kept[1::2], strict=False)]
            self._kept.extend(kept[len(kept) // 2 * 2 :])
            self._size *= 2
        else:
            del kept[0]

    def _lot(self, values: list[float] | list[int], usual: float | None = None) -> _Lot:
        """Values judged together; ``usual``: what they are judged by, where they are too few for a median."""
        middle = 0.0
        if self.robust:
            middle = usual if usual is not None else _median(values)
            values = [v for v in values if middle <= v * TRIM and v <= middle * TRIM]
        return _Lot(len(values), sum(values), sum(v * v for v in values), middle)

    def mean(self) -> Mean | None:
        """The mean so far; None below two values. Computed again only when something has come."""
        if self._mean is None:
            self._mean = self._compute()
        return self._mean

    def _compute(self) -> Mean | None:
        lots = self._kept
        if self.robust and lots:
            usual = _median(lot.middle for lot in lots for _ in range(max(1, lot.n // LOT)))
            lots = [lot for lot in lots if usual <= lot.middle * STRAYED and lot.middle <= usual * STRAYED]
            lots = [*lots, self._lot(self._fresh, usual)]
        else:
            lots = [*lots, self._lot(self._fresh)]
        n = sum(lot.n for lot in lots)
        if n < 2:  # noqa: PLR2004  no spread in one
            return None
        value = sum(lot.total for lot in lots) / n
        within = max(0.0, sum(lot.squares for lot in lots) - n * value * value) / (n - 1)
        full = [lot for lot in lots if 2 * lot.n >= self._size]
        return _with_error(value, within, n, full)


def _with_error(value: float, within: float, n: int, full: list[_Lot]) -> Mean:
    """By the batches where there are enough of them; else by the single values, as if they were independent."""
    by_values = Mean(value, sqrt(within / n), n, n - 1, within)
    if len(full) < 4:  # noqa: PLR2004  the spread of three says next to nothing
        return by_values
    between = sum(lot.n * (lot.total / lot.n - value) ** 2 for lot in full) / (len(full) - 1)
    if between <= within:
        return by_values
    return Mean(value, sqrt(between / n), n, len(full) - 1, within)


def _median(values: Iterable[float]) -> float:
    """The upper median; 0 of nothing."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0.0


def _merged(a: _Lot, b: _Lot) -> _Lot:
    n = a.n + b.n
    middle = (a.middle * a.n + b.middle * b.n) / n if n else a.middle
    return _Lot(n, a.total + b.total, a.squares + b.squares, middle)
