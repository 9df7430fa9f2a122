"""Figures that do not drift, whatever the machine's clock and its sleep do. scripts/long/stability.py has a million."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from endless import SERVERS

from specscope.session.economics.batches import LARGEST, MOST, Batches

if TYPE_CHECKING:
    from endless import Endless

    from specscope import events as ev


@pytest.mark.parametrize("endless", SERVERS, ids=lambda e: e.name)
def test_pauses_and_clocks_set_back_move_no_figure_early_or_late(endless: Endless) -> None:
    for figures in endless.figures(4_000, 20_000):
        for width, ms in endless.costs_ms.items():
            assert figures.costs_ms[width] == pytest.approx(ms, rel=0.01), (figures.cycles, width)
        if endless.plain_ms is not None:
            assert figures.plain_ms == pytest.approx(endless.plain_ms, rel=0.01), figures.cycles
        assert figures.tau == pytest.approx(endless.tau, rel=0.04), figures.cycles
        assert figures.kept < 600


@pytest.mark.parametrize("slower", [1.3, 1.9, 3.0, 10.0])
def test_a_lasting_change_of_speed_is_believed_in_the_end(slower: float) -> None:
    batches = Batches()
    for ms in [10.0] * 30_000 + [10.0 * slower] * 30_000:
        batches.add(ms)
    assert batches.mean().value == pytest.approx(10.0 * slower)
    assert len(batches._kept) <= MOST
    assert sum(lot.n for lot in batches._kept) <= MOST * LARGEST


def two_slots(at: float, cycles: int, *, task: int) -> list[ev.Event]:
    """Two requests at once, of so many cycles, 20 ms each, and the prompts before them."""
    who = ({"slot": 0, "task": task}, {"slot": 1, "task": task + 1})
    facts: list[ev.Event] = [b.launched(at, **w) for w in who]
    for i in range(cycles):
        facts += [b.cycle(at + 0.02 * (i + 1), 7, i % 5, **w) for w in who]
    return facts


def test_a_clock_that_is_set_back_does_not_leave_out_what_follows() -> None:
    flags = b.process("-m x --spec-type draft-dflash --spec-draft-n-max 7")
    fold = b.fold(b.found(), b.attached("log", "cycles"), flags, *two_slots(7200.0, 50, task=1))
    costs = fold.targets["t0"].epoch.book.costs
    before = costs.steps
    assert before >= 94
    for fact in two_slots(60.0, 50, task=3):  # two hours earlier by the clock
        fold.apply(fact)
    assert costs.steps - before >= 94
    assert fold.view().targets[0].economics.cycle_ms.value == pytest.approx(20.0, rel=0.001)


def test_a_night_asleep_in_the_middle_of_two_requests_is_no_cycle_time() -> None:
    flags = b.process("-m x --spec-type draft-dflash --spec-draft-n-max 7")
    asleep = [b.cycle(3.0 + 8 * 3600, 7, 2, slot=slot, task=task) for slot, task in ((0, 1), (1, 2))]
    facts = two_slots(1.0, 80, task=1)
    target = b.seen(b.found(), b.attached("log", "cycles"), flags, *facts, *asleep, *two_slots(30_000.0, 80, task=3))
    assert target.economics.cycle_ms.value == pytest.approx(20.0, rel=0.001)
    assert target.economics.outliers == 2
