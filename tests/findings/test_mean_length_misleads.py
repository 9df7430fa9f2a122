"""SPC120: the log's mean length counts only the cycles with a draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said
from replayed import replayed

from specscope.findings.rule import Case, Collecting
from specscope.findings.speculation.mean_length_misleads import RULE

if TYPE_CHECKING:
    from specscope import events as ev

TABLES = b.process("--spec-type ngram-simple")


def run(cycles: int, plain: int, *, accepted: int = 7, width: int = 8) -> list[ev.Event]:
    total = 1 + cycles * (accepted + 1) + plain
    return [TABLES, *b.of_log([(width, accepted)] * cycles), b.logged(9.0, generated=total), b.released(9.0)]


def test_a_mean_length_of_eight_and_a_tau_of_four() -> None:
    finding = found(RULE, *run(60, 60))
    assert finding.severity == "info"
    assert finding.summary.startswith("mean length 8.00 counts only cycles with a draft: 4.47")
    assert evidence(finding)["steps with a draft"] == "50%"


def test_what_the_other_steps_are_depends_on_the_method() -> None:
    assert "behind the tables" in found(RULE, *run(60, 60)).advice
    session = replayed("h200_short_requests")
    (finding,) = RULE.look(Case(session.targets[0], session))  # type: ignore[misc]
    assert "tables" not in finding.advice
    assert "ends of answers" in finding.advice


def test_the_recording_of_tables() -> None:
    session = replayed("ngram")
    (finding,) = RULE.look(Case(session.targets[0], session))  # type: ignore[misc]
    assert evidence(finding)["tau"].startswith("1.48 ")


def test_a_drafter_that_drafts_each_time() -> None:
    assert look(RULE, *run(300, 8)) == ()


@pytest.mark.parametrize(("plain", "is_kept"), [(15, True), (5, False)])
def test_once_raised_it_stays_until_the_two_are_close(plain: int, is_kept: bool) -> None:
    assert look(RULE, *run(60, plain)) == ()
    assert bool(look(RULE, *run(60, plain), raised=["t0"])) is is_kept


def test_too_few_cycles() -> None:
    assert look(RULE, *run(49, 100)) == Collecting("50 draft cycles with 200 drafted tokens (49 so far)")
    assert look(RULE, *run(60, 100, width=3, accepted=2)) == Collecting(
        "50 draft cycles with 200 drafted tokens (60 so far)"
    )
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
