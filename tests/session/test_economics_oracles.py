"""Figures that others published: what the model makes of them. What a table lacks is a stated assumption here."""

from __future__ import annotations

import pytest

from specscope.session.economics.acceptance import Acceptance
from specscope.session.economics.advisor import Advisor
from specscope.session.economics.cost_model import CostCurve, with_recorded
from specscope.session.economics.state import CostPoint, PlainTime

NOISE = 0.041
"""Assumed of each published time: repeat-to-repeat noise of 4.1 % (the smaller of two figures given elsewhere)."""

MIXED = {4: (0.4746, 34.50), 8: (0.2700, 40.54), 12: (0.2033, 42.22), 15: (0.1799, 47.20)}
"""n_max: (acceptance, tok/s). 30B dense, Q5_K_M, a 24 GB card capped at 70 W, DFlash of block 16, mixed agent work."""

MANY = 100_000


def timed(width: int, ms: float) -> CostPoint:
    return CostPoint(width, ms, ms * (1 - NOISE), ms * (1 + NOISE), 1000, "recorded")


def curve(*points: CostPoint, least: tuple[float, float] | None = None) -> CostCurve:
    return CostCurve(with_recorded((), points), least)


def full_width(width: int, survivals: list[float]) -> Acceptance:
    """Cycles that all draft ``width``, of which the share ``survivals[i]`` accepts more than i tokens."""
    alive = [1.0, *survivals, 0.0]
    return Acceptance({(width, a): round(MANY * (alive[a] - alive[a + 1])) for a in range(width + 1)})


def plain(ms: float) -> PlainTime:
    return PlainTime(ms, ms * (1 - NOISE), ms * (1 + NOISE), "recorded", "published")


def geometric(acceptance: float, width: int) -> list[float]:
    """Survival by position with one conditional rate throughout: an assumption where only a mean is published."""
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        low, high = (rate, high) if sum(rate**k for k in range(1, width + 1)) < acceptance * width else (low, rate)
    return [rate**k for k in range(1, width + 1)]


def test_a_cycle_of_full_width_gains_one_and_what_is_accepted_of_it() -> None:
    # Reported tau: 6.39.
    assert full_width(15, [0.3618] * 15).tau(15).value == pytest.approx(6.43, abs=0.01)
    taus = {n: round(full_width(n, [rate] * n).tau(n).value, 2) for n, (rate, _) in MIXED.items()}
    assert taus == {4: 2.90, 8: 3.16, 12: 3.44, 15: 3.70}


def test_two_times_predict_the_other_two() -> None:
    tau = {n: 1 + n * rate for n, (rate, _) in MIXED.items()}
    cost = {n: 1000 * tau[n] / speed for n, (_, speed) in MIXED.items()}
    # Published times fall with width (84 ms at 4, 78 at 15): that is noise, for cost does not.
    assert cost[4] > cost[15]
    model = curve(timed(4, cost[4]), timed(15, cost[15]))
    predicted = {n: 1000 * tau[n] / model.at(n).ms for n in MIXED}
    assert {n: round(s, 1) for n, s in predicted.items()} == {4: 35.8, 8: 39.0, 12: 42.5, 15: 45.7}
    for n, (_, speed) in MIXED.items():
        assert predicted[n] == pytest.approx(speed, rel=0.10), n
        if n in (8, 12):
            point = model.at(n)
            assert 1000 * tau[n] / point.high <= speed <= 1000 * tau[n] / point.low, n
    assert max(predicted, key=predicted.__getitem__) == 15


def test_the_advisor_picks_15_of_the_published_sweep() -> None:
    # Assumed: positions that make up the four taus within 2 %; they were four runs, and no one set of rates has them.
    beyond = (MIXED[15][0] * 15 - MIXED[4][0] * 4) / 11
    first = (MIXED[4][0] * 4 - beyond) / (0.9 + 0.6 + 0.35)
    acceptance = full_width(15, [0.9 * first, 0.6 * first, 0.35 * first, *[beyond] * 12])
    for n, (rate, _) in MIXED.items():
        assert acceptance.tau(n).value == pytest.approx(1 + n * rate, rel=0.02), n
    cost = {n: 1000 * (1 + n * rate) / speed for n, (rate, speed) in MIXED.items()}
    model = curve(timed(4, cost[4]), timed(15, cost[15]))
    advice = Advisor(acceptance, model, plain(1000 / 17.98), today=15, limit=15).advise()
    assert advice.best == 15
    assert advice.curve[0].tok_s.value == pytest.approx(17.98)
    assert advice.curve[4].tok_s.high < advice.curve[15].tok_s.low


def test_wide_and_poor_beats_narrow_and_rich() -> None:
    # 27B: n_max 12 at 43 % gives 256 tok/s; plain decoding 61.47. The time at width 2 is not published: what is known
    # of it is that it takes no less than plain decoding and no more than width 12.
    narrow = [0.95, 0.87]  # 91 % of two
    rest = (0.43 * 12 - sum(narrow)) / 10
    acceptance = full_width(12, [*narrow, *[rest] * 10])
    assert (acceptance.tau(12).value, acceptance.tau(2).value) == pytest.approx((6.16, 2.82), abs=0.01)
    model = curve(timed(12, 1000 * 6.16 / 256), least=(1000 / 61.47, 1000 / 61.47))
    advisor = Advisor(acceptance, model, plain(1000 / 61.47), today=12, limit=15)
    advice = advisor.advise()
    assert advice.best is None  # widths between the two may be better still: nothing is known of them
    assert advice.curve[12].tok_s.value == pytest.approx(256, rel=0.001)
    assert advice.curve[2].tok_s.high < 256  # at the least that verifying two can cost
    assert advisor.gain(2).high < 0
    # With both timed, at the least that width 2 can take, it says so.
    two = curve(timed(2, 1000 / 61.47), timed(12, 1000 * 6.16 / 256))
    judged = Advisor(acceptance, two, plain(1000 / 61.47), today=2, limit=12).advise()
    assert judged.best == 12
    assert judged.gain_pct.low > 0


def test_which_step_in_cost_makes_5_beat_7() -> None:
    # 27B, DFlash 2, n_max 5 beats 7 by about 11 %. Assumed: 54 % accepted of 7, one rate at all positions.
    acceptance = full_width(7, geometric(0.54, 7))
    five, seven = acceptance.tau(5).value, acceptance.tau(7).value
    assert (five, seven) == pytest.approx((4.11, 4.78), abs=0.01)
    dearer = 1.11 * seven / five
    # So verifying 8 rows must cost 29 % more than verifying 6: more than two rows' share, a step.
    assert dearer == pytest.approx(1.29, abs=0.01)
    exact = [CostPoint(w, ms, ms, ms, 1000, "seen") for w, ms in ((5, 20.0), (7, 20.0 * dearer))]
    advice = Advisor(acceptance, CostCurve(tuple(exact)), plain(14.27), today=7, limit=7).advise()
    assert (advice.best, advice.sure) == (5, True)
    assert advice.gain_pct.value == pytest.approx(11.0, abs=0.1)
    level = [CostPoint(w, ms, ms, ms, 1000, "seen") for w, ms in ((5, 20.0), (7, 20.0 * seven / five))]
    assert Advisor(acceptance, CostCurve(tuple(level)), plain(14.27), today=7, limit=7).advise().best == 7
