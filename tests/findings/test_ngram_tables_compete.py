"""SPC125: two n-gram tables are on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import case, evidence, found, look, said, state
from methods_bench import DRAFTER, Kind, Server

from specscope.findings.speculation.ngram_tables_compete import RULE
from specscope.session.economics.state import Span

if TYPE_CHECKING:
    from specscope import events as ev

TWO = b.process("-m x --spec-type ngram-mod,ngram-map-k4v")

GOOD = Kind("ngram-mod", 0.5, (8,), 0.9, 6.5, draft_us=30)
POOR = Kind("ngram-map-k4v", 0.5, (12,), 0.2, 14.0, draft_us=30)
"""Asked before it. 1.25 tokens in 14 ms, where what comes after has 5.7 in 6.5 in half of its steps."""


def traced(*kinds: Kind) -> list[ev.Event]:
    server = Server(kinds)
    return [*server.begin()[1:], *server.facts()]


def statistics(name: str, drafts: int) -> ev.Event:
    return b.statistics(9.0, drafts, 5.0, method=name, drafted=8 * drafts, accepted=4 * drafts, verified=drafts)


def test_two_tables_of_which_nothing_is_measured() -> None:
    finding = found(RULE, TWO)
    assert (finding.severity, finding.settled) == ("info", True)
    assert finding.summary == "ngram-map-k4v and ngram-mod compete: only the first that finds something drafts"
    assert evidence(finding) == {
        "asked in this order": "ngram-map-k4v, ngram-mod",
        "what each gains": "not measured here (--trace auto)",
    }
    assert finding.advice == "keep one table in --spec-type (the one that gains most), and compare"


def test_a_table_that_keeps_a_better_one_from_drafting() -> None:
    finding = found(RULE, *traced(POOR, GOOD))
    assert (finding.severity, finding.settled) == ("warning", False)
    assert finding.summary == "ngram-map-k4v is slower than what it keeps from drafting"
    assert "cycles of ngram-mod" in evidence(finding)["ngram-map-k4v"]
    assert finding.advice == "keep one table in --spec-type (ngram-mod), and compare"
    assert finding.cost_ms > 5


def test_once_raised_it_stays_while_it_is_no_gain() -> None:
    met = case(*traced(POOR, GOOD))
    first, second = met.target.by_method
    nearly = replace(met.target, by_method=(replace(first, gain_pct=Span(-5.0, -9.0, -0.5)), second))
    severities = {}
    for raised in (frozenset[str](), frozenset({"t0"})):
        (finding,) = RULE.look(replace(met, target=nearly, raised=raised))  # type: ignore[misc]
        severities[bool(raised)] = finding.severity
    assert severities == {False: "info", True: "warning"}


def test_tables_that_are_measured_to_gain_are_well() -> None:
    assert look(RULE, *traced(Kind("ngram-map-k4v", 0.3, (8,), 0.9, 6.5), GOOD)) == ()


def test_a_table_in_the_shadow_of_the_other() -> None:
    finding = found(RULE, TWO, statistics("ngram-map-k4v", 60), statistics("ngram-mod", 0))
    assert finding.severity == "info"
    assert finding.summary == "ngram-mod has drafted nothing: the other tables find first"
    assert evidence(finding)["ngram-mod"] == "has drafted nothing"
    assert "(ngram-map-k4v)" in finding.advice


def test_too_few_drafts_to_say_who_is_in_whose_shadow() -> None:
    assert "compete" in found(RULE, TWO, statistics("ngram-map-k4v", 20), statistics("ngram-mod", 0)).summary


def test_before_a_drafter_a_losing_table_is_another_finding() -> None:
    assert found(RULE, *traced(POOR, GOOD, DRAFTER)).severity == "info"


@pytest.mark.parametrize("types", ["ngram-mod", "ngram-mod,draft-dflash", "draft-dflash", "none"])
def test_one_table_has_nothing_to_compete_with(types: str) -> None:
    assert state(look(RULE, b.process(f"--spec-type {types}"))) == "does not apply"
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
