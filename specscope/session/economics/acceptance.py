"""Tokens per cycle at other draft widths, from what became of the drafts seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from math import hypot, sqrt
from typing import TYPE_CHECKING, Final

from specscope.session.economics.batches import t95, wilson
from specscope.session.economics.state import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.session.economics.batches import Mean

REGULAR: Final = 0.02
"""Share of the cycles that must be at least so wide for a width to be today's: wider ones are strays (n-gram hits)."""

LEAST_CYCLES: Final = 100
"""Cycles before anything is told: with an accepted length's standard deviation near its mean, tau is then known to
about a fifth at 95 %."""

BY_ENDS: Final = 1.5
"""Narrow cycles of a request, as a multiple of width / tau, that its end explains: the last ``width`` tokens of a
request take so many cycles, each cut to what is left. More of them are the drafter's own choice (p_min, n-grams)."""


@dataclass(eq=False)
class Acceptance:
    """Cycles by (width, accepted).

    A draft cut to n tokens is the first n of the longer draft, so that a narrower limit would have given
    ``min(accepted, n)``. Where drafts are short only because requests end, the rate of each position comes from the
    cycles that reached it (E. Kaplan and P. Meier, JASA 53, 1958), so that a run of short requests tells what full
    widths give. Where the drafter itself stops early that would be wrong (it stops where it expects a rejection), and
    the lengths themselves are cut instead.

    Attributes:
        clustering: how much larger the variance of mean accepted lengths is than that of independent cycles.
        requests: that began, to judge what their ends explain.
        wider: cycles of a recorded run whose drafts were longer, for the positions beyond; they change no verdict
            on why drafts are short.
        own: cycles of this run.
        width: the widest that drafts regularly have; ``today`` without the recorded ones.
    """

    joint: Mapping[tuple[int, int], int]
    clustering: float = 1.0
    requests: int = 1
    wider: Mapping[tuple[int, int], int] = field(default_factory=dict["tuple[int, int]", int])
    own: Mapping[tuple[int, int], int] = field(init=False)
    width: int = field(init=False, default=0)
    today: int = field(init=False, default=0)
    cycles: int = field(init=False, default=0)
    chosen: bool = field(init=False, default=False)
    _counts: dict[int, int] = field(init=False, default_factory=dict[int, int])
    _own_counts: dict[int, int] = field(init=False, default_factory=dict[int, int])
    _survived: list[float] = field(init=False, default_factory=list[float])
    _taus: dict[int, Span | None] = field(init=False, default_factory=dict["int", "Span | None"])
    _by_width: dict[int, dict[int, int]] = field(init=False, default_factory=dict["int", "dict[int, int]"])

    def __post_init__(self) -> None:
        self.joint = {key: n for key, n in self.joint.items() if key[0] > 0 and n > 0}
        self.own = self.joint
        self._counts = self._own_counts = _counts(self.own)
        self.cycles = sum(self.joint.values())
        if not self.cycles:
            return
        least = max(1.0, REGULAR * self.cycles)
        self.width = max(w for w in self._counts if self._wide(w) >= least)
        narrow = self.cycles - self._wide(self.width)
        self.chosen = narrow > BY_ENDS * max(1, self.requests) * self.width / self.mean()
        self.today = self.width
        self._join()
        self._survived = self._survivals()

    def _join(self) -> None:
        """Add the wider drafts of a recorded run, where short ones here are not the drafter's own choice."""
        wider = {key: n for key, n in self.wider.items() if key[0] > self.width}
        if self.chosen or sum(wider.values()) < LEAST_CYCLES:
            return
        self.joint = dict(self.joint)
        for key, n in wider.items():
            self.joint[key] = self.joint.get(key, 0) + n
        self._counts = _counts(self.joint)
        self.width = max(w for w in _counts(wider) if self._wide(w) >= REGULAR * sum(wider.values()))

    def _wide(self, width: int) -> int:
        return sum(n for w, n in self._counts.items() if w >= width)

    def seen(self, n_max: int) -> int:
        """Cycles that tell of drafts this wide."""
        return self._wide(n_max)

    def tau(self, n_max: int) -> Span | None:
        """Tokens per cycle with drafts of at most ``n_max``; None beyond what was drafted. At least 1."""
        if n_max not in self._taus:
            self._taus[n_max] = self._tau(n_max) if 0 < n_max <= self.width else None
        return self._taus[n_max]

    def _tau(self, n_max: int) -> Span:
        value = self._mean(n_max) if self.chosen else 1 + sum(self._survived[:n_max])
        rows = self._rows(n_max)
        n = sum(rows.values())
        mean = sum((1 + min(a, n_max)) * c for a, c in rows.items()) / n
        spread = sum((1 + min(a, n_max) - mean) ** 2 * c for a, c in rows.items()) / n
        half = t95(n / self.clustering) * sqrt(self.clustering * spread / n)
        return Span(value, max(1.0, value - half), min(1.0 + n_max, value + half))

    def at_most(self, n_max: int) -> float:
        """Tokens per cycle that drafts of up to ``n_max`` yield at most: the upper end for the best width up to it.

        Where hardly a token was accepted, the scatter of those that were says little of what may come; the share of
        the cycles that accept any has an interval all the same. A position beyond the drafts seen is reached only
        through a full draft, and accepted no more often than that is.
        """
        taus = [tau for n in range(1, min(n_max, self.width) + 1) if (tau := self.tau(n)) is not None]
        hits = sum(n for (_, a), n in self.joint.items() if a)
        any_at_all = wilson(hits, sum(self.joint.values()), self.clustering)
        value, beyond = max((tau.value for tau in taus), default=1.0), max(0, n_max - self.width)
        high = max([1 + any_at_all.high, *(tau.high for tau in taus)])
        full = self.full()
        return value + beyond * full.value + hypot(high - value, beyond * (full.high - full.value))

    def log_ratio_error(self, one: int, other: int) -> float:
        """Half of the 95 % interval of log(tau(one) / tau(other)), which the same cycles tell; widths at most today's.

        Width 0, off, gains one token each time.
        """
        if one == other:
            return 0.0
        rows = self._rows(max(one, other))
        n = sum(rows.values())
        means = [sum((1 + min(a, w)) * c for a, c in rows.items()) / n for w in (one, other)]
        spread = sum(((1 + min(a, one)) / means[0] - (1 + min(a, other)) / means[1]) ** 2 * c for a, c in rows.items())
        return t95(n / self.clustering) * sqrt(self.clustering * spread / n / n)

    def by_width(self) -> dict[int, int]:
        """Cycles of each width, of this run."""
        return self._own_counts

    def mean(self) -> float:
        """Tokens per cycle, all cycles of this run as they came."""
        return sum((a + 1) * n for (_, a), n in self.own.items()) / self.cycles

    def full(self) -> Span:
        """Share of the full drafts that were accepted to their end."""
        hits = sum(c for (w, a), c in self.joint.items() if w >= self.width and a >= self.width)
        return Span(*wilson(hits, self._wide(self.width), self.clustering))

    def widths(self, n_max: int) -> dict[int, float]:
        """Shares of the widths that cycles would have with drafts of at most ``n_max``."""
        if not self.chosen:
            return {n_max: 1.0}
        shares: dict[int, float] = {}
        for w, n in self.by_width().items():
            shares[min(w, n_max)] = shares.get(min(w, n_max), 0.0) + n / self.cycles
        return shares

    def _rows(self, n_max: int) -> dict[int, int]:
        """Cycles by accepted length: those that tell of a draft of ``n_max``."""
        least = 0 if self.chosen else n_max
        rows = self._by_width.get(least)
        if rows is None:
            rows = self._by_width[least] = {}
            for (w, a), n in self.joint.items():
                if w >= least:
                    rows[a] = rows.get(a, 0) + n
        return rows

    def _mean(self, n_max: int) -> float:
        return sum((1 + min(a, n_max)) * n for (_, a), n in self.joint.items()) / self.cycles

    def _survivals(self) -> list[float]:
        """For each position, how often it and all before it are accepted."""
        reached, kept = [0] * (self.width + 1), [0] * (self.width + 1)
        for (w, a), n in self.joint.items():
            reached[min(a, w - 1, self.width)] += n
            if a:
                kept[min(a - 1, w - 1, self.width)] += n
        survived: list[float] = []
        alive = 1.0
        for come, left in zip(_from_the_end(reached), _from_the_end(kept), strict=True):
            alive = alive * left / come if come else 0.0
            survived.append(alive)
        return survived


def _counts(joint: Mapping[tuple[int, int], int]) -> dict[int, int]:
    """Cycles by width."""
    counts: dict[int, int] = {}
    for (w, _), n in joint.items():
        counts[w] = counts.get(w, 0) + n
    return counts


def _from_the_end(counts: list[int]) -> list[int]:
    """For each index, the sum from there on."""
    return list(accumulate(reversed(counts)))[::-1]


def clustering(accepted: Mean | None) -> float:
    """How much dependence between cycles widens the interval of a mean accepted length; 1: not at all."""
    if accepted is None or accepted.variance <= 0:
        return 1.0
    return max(1.0, accepted.se**2 * accepted.n / accepted.variance)
