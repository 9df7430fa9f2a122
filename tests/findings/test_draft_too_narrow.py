"""SPC117: a wider draft gives more tokens per second, or may."""

from __future__ import annotations

import pytest
from benched import found_at, look_at, off
from economics_bench import Bench, flat
from judged import evidence, look, said

from specscope.findings.rule import Collecting
from specscope.findings.speculation.draft_too_narrow import RULE
from specscope.session.economics.recorded import recorded_run

NARROW = Bench(cost=flat, n_max=3, requests=60)


def test_a_recorded_wider_run_shows_what_is_lost() -> None:
    wide = recorded_run(Bench(cost=flat, requests=60, seed=5).target(), "wide.jsonl")
    finding = found_at(RULE, Bench(cost=flat, n_max=3, requests=60).fold(off(), wide))
    assert finding.severity == "warning"
    assert "% more tok/s than drafts of 3" in finding.summary
    assert finding.advice.startswith("set --spec-draft-n-max 1")
    assert finding.cost_ms == pytest.approx(10.0 * 0.3, abs=0.7)  # 3.27 tokens instead of 4.6 in the same 10 ms


def test_most_drafts_are_accepted_to_their_end_and_no_wider_one_was_seen() -> None:
    finding = found_at(RULE, Bench(cost=flat, n_max=3, requests=60).fold(off()))
    assert (finding.severity, finding.cost_ms) == ("info", None)
    assert evidence(finding)["full drafts accepted"] == "60% (58% to 62%)"
    assert evidence(finding)["widest that can be drafted"] == "15 (the drafter's training)"
    assert "--spec-draft-n-max 6" in finding.advice


@pytest.mark.parametrize(
    "server",
    [
        Bench(cost=flat, n_max=3, rates=(0.8, 0.75, 0.7), requests=60),  # 42 % to their end
        Bench(cost=flat, n_max=3, block=4, requests=60),  # the drafter can draft no more
        Bench(cost=lambda w: 40.0 + 2 * w, n_max=3, requests=60),  # it loses as it is
        Bench(cost=flat, requests=60),
    ],
    ids=["42 %", "trained for no more", "loses", "wide"],
)
def test_it_is_wide_enough(server: Bench) -> None:
    assert look_at(RULE, server.fold(off())) == ()


def test_once_raised_it_stays_until_fewer_are_accepted() -> None:
    between = Bench(cost=flat, n_max=3, rates=(0.8, 0.8, 0.75), requests=60)  # 48 %
    assert look_at(RULE, between.fold(off())) == ()
    assert found_at(RULE, Bench(cost=flat, n_max=3, rates=(0.8, 0.8, 0.75), requests=60).fold(off()), raised=["t0"])


def test_too_few_cycles() -> None:
    assert isinstance(look_at(RULE, Bench(n_max=3, requests=1).fold(off())), Collecting)
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
