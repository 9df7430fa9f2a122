"""SPC132: most answers are no longer than a draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said

from specscope.findings.rule import Collecting
from specscope.findings.speculation.short_answers import RULE

if TYPE_CHECKING:
    from specscope import events as ev

DRAFTS = b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 7")


def answers(*lengths: int, first: int = 1) -> list[ev.Event]:
    """Answers of so many tokens to prompts of 64,000, as the log tells them."""
    facts: list[ev.Event] = []
    for task, tokens in enumerate(lengths, first):
        at = 10.0 * task
        facts += [
            b.launched(at, task=task),
            b.logged(at + 5, task=task, prompt_tokens=64_000, prompt_ms=4000.0, generated=tokens, generated_ms=50.0),
            b.released(at + 5, task=task),
        ]
    return facts


def test_answers_of_one_token_at_64k() -> None:
    finding = found(RULE, DRAFTS, *answers(*[1] * 8))
    assert finding.severity == "info"
    assert finding.summary == "8 of the latest 8 answers have 8 tokens or fewer: no full draft fits"
    assert evidence(finding) == {
        "answers": "1 tokens (median)",
        "prompts": "64,000 tokens (median)",
        "draft width": "7",
        "time to first token": "4000 ms (median)",
    }
    assert "--n-predict" in finding.advice


def test_half_of_them_and_less() -> None:
    assert found(RULE, DRAFTS, *answers(*[8] * 5, *[200] * 5))
    assert look(RULE, DRAFTS, *answers(*[9] * 10)) == ()
    assert look(RULE, DRAFTS, *answers(*[8] * 4, *[200] * 6)) == ()
    assert found(RULE, DRAFTS, *answers(*[8] * 4, *[200] * 6), raised=["t0"])
    assert look(RULE, DRAFTS, *answers(*[8] * 2, *[200] * 8), raised=["t0"]) == ()


def test_only_the_latest_count() -> None:
    assert look(RULE, DRAFTS, *answers(*[1] * 40), *answers(*[200] * 64, first=41)) == ()


def test_of_a_table_that_may_draft_64_tokens_answers_of_40_are_not_short() -> None:
    tables = b.process("--spec-type ngram-mod")
    assert look(RULE, tables, *answers(*[40] * 10)) == ()
    assert found(RULE, tables, *answers(*[16] * 10))


def test_cancelled_answers_are_none() -> None:
    cancelled = [b.said("request_cancelled", 10.0 * task + 1, task=str(task)) for task in range(1, 11)]
    facts = sorted([*answers(*[2] * 10), *cancelled], key=lambda fact: fact.at)
    assert said(look(RULE, DRAFTS, *facts)) == "waits: 8 requests that ended (0 so far)"


@pytest.mark.parametrize("line", ["--spec-type none", "-m x"])
def test_without_drafts_it_does_not_matter(line: str) -> None:
    off = [b.process(line), b.busy(0.1, speculative=False, params={"speculative.types": "none"})]
    assert said(look(RULE, *off, *answers(*[1] * 10))) == "does not apply: speculation is off"


def test_too_few_answers() -> None:
    assert look(RULE, DRAFTS, *answers(*[1] * 7)) == Collecting("8 requests that ended (7 so far)")
    assert said(look(RULE, DRAFTS, *answers(*[200] * 3))) == "waits: 8 requests that ended (3 so far)"
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
