"""SPC502: sampling on the host takes most of the turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said, state

from specscope.findings.host.host_sampling_dominates import MIN_TURNS, RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from specscope import events as ev

GPU = b.tracing(asynchronous=True)
NORMAL = {"draft_us": 3_400, "submit_us": 500, "wait_us": 3_600, "features_us": 1_300, "samples": 7}
"""A DFlash turn of an H200 without its sampling: 9.0 ms of 13.0."""


def turns(sampling_us: int | None, *, count: int = 60, **fields: object) -> list[ev.Event]:
    """As many turns, in which sampling takes so long and the rest what it takes on an H200."""
    whole = 9_000 + (sampling_us or 0)
    made = NORMAL | {"sampling_us": sampling_us} | fields
    return [b.turn(1 + i / 50, whole, **made) for i in range(count)]


def needs(*facts: ev.Event) -> str:
    seen = look(RULE, *facts)
    assert isinstance(seen, Collecting)
    return seen.needs


def test_a_turn_that_is_mostly_sampling() -> None:
    finding = found(RULE, GPU, b.props(defaults={"top_k": 0, "min_p": 0.0, "top_p": 0.95}), *turns(18_000))
    assert finding.summary == "sampling on the host takes 67% of each turn; the device waits meanwhile"
    assert evidence(finding) == {
        "host sampling": "18.0 of 27.0 ms a turn (67%)",
        "tokens sampled": "7.0 a turn, 2.57 ms each",
        "device": "3.6 ms a turn are waited for it",
        "sampling": "top_k 0, top_p 0.95, min_p 0",
    }
    assert "--top-k" in finding.advice
    # 31 % of a turn are normal: 9 ms of the rest go with 4.04 ms of sampling.
    assert finding.cost_ms == pytest.approx(18.0 - 9.0 * 0.31 / 0.69)


def test_the_sorted_vocabulary_of_the_h200() -> None:
    # 13.0 ms became 50.7 ms; what is beyond the normal share is what was lost.
    slow = [b.turn(1 + i / 18, 50_700, **NORMAL | {"sampling_us": 41_500}) for i in range(60)]
    assert found(RULE, GPU, *slow).cost_ms == pytest.approx(50.7 - 13.0, abs=0.5)


@pytest.mark.parametrize("sampling_us", [4_000, 7_300], ids=["31 %", "just below 45 %"])
def test_what_is_normal_is_no_finding(sampling_us: int) -> None:
    assert look(RULE, GPU, *turns(sampling_us)) == ()


def test_just_above() -> None:
    assert found(RULE, GPU, *turns(7_400)).severity == "warning"


def test_once_raised_it_stays_until_it_is_well_below() -> None:
    assert found(RULE, GPU, *turns(5_600), raised=["t0"])
    assert look(RULE, GPU, *turns(5_600)) == look(RULE, GPU, *turns(5_400), raised=["t0"]) == ()


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([GPU], "waits"),
        ([b.tracing(asynchronous=False), *turns(18_000)], "does not apply"),
        ([b.tracing(), *turns(18_000)], "waits"),
        ([*turns(18_000)], "waits"),
    ],
    ids=["nothing", "no turn yet", "a CPU backend", "a backend nobody knows", "no start seen"],
)
def test_it_does_not_apply(facts: list[ev.Event], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_too_few_turns() -> None:
    assert needs(GPU, *turns(18_000, count=MIN_TURNS - 1)) == "50 traced turns (49 so far)"


def test_cheap_probes_do_not_see_sampling() -> None:
    assert needs(GPU, *turns(None)) == "probes on the sampler (--trace auto)"


def test_waiting_that_hides_in_the_sampling_is_not_blamed_on_it() -> None:
    hidden = turns(18_000, wait_us=20)
    assert needs(GPU, *hidden) == "a build whose waiting can be told from its sampling"


def test_an_estimate_is_no_measurement() -> None:
    cycles = [b.cycle(1 + 0.013 * i, 15, 6) for i in range(100)]
    lines = [b.statistics(1.0, 100, 340.0), b.statistics(2.0, 300, 1020.0)]
    assert said(look(RULE, b.attached("log", "cycles"), *cycles, *lines)) == "waits: a trace (--trace auto, as root)"
