"""Views that a screen may keep for a second, and when it may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
from simulated import Work

from specscope.session.calm import CALM_S, Calm

if TYPE_CHECKING:
    from specscope.session.fold import Fold

NOW = b.T0 + 100.0
WORK = Work(0, 7, 1.0, ((15, 5), (15, 0), (15, 15), (3, 1)))
MORE = Work(0, 8, 3.0, ((15, 3), (15, 2)))


def test_a_view_is_kept_for_a_while_of_the_same_things_alone() -> None:
    calm, made, of, other = Calm[int](), iter(range(9)), object(), object()

    def look(calm_at: float | None, *things: object) -> int:
        return calm.made(lambda: next(made), things, calm_at)

    assert [look(10.0, of), look(10.0 + CALM_S / 2, of), look(10.0 + CALM_S, of)] == [0, 0, 1]
    assert look(10.0 + CALM_S, other) == 2
    assert [look(None, other), look(10.0 + CALM_S, other)] == [3, 4]
    assert look(9.0, other) == 5, "the clock was set back"


def fold() -> Fold:
    return b.fold(b.found(), b.attached("log", "cycles"), *WORK.log())


def test_a_calm_look_has_new_cycles_and_economics_of_the_second_before() -> None:
    seen = fold()
    (before,) = seen.view(NOW, calm=True).targets
    for fact in MORE.log():
        seen.apply(fact)
    (calm,) = seen.view(NOW + 0.3, calm=True).targets
    (whole,) = seen.view(NOW + 0.4).targets
    (later,) = seen.view(NOW + 1.0, calm=True).targets
    assert (before.totals.cycles, calm.totals.cycles) == (4, 6)
    assert calm.economics is before.economics
    assert calm.provenance is before.provenance
    assert calm.regimes is before.regimes
    assert len(calm.requests) == 2
    assert whole.economics is not before.economics
    assert later.economics is not whole.economics
    assert [r.requests for r in before.regimes] != [r.requests for r in later.regimes]


def test_nothing_from_before_a_reset_is_kept() -> None:
    seen = fold()
    (before,) = seen.view(NOW, calm=True).targets
    seen.reset()
    (after,) = seen.view(NOW + 0.1, calm=True).targets
    assert before.regimes
    assert after.economics is not before.economics
    assert after.regimes == ()
