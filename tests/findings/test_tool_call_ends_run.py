"""SPC133: an answer that ended far too early in a run of long ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said, state

from specscope.findings.speculation.tool_call_ends_run import RULE

if TYPE_CHECKING:
    from specscope import events as ev

TOOLS = {"chat_format": "Hermes 2 Pro", "grammar_lazy": True}
CHAT = {"chat_format": "peg-native"}
RAW = {"chat_format": "Content-only"}


def answers(kind: dict[str, object], *lengths: int, limit: int = 80_000) -> list[ev.Event]:
    facts: list[ev.Event] = []
    for task, tokens in enumerate(lengths, 1):
        at = 100.0 * task
        facts += [
            b.launched(at, task=task),
            b.busy(at + 0.1, task=task, params=kind | {"n_predict": limit}),
            b.logged(at + 50, task=task, generated=tokens, generated_ms=50_000.0),
            b.idle(at + 51, task=task),
        ]
    return facts


def test_one_session_ended_after_1134_tokens() -> None:
    finding = found(RULE, *answers(TOOLS, 50_400, 1_134, 73_000, 61_000))
    assert finding.severity == "info"
    assert finding.summary == "1 of 4 long answers ended after 1,134 tokens: a tool call?"
    assert evidence(finding)["the others"] == "55,700 tokens (median)"
    assert evidence(finding)["tools"] == "offered in these requests"
    assert '"tool_choice": "none"' in finding.advice


def test_where_tools_are_not_shown_the_others_must_have_run_to_their_limit() -> None:
    forced = found(RULE, *answers(CHAT, 2000, 2000, 150, 2000, limit=2000))
    assert evidence(forced)["tools"] == "not seen: this build does not show them"
    assert look(RULE, *answers(CHAT, 1900, 2000, 150, 2000, limit=2000)) == ()


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (answers(TOOLS, 200, 150, 90, 3000), "waits"),
        (answers(TOOLS, 50_000, 6_000, 60_000, 70_000), "nothing"),
        (answers(TOOLS, 900, 20, 800, 700), "waits"),
        (answers(TOOLS, 50_000, 1_134, 60_000), "waits"),
        (answers(TOOLS, 50_000, 1_134, 900, 60_000, 70_000), "nothing"),
        (answers(RAW, 2000, 2000, 150, 2000, limit=2000), "waits"),
        (answers({}, 2000, 2000, 150, 2000, limit=2000), "waits"),
    ],
    ids=["calls are the work", "not so early", "no long ones", "two long ones", "two of five", "raw text", "not known"],
)
def test_no_run_that_ended_early(facts: list[ev.Event], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_once_raised_it_is_over_when_such_answers_are_no_longer_among_the_latest() -> None:
    assert look(RULE, *answers(TOOLS, 200, 150), raised=["t0"]) == ()


def test_one_that_was_cancelled_did_not_end_itself() -> None:
    facts = answers(TOOLS, 50_400, 1_134, 73_000, 61_000)
    facts.insert(6, b.said("request_cancelled", 249.0, task="2"))
    assert look(RULE, *facts) == ()


def test_requests_of_other_limits_are_another_kind() -> None:
    long, short = answers(TOOLS, 50_400, 73_000, 61_000), answers(TOOLS, 1_134, limit=2000)
    assert said(look(RULE, *short, *long[4:])) == "waits: 3 long chat answers of one limit (1,000 tokens and more)"
    assert said(look(RULE)) == "waits: 3 long chat answers of one limit (1,000 tokens and more)"
