"""The verdict in words: never without what it rests on, and nothing claimed that is not known."""

from __future__ import annotations

from dataclasses import replace

import builders as b
import pytest
from economics_bench import Bench, flat, stepped

from specscope.session.economics.recorded import recorded_run
from specscope.session.economics.state import CostPoint, Economics, PlainTime, Regime, Span, TryNext
from specscope.session.economics.words import (
    evidence_of,
    factor,
    kinds,
    next_run,
    speed,
    speedup_told,
    told_of,
    width_told,
)

PLAIN = PlainTime(55.6, 54.0, 57.0, "recorded", "2,000 plain steps of plain.jsonl.gz", 2000)
COSTS = (CostPoint(7, 10.0, 9.9, 10.1, 40, "seen"), CostPoint(15, 15.0, 14.9, 15.1, 400, "seen"))
KNOWN = Economics(n_max=15, cycles=400, cycle_ms=Span(15.0, 14.9, 15.1), plain=PLAIN, costs=COSTS)


def speedup(value: float, low: float, high: float, plain: PlainTime = PLAIN) -> list[tuple[str, str]]:
    told = speedup_told(replace(KNOWN, speedup=Span(value, low, high), plain=plain))
    assert told is not None
    assert told.verdict
    return list(told.forms)


def test_a_speedup_stands_with_plain_decoding_and_how_that_is_known() -> None:
    assert speedup(4.7, 4.5, 4.93) == [
        ("4.7x plain decode", "4.5x to 4.9x, plain 17.99 tok/s recorded"),
        ("4.7x plain decode", "17.99 tok/s recorded"),
        ("4.7x plain", "17.99 recorded"),
    ]


@pytest.mark.parametrize(
    ("how", "words"),
    [("this run", "seen here"), ("recorded", "recorded"), ("fit", "from cycle times"), ("floor", "memory bandwidth")],
)
def test_each_basis_has_its_words(how: str, words: str) -> None:
    for _, basis in speedup(2.0, 1.9, 2.1, replace(PLAIN, how=how)):
        assert basis.endswith(words)


def test_slower_than_plain_and_no_sure_gain_are_said_at_every_length() -> None:
    assert [basis.split(", ", 1)[0] for _, basis in speedup(0.62, 0.5, 0.74)] == [*["slower than plain"] * 2, "slower"]
    assert [basis.split(", ", 1)[0] for _, basis in speedup(1.02, 0.9, 1.1)] == ["no sure gain"] * 3
    told = speedup_told(replace(KNOWN, speedup=Span(0.62, 0.5, 0.74)))
    assert told is not None
    assert told.loud


def test_a_bound_is_no_more_than_that_and_below_one_it_says_nothing() -> None:
    bound = replace(KNOWN, plain=None, speedup_at_least=1.83)
    told = speedup_told(bound)
    assert told is not None
    assert told.forms == (("at least 1.83x plain decode", "by memory bandwidth"),)
    unknown = speedup_told(replace(bound, speedup_at_least=0.9))
    assert unknown is not None
    assert not unknown.verdict
    assert unknown.forms[-1] == ("speedup not known", "no plain decode seen")


@pytest.mark.parametrize(
    ("best", "gain", "sure", "words"),
    [
        (15, Span(0.0, 0.0, 0.0), True, "width 15 -> 15 is best"),
        (15, Span(0.0, 0.0, 3.0), False, "width 15 -> 15 seems best"),
        (7, Span(45.0, 40.0, 50.0), True, "width 15 -> 7 is best, +45 %"),
        (7, Span(4.0, -1.0, 9.0), False, "width 15 -> 7 may be better, +4 %"),
        (0, Span(60.0, 50.0, 70.0), True, "width 15 -> off is best, +60 %"),
    ],
)
def test_the_best_width_beside_todays(best: int, gain: Span, sure: bool, words: str) -> None:
    told = width_told(replace(KNOWN, best_n_max=best, gain_pct=gain, sure=sure))
    assert told is not None
    assert {said for said, _ in told.forms} == {words}
    assert all("2 widths seen" in basis for _, basis in told.forms)
    assert told.loud is (sure and best != 15)


def test_what_is_not_known_is_no_verdict() -> None:
    told = width_told(replace(KNOWN, try_next=TryNext(7, "why")))
    assert told is not None
    assert not told.verdict
    assert told.forms[-1] == ("width 15: best not known, try 7", "")
    assert width_told(replace(KNOWN, try_next=TryNext(0, "why"))).forms[-1][0].endswith("try off")
    assert (
        width_told(replace(KNOWN, hidden=True, best_n_max=15, gain_pct=Span(0, 0, 0)))
        .forms[0][1]
        .endswith("wider not seen")
    )
    open_still = replace(KNOWN, best_n_max=5, gain_pct=Span(30, 20, 40), sure=True, try_next=TryNext(7, "why"))
    assert width_told(open_still).forms[0][0] == "width 15 -> 5 is best so far, +30 %"
    plain_missing = replace(open_still, try_next=TryNext(0, "why"))
    assert width_told(plain_missing).forms[0][0] == "width 15 -> 5 is best, +30 %"
    assert width_told(Economics()) is None
    assert speedup_told(Economics()) is None


def test_while_collecting_nothing_else_is_said() -> None:
    (told,) = told_of(Bench(requests=1, tokens=60).target())
    assert not told.verdict
    ((said, basis),) = told.forms
    assert said.startswith("collecting: ")
    assert said.endswith("of 100 cycles for a verdict")
    assert basis == ""


def test_a_server_that_is_not_known_to_draft_is_not_judged() -> None:
    assert told_of(b.seen(b.found())) == []
    assert told_of(Bench(n_max=0, requests=4).target()) == []


def test_the_words_of_a_server_whose_costs_are_known() -> None:
    off = recorded_run(Bench(n_max=0, requests=10, seed=9).target(), "off.jsonl")
    gained, width = told_of(Bench(cost=stepped, requests=120).target(off))
    assert gained.forms[1][0].startswith("2.4x plain decode")
    assert width.forms[0][0].startswith("width 15 -> 7 is best, +4")
    _, width = told_of(Bench(cost=flat, requests=120).target(off))
    assert width.forms[0][0].startswith("width 15 -> 15 ")


def test_cycles_that_parted_from_the_count_mark_the_verdict() -> None:
    target = Bench(requests=4).target()
    assert evidence_of(target) == "estimated"
    assert evidence_of(replace(target, cycle_evidence="parted")) == "parted"


def test_figures_have_as_many_digits_as_they_are_worth() -> None:
    assert [factor(x) for x in (0.618, 1.4388, 1.996, 4.71, 12.3)] == ["0.62x", "1.44x", "2.00x", "4.7x", "12x"]
    assert [speed(x) for x in (4.236, 17.98, 84.64, 343.4, 1052.3)] == ["4.24", "17.98", "84.6", "343", "1,052"]
    assert next_run(TryNext(7, ""))[1] == "specscope recipe width 7"
    assert next_run(TryNext(0, ""))[1] == "specscope recipe plain"


def test_a_single_kind_is_told_once() -> None:
    whole, code = Regime("all", "all", 8, 100, 1.0), Regime("code", "label", 8, 100, 1.0)
    assert kinds((whole, code)) == (code,)
    assert kinds((whole,)) == (whole,)
    assert len(kinds((whole, replace(code, requests=5), replace(code, name="prose", requests=3)))) == 3


def test_an_end_that_reads_one_is_neither_slower_nor_a_gain() -> None:
    for low, high in ((0.74, 0.9951), (0.74, 1.004), (1.0049, 1.2)):
        assert [basis.split(", ", 1)[0] for _, basis in speedup(1.0, low, high)] == ["no sure gain"] * 3
    (said, basis), *_ = speedup(0.86, 0.74, 0.9949)
    assert (said, basis.split(", plain")[0]) == ("0.86x plain decode", "slower than plain, 0.74x to 0.99x")
    assert speedup(1.1, 1.0051, 1.2)[0][1].startswith("1.01x to 1.20x")


def test_a_slots_speed_is_called_so_where_several_decode_at_once() -> None:
    two = replace(KNOWN, speedup=Span(2.0, 1.9, 2.1), slots=2)
    forms = speedup_told(two).forms
    assert [basis.split("plain ")[-1] for _, basis in forms] == [
        *["17.99 tok/s a slot recorded"] * 2,
        "17.99 a slot recorded",
    ]


def test_where_no_width_can_pay_off_is_best_and_the_speedup_has_an_upper_end() -> None:
    hopeless = replace(KNOWN, plain=None, best_n_max=0, sure=True, tau_at_most=1.0141, speedup_at_most=1.0141)
    width = width_told(hopeless)
    assert width.forms == (("width 15 -> off is best", "no width can pay: tau at most 1.02"),)
    assert width.loud
    gained = speedup_told(hopeless)
    assert gained.forms[0] == ("at most 1.02x plain decode", "no cycle is shorter than a plain step")
    assert (
        speedup_told(replace(hopeless, speedup_at_most=None)).forms[0][0] == "speedup not known"
    )  # of a drafter alone
