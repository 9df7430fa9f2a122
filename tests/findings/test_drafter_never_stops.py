"""SPC114: the drafter drafts its full width each time, for little."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import case, evidence, found, look, state

from specscope.findings.rule import Collecting
from specscope.findings.speculation.drafter_never_stops import RULE

if TYPE_CHECKING:
    from specscope import events as ev

LINE = "-m m.gguf -md d.gguf --spec-type draft-simple --spec-draft-n-max 16"
SIMPLE = b.process(LINE, {})
LOG = b.attached("log", "cycles")
POOR = [(16, 4)] * 60


def test_where_the_environment_is_out_of_sight_p_min_is_not_known() -> None:
    assert evidence(found(RULE, b.process(LINE), LOG, *b.of_log(POOR)))["p_min"] == "not seen"


def test_full_drafts_of_which_most_is_thrown_away() -> None:
    finding = found(RULE, SIMPLE, LOG, *b.of_log(POOR))
    assert finding.severity == "warning"
    assert finding.summary == "the drafter never stops early: 75% of its tokens are thrown away"
    assert evidence(finding) == {
        "draft width": "16.00 of 16 on average, in 60 cycles",
        "acceptance": "0.25 (240 of 960)",
        "p_min": "0",
    }
    assert finding.advice == "try --spec-draft-p-min 0.75, or --spec-draft-n-max 5"
    assert finding.cost_ms is None


def test_an_old_build_is_told_its_own_flags() -> None:
    old = b.process(LINE.replace("--spec-draft-n-max", "--draft-max"))
    slots = b.busy(0.5, params={"speculative.types": "draft-simple"})
    clamped = b.said("spec_params", n_max="16", n_min="0", p_min="0.00")
    finding = found(RULE, old, slots, clamped, LOG, *b.of_log(POOR))
    assert finding.advice == "try --draft-p-min 0.75, or --draft-max 5"


def test_the_time_on_rejected_tokens_is_the_cost_where_it_is_traced() -> None:
    cycles = [b.traced(1 + i / 20, 16, 4) for i in range(200)]
    turns = [
        b.turn(1 + i / 20, 50_000, draft_us=32_000, wait_us=10_000, sampling_us=2_000, samples=5) for i in range(200)
    ]
    both = [fact for pair in zip(cycles, turns, strict=True) for fact in pair]
    finding = found(RULE, SIMPLE, b.attached("trace", "trace"), b.tracing(), b.began(0.9), *both)
    assert finding.cost_ms == pytest.approx(32 * 11 / 16)
    assert evidence(finding)["drafter"] == "22.0 ms a cycle on rejected tokens"


def test_the_last_drafts_of_a_request_may_be_cut() -> None:
    assert found(RULE, SIMPLE, LOG, *b.of_log([*POOR, (4, 1)]))


@pytest.mark.parametrize(
    ("cycles", "first", "raised"),
    [
        ([(16, 8)] * 60, True, True),
        ([(16, 8)] * 40 + [(16, 9)] * 20, False, True),
        ([(16, 9)] * 60, False, False),
        ([(16, 4)] * 50 + [(12, 4)] * 10, False, True),
        ([(16, 4)] * 40 + [(12, 4)] * 20, False, False),
    ],
    ids=["half of it accepted", "a little more than half", "more than half", "some are shorter", "many are shorter"],
)
def test_it_is_raised_by_one_threshold_and_cleared_by_another(
    cycles: list[tuple[int, int]], first: bool, raised: bool
) -> None:
    facts = [SIMPLE, LOG, *b.of_log(cycles)]
    assert bool(look(RULE, *facts)) is first
    assert bool(look(RULE, *facts, raised=["t0"])) is raised


def test_a_width_that_is_known_to_be_the_best_is_left_alone() -> None:
    seen = case(SIMPLE, LOG, *b.of_log(POOR))
    best = replace(seen.target.economics, n_max=16, best_n_max=16, sure=True)
    assert RULE.look(replace(seen, target=replace(seen.target, economics=best))) == ()
    better = replace(best, best_n_max=3)
    (finding,) = RULE.look(replace(seen, target=replace(seen.target, economics=better)))
    assert finding.advice.endswith("--spec-draft-n-max 3")


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([SIMPLE], "waits"),
        ([b.process(f"{LINE} --spec-draft-p-min 0.75"), LOG, *b.of_log(POOR)], "does not apply"),
        ([b.process(LINE.replace("draft-simple", "draft-dflash")), LOG, *b.of_log(POOR)], "does not apply"),
        ([b.process(LINE.replace("draft-simple", "ngram-mod,draft-simple")), LOG, *b.of_log(POOR)], "does not apply"),
        ([LOG, *b.of_log(POOR)], "waits"),
    ],
    ids=["nothing", "no cycles", "p_min is set", "a block drafter", "a table before it", "methods unknown"],
)
def test_it_does_not_apply(facts: list[ev.Event], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_too_few_cycles() -> None:
    waits = look(RULE, SIMPLE, LOG, *b.of_log(POOR[:49]))
    assert waits == Collecting("50 draft cycles and 200 draft tokens (49 cycles so far)")


def test_widths_that_nothing_shows() -> None:
    polled = [
        b.attached("slots", "polled"),
        b.busy(0.5, speculative=True, params={"speculative.types": "draft-simple"}),
    ]
    steps = [b.step(1 + i / 20, 1 + 2 * i) for i in range(80)]
    waits = look(RULE, SIMPLE, *polled, *steps)
    assert isinstance(waits, Collecting)
    assert "LLAMA_TRACE=1" in waits.needs
