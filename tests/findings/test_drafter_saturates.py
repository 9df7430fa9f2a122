"""SPC119: the last third of each draft adds next to nothing."""

from __future__ import annotations

import pytest
from benched import found_at, look_at, off
from economics_bench import Bench, flat
from judged import evidence, said

from specscope.findings.rule import Collecting
from specscope.findings.speculation.drafter_saturates import RULE
from specscope.session.economics.recorded import recorded_run


def server(beyond: float, *, requests: int = 60, **fields: object) -> Bench:
    """Drafts of 15 of which 5 are good and the others accepted so often."""
    return Bench(cost=flat, rates=(0.9,) * 5 + (beyond,) * 10, requests=requests, ends=False, **fields)


def test_a_drafter_that_loses_the_thread() -> None:
    finding = found_at(RULE, server(0.05).fold())
    assert finding.severity == "info"
    assert finding.summary.startswith("draft positions beyond 5 add 0.")
    assert evidence(finding)["tokens a cycle"].startswith("4.7")
    assert finding.advice.startswith("try --spec-draft-n-max 5 and compare")


def test_a_drafter_that_goes_on() -> None:
    assert look_at(RULE, server(0.85).fold()) == ()


def test_once_raised_it_stays_until_the_last_third_adds_something() -> None:
    # The eleventh token and later ones add 3.0 % with 0.7, and 4.5 % with 0.74.
    assert look_at(RULE, server(0.7, requests=80).fold()) == ()
    assert found_at(RULE, server(0.7, requests=80).fold(), raised=["t0"])
    assert look_at(RULE, server(0.74, requests=80).fold(), raised=["t0"]) == ()


@pytest.mark.parametrize("kept", ["recorded", "seen"])
def test_where_the_best_width_is_known_it_says_nothing(kept: str) -> None:
    if kept == "seen":
        seen = look_at(RULE, Bench(cost=flat, rates=(0.9,) * 5 + (0.05,) * 10).fold(off()))
    else:
        narrow = recorded_run(Bench(cost=flat, n_max=5, rates=(0.9,) * 5, requests=60, seed=5).target(), "five.jsonl")
        seen = look_at(RULE, server(0.05).fold(narrow))
    assert said(seen) == "does not apply: what a narrower draft gives is known, and told by SPC116"


def test_a_drafter_that_does_not_match_at_all_is_another_finding() -> None:
    assert look_at(RULE, Bench(cost=flat, rates=(0.3,) + (0.05,) * 14, requests=60, ends=False).fold()) == ()


def test_tables_are_no_drafters() -> None:
    assert (
        said(look_at(RULE, server(0.05, method="ngram-mod", block=None).fold()))
        == "does not apply: only n-gram tables draft"
    )


def test_too_few_cycles() -> None:
    cycles = server(0.05, requests=5).target().economics.cycles
    assert 100 < cycles < 200
    assert look_at(RULE, server(0.05, requests=5).fold()) == Collecting(f"200 draft cycles ({cycles} so far)")
