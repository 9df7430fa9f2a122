"""SPC126: an n-gram table drafts where the drafter would have done better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said, state
from methods_bench import DRAFTER, TABLE, Kind, Server

from specscope.findings.rule import Collecting
from specscope.findings.speculation.ngram_displaces_drafter import RULE

if TYPE_CHECKING:
    from specscope import events as ev

BOTH = b.process("-m x -md d --spec-type ngram-mod,draft-dflash")
WIDE = Kind("ngram-mod", 0.3, (48,), 0.3, 30.0, draft_us=30)
SUBJECT = "t0 ngram-mod"


def traced(*kinds: Kind) -> list[ev.Event]:
    server = Server(kinds)
    return [*server.begin()[1:], *server.facts()]


def counted(name: str, cycles: int, width: int, accepted: int) -> ev.Event:
    fields = {"drafted": width * cycles, "accepted": accepted, "verified": cycles}
    return b.statistics(9.0, cycles, 5.0, method=name, **fields)


def test_wide_drafts_that_fail() -> None:
    finding = found(RULE, *traced(WIDE, DRAFTER), subject=SUBJECT)
    assert finding.severity == "warning"
    assert finding.summary.startswith("drafts of ngram-mod yield 1.4 tokens a cycle, draft-dflash's 3.")
    assert "against" in evidence(finding)["ngram-mod"]
    assert finding.cost_ms > 5
    assert finding.advice == "take ngram-mod out of --spec-type, or let it draft less (--spec-ngram-mod-n-max 8)"


def test_a_table_that_gains() -> None:
    assert look(RULE, *traced(TABLE, DRAFTER)) == ()


def test_of_two_tables_the_one_that_loses() -> None:
    assert found(RULE, *traced(TABLE, WIDE, DRAFTER), subject=SUBJECT)


def test_counts_alone_are_information() -> None:
    finding = found(
        RULE, BOTH, counted("ngram-mod", 60, 48, 30), counted("draft-dflash", 400, 7, 1200), subject=SUBJECT
    )
    assert (finding.severity, finding.cost_ms) == ("info", None)
    assert evidence(finding)["ngram-mod"] == "60 cycles, 48.0 drafted and 0.5 accepted each"
    assert evidence(finding)["cost"].startswith("not measured")


@pytest.mark.parametrize(
    ("width", "accepted"), [(48, 200), (5, 30)], ids=["nearly as many tokens", "narrower than the drafter"]
)
def test_counts_that_show_no_loss(width: int, accepted: int) -> None:
    assert look(RULE, BOTH, counted("ngram-mod", 60, width, accepted), counted("draft-dflash", 400, 7, 1200)) == ()


def test_once_raised_it_stays_until_the_table_yields_nearly_as_much() -> None:
    between = [BOTH, counted("ngram-mod", 60, 48, 144), counted("draft-dflash", 400, 7, 1200)]  # 3.4 of 4 tokens
    assert look(RULE, *between) == ()
    assert found(RULE, *between, subject=SUBJECT, raised=[SUBJECT])


def test_too_few_cycles() -> None:
    few = [BOTH, counted("ngram-mod", 49, 48, 3), counted("draft-dflash", 400, 7, 1200)]
    assert look(RULE, *few) == Collecting("50 cycles of ngram-mod (49 so far)")


@pytest.mark.parametrize("types", ["ngram-mod", "draft-dflash", "ngram-mod,ngram-simple", "none"])
def test_it_takes_a_table_and_a_drafter(types: str) -> None:
    assert state(look(RULE, b.process(f"--spec-type {types}"), counted("ngram-mod", 60, 48, 30))) == "does not apply"
    assert said(look(RULE, BOTH)) == "waits: the cycles of each method (--trace auto, as root, or -lv 4)"
