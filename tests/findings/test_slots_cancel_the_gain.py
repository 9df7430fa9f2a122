"""SPC129: with several slots at work speculation is slower than plain decoding of as many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from benched import found_at, look_at, off
from economics_bench import Bench
from judged import evidence, look, said, state

from specscope.findings.rule import Collecting
from specscope.findings.speculation.slots_cancel_the_gain import RULE
from specscope.session.economics.state import PlainPoint, RecordedRun

if TYPE_CHECKING:
    from specscope.session.fold import Fold

FOUR = RecordedRun("four.jsonl", plain=(PlainPoint(None, 12.0, 11.9, 12.1, 2000),), slots=4)
"""Four slots without speculation: each has a token in 12 ms."""


def served(cycle_s: float, *runs: RecordedRun, cycles: int = 100, slots: int = 4) -> Fold:
    """Slots at work at once, with 2 of 15 drafted tokens accepted."""
    fold = b.fold(
        b.found(), b.process("-m x -md d --spec-type draft-dflash --spec-draft-n-max 15"), b.attached("log", "cycles")
    )
    fold.targets["t0"].economics.runs = runs
    for i in range(cycles):
        for slot in range(slots):
            fold.apply(b.cycle(1 + cycle_s * i + 0.0002 * slot, 15, 1 + (i + slot) % 3, slot=slot, task=1 + slot))
    return fold


def test_four_slots_are_faster_without() -> None:
    finding = found_at(RULE, served(0.045, FOUR))
    assert finding.severity == "warning"
    assert finding.summary == "with 4 slots at work speculation has 0.80 x the speed of plain decoding"
    assert evidence(finding)["rows of a forward"] == "64 (4 x 16)"
    assert finding.cost_ms == pytest.approx(45.0 - 3 * 12.0, abs=0.5)
    assert finding.advice.startswith("try --spec-draft-n-max 2, fewer slots (--parallel), or at this load run without")


@pytest.mark.parametrize(
    ("cycle_s", "slots", "says"), [(0.025, 4, "nothing"), (0.037, 4, "nothing"), (0.045, 2, "waits")]
)
def test_no_loss_for_certain_at_this_concurrency(cycle_s: float, slots: int, says: str) -> None:
    assert state(look_at(RULE, served(cycle_s, FOUR, slots=slots))) == says


def test_once_raised_it_stays_while_the_interval_is_below_one() -> None:
    nearly = served(0.0394, FOUR)
    assert 0.99 < nearly.view().targets[0].economics.speedup.high < 1
    assert look_at(RULE, nearly) == ()
    assert found_at(RULE, nearly, raised=["t0"])


def test_a_plain_run_of_one_slot_says_nothing_of_four() -> None:
    assert (
        said(look_at(RULE, served(0.045, off())))
        == "waits: plain decode time (specscope recipe plain, then --runs FILE)"
    )


def test_one_slot_that_loses_is_another_finding() -> None:
    assert (
        said(look_at(RULE, Bench(cost=lambda w: 40.0 + 2 * w, n_max=7, block=8).fold(off())))
        == "does not apply: the server has one slot"
    )


def test_too_few_cycles() -> None:
    assert isinstance(look_at(RULE, served(0.045, FOUR, cycles=20)), Collecting)
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
