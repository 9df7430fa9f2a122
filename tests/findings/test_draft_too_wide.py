"""SPC116: a narrower draft gives more tokens per second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from benched import found_at, look_at, off
from economics_bench import Bench, flat, linear, stepped
from judged import evidence, found, look, said
from methods_bench import Kind, Server

from specscope.findings.rule import Collecting
from specscope.findings.speculation.draft_too_wide import RULE
from specscope.session.economics.recorded import recorded_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope import events as ev


def test_rows_that_cost_time_and_are_seldom_accepted() -> None:
    server = Bench(requests=150)
    finding = found_at(RULE, server.fold(off()))
    assert finding.severity == "warning"
    assert finding.summary.startswith("drafts of at most 6 tokens give 26 % more tok/s than drafts of 15")
    assert finding.advice == "set --spec-draft-n-max 6"
    shown = evidence(finding)
    assert shown["gain"].endswith("%")
    assert shown["best"].startswith("6: 3")
    # A cycle of 17.5 ms with 4.71 tokens, which take 13.0 / 4.33 ms each at 6.
    truth = linear(15) - server.tau(15) * linear(6) / server.tau(6)
    assert finding.cost_ms == pytest.approx(truth, rel=0.1)


def test_a_recorded_run_settles_what_this_one_did_not_see() -> None:
    alone = Bench(cost=stepped, ends=False)
    assert (
        said(look_at(RULE, alone.fold(off())))
        == "waits: cycles of narrower drafts (specscope recipe width K, then --runs FILE)"
    )
    narrow = recorded_run(Bench(cost=stepped, n_max=7, requests=40, seed=5).target(), "seven.jsonl")
    finding = found_at(RULE, alone.fold(off(), narrow))
    assert "7 tokens" in finding.summary
    assert "recorded" in evidence(finding)["best"]


@pytest.mark.parametrize("cost", [flat, lambda w: 10.0 + 0.05 * w], ids=["rows cost nothing", "rows cost little"])
def test_no_narrower_width_is_better_for_certain(cost: Callable[[int], float]) -> None:
    assert look_at(RULE, Bench(cost=cost, requests=100).fold(off())) == ()


def test_where_off_is_better_another_finding_says_so() -> None:
    loses = Bench(cost=lambda w: 40.0 + 2 * w, rates=(0.9,) * 7, n_max=7, block=8)
    assert loses.target(off()).economics.best_n_max == 0
    assert look_at(RULE, loses.fold(off())) == ()


def test_a_table_has_a_width_flag_of_its_own() -> None:
    # A table that drafts up to 12 where 4 would do: 15.6 ms for 3.3 tokens instead of 9.2 for 2.8.
    server = Server((Kind("ngram-map-k4v", 0.5, (4, 12), 0.7, 6.0, 0.8),), requests=60)
    finding = found(RULE, *server.begin()[1:], *server.facts())
    assert finding.advice == "set --spec-ngram-map-k4v-size-m 4"


def test_behind_tables_the_width_is_the_drafters() -> None:
    kinds = (Kind("ngram-mod", 0.3, (8,), 0.9, 9.0), Kind("draft-simple", 1.0, (2, 4, 7), 0.4, 6.0, 2.0))
    server = Server(kinds, requests=60)
    assert found(RULE, *server.begin()[1:], *server.facts()).advice == "set --spec-draft-n-max 2"


@pytest.mark.parametrize(
    ("server", "flag"),
    [
        (b.props(build="b8100-1234567"), "--draft-max"),
        (b.props(build="b11434-1234567"), "--spec-draft-n-max"),
        (b.props(kind="ik_llama.cpp"), "--draft-max"),
    ],
    ids=["early 2026", "late 2026", "ik_llama"],
)
def test_the_flag_has_the_name_that_the_server_knows(server: ev.Event, flag: str) -> None:
    fold = Bench(requests=100).fold(off())
    fold.apply(server)
    assert found_at(RULE, fold).advice == f"set {flag} 6"


def test_too_few_cycles() -> None:
    waits = look_at(RULE, Bench(requests=2).fold(off()))
    assert isinstance(waits, Collecting)
    assert waits.needs.startswith("100 draft cycles (")
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
    assert said(look_at(RULE, Bench(n_max=0).fold())) == "does not apply: speculation is off"
