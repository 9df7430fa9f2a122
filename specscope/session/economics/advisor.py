"""Which draft width is best for this work, and which run would settle what is not known."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, hypot, inf, log
from typing import TYPE_CHECKING, Final

from specscope.session.economics.cost_model import KERNEL_ROWS
from specscope.session.economics.state import Span, TryNext, WidthPoint

if TYPE_CHECKING:
    from specscope.session.economics.acceptance import Acceptance
    from specscope.session.economics.cost_model import CostCurve
    from specscope.session.economics.state import CostPoint, PlainTime

WIDEST: Final = 64
"""Widths that are judged: n-gram tables draft up to 64 by default (llama.cpp b11434, --spec-ngram-*-n-max)."""

VAGUE: Final = 1.3
"""A cycle time whose interval spans more than this factor is not compared, unless even its worse end beats today's
width: repeated runs differ by up to 15 %."""

WORTH: Final = 1.03
"""A gain below this, if its interval does not leave 0 out, is none: repeated runs differ by 4 % and more. And what
another run must promise at best before it is worth making."""


CANNOT_PAY: Final = 1.05
"""Tokens a cycle up to which no width can pay: at best, if cycles took no longer than plain steps, the gain would be
hardly more than repeated runs differ by (4.1 %). On an H200 a cycle with drafts of 1 takes 1.57 plain steps (4.34 ms
beside 2.77, scripts/long/results/sweep.md)."""


@dataclass(frozen=True)
class Advice:
    """The curve and what follows from it.

    Attributes:
        tau_at_most: where no width can pay: the most tokens a cycle that one may yield.
    """

    curve: tuple[WidthPoint, ...]
    best: int | None
    gain_pct: Span | None
    sure: bool
    hidden: bool
    try_next: TryNext | None
    tau_at_most: float | None = None


@dataclass(frozen=True)
class Advisor:
    """Judges widths. A point is computed once, for each is compared with many.

    Attributes:
        today: the width in force.
        limit: the widest that can be drafted (the trained block), as far as known.
        plain_share: of the steps, those without a draft (n-gram tables that found nothing).
    """

    acceptance: Acceptance
    costs: CostCurve
    plain: PlainTime | None
    today: int
    limit: int
    plain_share: float = 0.0
    _points: dict[int, WidthPoint] = field(default_factory=dict[int, WidthPoint])
    _gains: dict[int, Span] = field(default_factory=dict[int, Span])
    _costs: dict[int, CostPoint | None] = field(default_factory=dict["int", "CostPoint | None"])

    def advise(self) -> Advice:
        """The curve from 0 to the limit, the best width on it and its gain over today's."""
        curve = tuple(self.point(n) for n in range(min(self.limit, WIDEST) + 1))
        hidden = self._hidden()
        known = [p for p in curve if p.tok_s is not None and (not self._vague(p.n_max) or self._better(p.n_max))]
        comparable, most = self._comparable([p.n_max for p in known]), self.tau_at_most()
        if most is not None and (self.plain is None or not comparable):
            return Advice(curve, 0, None, sure=True, hidden=False, try_next=None, tau_at_most=most)
        if not comparable:
            return Advice(
                curve, None, None, sure=False, hidden=hidden, try_next=self._settle(curve, None, hidden=hidden)
            )
        best = max(known, key=lambda p: (self._claim(p), -p.n_max)).n_max
        gain = self.gain(best)
        if gain.low <= 0 and gain.value < 100 * (WORTH - 1):
            best, gain = self.today, Span(0.0, 0.0, max(0.0, gain.high))
        sure = gain.low > 0 or (not hidden and all(self._worse(p) for p in curve if p.n_max != self.today))
        return Advice(curve, best, gain, sure, hidden, self._settle(curve, best, hidden=hidden), most)

    def tau_at_most(self) -> float | None:
        """The most tokens a cycle that any width may yield, where that is too little for one to pay; else None.

        A cycle verifies its draft in a forward of the target, which takes no less than that of a single token, a plain
        step. With t tokens a cycle the speedup is t x plain step / cycle, so t at most, even if drafting cost nothing
        and the rows of the draft came free. Plain steps in between (n-gram tables that found nothing) only bring it
        nearer to 1. Where t is next to nothing, no plain run is needed to tell that off is best.
        """
        most = self.acceptance.at_most(self.limit)
        return most if most < CANNOT_PAY else None

    def _comparable(self, known: list[int]) -> bool:
        """Whether there is a choice: today's width and another; of off alone it can only be said that it is better."""
        if self.today not in known or known == [self.today]:
            return False
        return known != [0, self.today] or self.today == 1 or self.gain(0).low > 0

    def point(self, n: int) -> WidthPoint:
        """One point of the curve."""
        if n not in self._points:
            self._points[n] = self._point(n)
        return self._points[n]

    def _point(self, n: int) -> WidthPoint:
        if n == 0:
            if self.plain is None:
                return WidthPoint(0, None, Span(1.0, 1.0, 1.0), 0)
            speed = Span(1000 / self.plain.ms, 1000 / self.plain.high, 1000 / max(self.plain.low, 1e-6))
            return WidthPoint(0, speed, Span(1.0, 1.0, 1.0), 0, self.plain.how)
        tau, cost = self.acceptance.tau(n), self._cost(n)
        seen = self.acceptance.seen(n)
        if tau is None or cost is None:
            return WidthPoint(n, None, tau, seen, cost.how if cost is not None else None)
        down, up = log(tau.value / tau.low), log(tau.high / tau.value)
        cheap, dear = _off(cost)
        value = 1000 * self._tokens(tau.value) / self._step(cost.ms)
        speed = Span(value, value * exp(-hypot(down, dear)), value * exp(hypot(up, cheap)))
        return WidthPoint(n, speed, tau, seen, cost.how)

    def gain(self, n: int) -> Span:
        """Percent more tokens per second than today, of two widths whose speed is known."""
        if n not in self._gains:
            self._gains[n] = Span(0.0, 0.0, 0.0) if n == self.today else self._gain(n)
        return self._gains[n]

    def _gain(self, n: int) -> Span:
        here, there = self._rate(self.today), self._rate(n)
        ratio = there / here
        drafts = self.acceptance.log_ratio_error(n, self.today)
        (cheap, dear), (cheap_now, dear_now) = self._doubt(n), self._doubt(self.today)
        low, high = ratio * exp(-hypot(drafts, dear, cheap_now)), ratio * exp(hypot(drafts, cheap, dear_now))
        return Span(100 * (ratio - 1), 100 * (low - 1), 100 * (high - 1))

    def _rate(self, n: int) -> float:
        point = self.point(n)
        return point.tok_s.value if point.tok_s is not None else 0.0

    def _cost(self, n: int) -> CostPoint | None:
        if n not in self._costs:
            self._costs[n] = self.costs.mean(self.acceptance.widths(n), n)
        return self._costs[n]

    def _doubt(self, n: int) -> tuple[float, float]:
        """How much cheaper and dearer the step may be, as logarithms of a factor."""
        if n == 0:
            return (0.0, 0.0) if self.plain is None else _off(self.plain)
        cost = self._cost(n)
        return (0.0, 0.0) if cost is None else _off(cost)

    def _vague(self, n: int) -> bool:
        cheap, dear = self._doubt(n)
        return exp(cheap + dear) > VAGUE

    def _worse(self, point: WidthPoint) -> bool:
        """Whether another width is worse than today's even at its best; wider ones that are not seen are not asked."""
        if point.tok_s is None:
            return point.n_max > self.today
        return self.gain(point.n_max).high < 0

    def _better(self, n: int) -> bool:
        """Whether a width is better than today's even at its worst."""
        return n != self.today and self.point(self.today).tok_s is not None and self.gain(n).low > 0

    def _claim(self, point: WidthPoint) -> float:
        """What may be held of a speed: of a width that was not seen, or is known vaguely, only the lower end."""
        if point.tok_s is None:
            return 0.0
        only_low = point.how in ("between", "suggested") or self._vague(point.n_max)
        return point.tok_s.low if only_low else point.tok_s.value

    def _tokens(self, tau: float) -> float:
        share = self.plain_share if self.plain is not None else 0.0
        return (1 - share) * tau + share

    def _step(self, cycle_ms: float) -> float:
        if self.plain is None:
            return cycle_ms
        return (1 - self.plain_share) * cycle_ms + self.plain_share * self.plain.ms

    # --- what to try ----------------------------------------------------------------------------------------------

    def _hidden(self) -> bool:
        """Whether a draft one longer may pay: if its every token were accepted and cost nothing more, it must gain."""
        tau = self.acceptance.tau(self.today)
        if tau is None or self.limit <= self.today or self.acceptance.width > self.today:
            return False
        return (tau.value + self.acceptance.full().high) / tau.value > WORTH

    def _settle(self, curve: tuple[WidthPoint, ...], best: int | None, *, hidden: bool) -> TryNext | None:
        """The run that would settle most: a narrower width of unknown cost, a wider one, or none at all (0).

        None where no width can pay.
        """
        if self.tau_at_most() is not None:
            return None
        narrower = self._narrower(curve, best)
        if self._off_hopes_for_most(curve, best):
            return TryNext(0, "plain decoding is known only roughly, from steps that feed the drafter")
        if narrower is not None:
            return narrower
        if self.plain is None or self.plain.how in ("with drafter", "fit", "floor"):
            return TryNext(0, "plain decoding has not been measured")
        if hidden:
            wider = min(self.limit, 2 * self.today)
            full = self.acceptance.full().value
            return TryNext(wider, f"{full:.0%} of the drafts are accepted to their end: what lies beyond is not seen")
        return None

    def _off_hopes_for_most(self, curve: tuple[WidthPoint, ...], best: int | None) -> bool:
        """Whether plain decoding, known only from steps beside a drafter, may be faster than any width can be."""
        if self.plain is None or self.plain.how != "with drafter":
            return False
        hopes = [WORTH * self._rate(best if best is not None else self.today)]
        hopes += [self._hope(p.n_max) or 0.0 for p in curve if p.n_max]
        return curve[0].tok_s is not None and curve[0].tok_s.high > max(hopes)

    def _narrower(self, curve: tuple[WidthPoint, ...], best: int | None) -> TryNext | None:
        """A width below today's whose cost is not known well and may turn the verdict."""
        top = self._rate(best if best is not None else self.today)
        unsure = [p.n_max for p in curve if 0 < p.n_max < self.today and (p.tok_s is None or self._vague(p.n_max))]
        hopeful = [n for n in unsure if self._hope(n) is None or (self._hope(n) or 0.0) > WORTH * top]
        if not hopeful or self.acceptance.at_most(self.today) < CANNOT_PAY:
            return None
        cut = any(self.point(n).how == "cut" for n in hopeful)
        known = "known only roughly, from drafts cut at requests' ends" if cut else "not seen here"
        if KERNEL_ROWS - 1 in hopeful and self.costs.kernel_step:
            why = f"the cost of verifying fewer rows is {known}; CUDA's kernels have a step above 8 rows"
            return TryNext(KERNEL_ROWS - 1, why)
        most = max(hopeful, key=lambda n: (self._hope(n) or inf, -abs(n - self.today / 2)))
        why = f"the cost of verifying fewer rows is {known}" + ("" if cut else ": drafts hardly vary in width")
        return TryNext(most, why)

    def _hope(self, n: int) -> float | None:
        """The speed of a width at the best that is possible; None: nothing bounds it."""
        tau, cost = self.acceptance.tau(n), self._cost(n)
        return None if tau is None or cost is None else 1000 * self._tokens(tau.value) / self._step(cost.low)


def _off(time: CostPoint | PlainTime) -> tuple[float, float]:
    """How far the ends of the interval are from the figure, as logarithms: (cheaper, dearer)."""
    return log(time.ms / max(time.low, 1e-9)), log(max(time.high, time.ms) / time.ms)
