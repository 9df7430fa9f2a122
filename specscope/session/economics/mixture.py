"""Whether figures with known errors are of one kind or of two."""

from __future__ import annotations

from itertools import accumulate
from math import exp, log, sqrt
from typing import Final, NamedTuple

LEAST: Final = 12
"""Figures before two kinds are looked for: four parameters of two kinds, three figures for each."""

LEAST_EACH: Final = 4
"""Figures of each kind: fewer are strays of the other."""

STRONG: Final = 10.0
"""By how much the Bayesian information criterion must favour two: very strong evidence (R. Kass and A. Raftery,
Bayes factors, JASA 90, 1995)."""

APART: Final = 2.0
"""Distance of the two means in units of their spread from which a distribution has two heads (K. Ashman, C. Bird and
S. Zepf, AJ 108, 1994)."""

ROUNDS: Final = 30
"""Of expectation and maximisation; two kinds that are apart have settled after a few."""

SETTLED: Final = 1e-3
"""A mean that moves by less, in standard deviations of all figures, has settled."""

TINY: Final = 1e-9
"""Least variance, so that figures without an error divide by something."""

MOST_ODDS: Final = 500.0
"""As a logarithm: beyond it the exponential overflows, and the other kind is out of the question."""


class Observation(NamedTuple):
    """A figure and the variance of its error."""

    value: float
    variance: float


class _Two(NamedTuple):
    """Two kinds: their means, the share of the lower, the variance within a kind beyond the errors."""

    low: float
    high: float
    share: float
    more: float


def split(seen: list[Observation]) -> float | None:
    """The border between two kinds; None where one kind explains the figures as well.

    Both models let figures of one kind differ by more than their errors (requests of one kind are not alike); two
    kinds are claimed only when they are clearly better than that.
    """
    if len(seen) < LEAST:
        return None
    two = _settle(seen, _start(seen))
    if 2 * (_likelihood_of_two(seen, two) - _likelihood_of_one(seen)) - 2 * log(len(seen)) < STRONG:
        return None
    spread = sqrt(two.more + sum(o.variance for o in seen) / len(seen))
    border = (two.low + two.high) / 2
    above = sum(o.value > border for o in seen)
    if abs(two.high - two.low) < APART * spread or not LEAST_EACH <= above <= len(seen) - LEAST_EACH:
        return None
    return border


def _start(seen: list[Observation]) -> _Two:
    """The cut of the ordered figures that explains most of their variance."""
    ordered = sorted(o.value for o in seen)
    sums = list(accumulate(ordered, initial=0.0))
    many, whole = len(ordered), sums[-1]

    def explained(cut: int) -> float:
        return cut * (many - cut) * ((whole - sums[cut]) / (many - cut) - sums[cut] / cut) ** 2

    cut = max(range(LEAST_EACH, many - LEAST_EACH + 1), key=explained)
    return _Two(sums[cut] / cut, (whole - sums[cut]) / (many - cut), cut / many, 0.0)


def _settle(seen: list[Observation], two: _Two) -> _Two:
    """Expectation and maximisation, each figure weighted by its error."""
    mean = sum(o.value for o in seen) / len(seen)
    scale = sqrt(sum((o.value - mean) ** 2 for o in seen) / len(seen)) or 1.0
    for _ in range(ROUNDS):
        before = two
        two = _round(seen, two)
        if abs(two.low - before.low) + abs(two.high - before.high) < SETTLED * scale:
            break
    return two


def _round(seen: list[Observation], two: _Two) -> _Two:
    low, high, share, more = two
    odds = log(share / (1 - share))
    weight_low = weight_high = sum_low = sum_high = lower = excess = 0.0
    for value, error in seen:
        variance = error + more + TINY
        off_low, off_high = (value - low) ** 2, (value - high) ** 2
        is_low = 1 / (1 + exp(max(-MOST_ODDS, min(MOST_ODDS, (off_low - off_high) / (2 * variance) - odds))))
        lower += is_low
        weight_low += is_low / variance
        sum_low += is_low * value / variance
        weight_high += (1 - is_low) / variance
        sum_high += (1 - is_low) * value / variance
        excess += is_low * off_low + (1 - is_low) * off_high - error
    many = len(seen)
    return _Two(
        sum_low / weight_low if weight_low else low,
        sum_high / weight_high if weight_high else high,
        min(1 - 1 / many, max(1 / many, lower / many)),
        max(0.0, excess / many),
    )


def _likelihood_of_two(seen: list[Observation], two: _Two) -> float:
    total = 0.0
    for value, error in seen:
        variance = error + two.more + TINY
        parts = [
            log(share) - (value - mean) ** 2 / (2 * variance)
            for mean, share in ((two.low, two.share), (two.high, 1 - two.share))
        ]
        top = max(parts)
        total += top + log(sum(exp(p - top) for p in parts)) - log(variance) / 2
    return total


def _likelihood_of_one(seen: list[Observation]) -> float:
    """The same of one kind, at its best mean and variance."""
    more, mean = 0.0, sum(o.value for o in seen) / len(seen)
    for _ in range(4):
        more = max(0.0, sum((o.value - mean) ** 2 - o.variance for o in seen) / len(seen))
        weights = [1 / (o.variance + more + TINY) for o in seen]
        mean = sum(w * o.value for w, o in zip(weights, seen, strict=True)) / sum(weights)
    return sum(
        -((o.value - mean) ** 2) / (2 * (o.variance + more + TINY)) - log(o.variance + more + TINY) / 2 for o in seen
    )
