"""SPC105: n-gram tables alone, and never a draft."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.rule import Collecting
from specscope.findings.speculation.ngram_never_drafts import MIN_TOKENS, RULE

TABLE = [b.process("-m m.gguf --spec-type ngram-mod", {}), b.idle(0.1, task=None, speculative=True)]


def counted(generated: int, drafts: int | None = 0) -> object:
    return b.counters(1.0, drafts, drafts and 48, 0, generated=generated)


def test_many_tokens_and_no_draft() -> None:
    finding = found(RULE, *TABLE, counted(MIN_TOKENS))
    assert finding.summary == "n-gram speculation has made no draft in 2,000 tokens"
    assert evidence(finding) == {
        "methods": "ngram-mod",
        "generated": "2,000 tokens",
        "drafts": "0",
        "ngram-mod": "needs 24 tokens that were there before, and drafts of at least 48",
    }
    assert "--spec-ngram-map-k4v-size-n" in finding.advice


def test_a_table_that_the_environment_switches_on_is_switched_off_there() -> None:
    by_variable = [b.process("-m m.gguf", {"LLAMA_ARG_SPEC_TYPE": "ngram-mod"}), TABLE[1]]
    assert found(RULE, *by_variable, counted(MIN_TOKENS)).advice.endswith("else run without LLAMA_ARG_SPEC_TYPE")


def test_each_table_says_what_it_waits_for() -> None:
    several = b.process("--spec-type ngram-cache,ngram-map-k4v,ngram-simple --spec-ngram-simple-size-n 5", {})
    shown = evidence(found(RULE, several, counted(5000)))
    assert shown["ngram-simple"] == "needs 5 tokens that were there before"
    assert shown["ngram-map-k4v"] == "needs 12 tokens that were there before"
    assert "ngram-cache" not in shown


def test_a_log_that_shows_each_cycle_counts_too() -> None:
    lines = [b.attached("log", "cycles"), b.busy(0.5, decoded=0), b.step(1.0, 2100)]
    finding = found(RULE, b.process("--spec-type ngram-simple"), *lines, b.logged(9.0, generated=2100), b.idle(9.1))
    assert evidence(finding)["generated"] == "2,100 tokens"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([*TABLE, counted(9000, drafts=1)], "nothing"),
        ([*TABLE, counted(9000), b.attached("log", "cycles"), b.cycle(w=48, a=2)], "nothing"),
        ([*TABLE, counted(9000, drafts=None)], "waits"),
        ([b.process("-md d.gguf --spec-type ngram-mod,draft-simple"), counted(9000)], "does not apply"),
        ([b.process("-m m.gguf"), counted(9000)], "waits"),
        ([TABLE[0], b.idle(0.1, task=None, speculative=False), counted(9000)], "does not apply"),
        ([counted(9000)], "waits"),
    ],
    ids=[
        "nothing",
        "one draft",
        "a draft that is not counted yet",
        "a build that does not count drafts",
        "a drafter beside it",
        "no table",
        "speculation is off",
        "methods unknown",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_too_few_tokens() -> None:
    waits = look(RULE, *TABLE, counted(MIN_TOKENS - 1))
    assert waits == Collecting("2,000 generated tokens (1,999 so far, without a draft)")


def test_without_a_count_it_says_what_would_give_one() -> None:
    waits = look(RULE, *TABLE)
    assert isinstance(waits, Collecting)
    assert "--metrics" in waits.needs
    # Polling alone takes plain steps for cycles that accepted nothing, until a count tells otherwise.
    polled = [b.attached("slots", "polled"), b.busy(0.5), *[b.step(1 + i / 50, 1 + i) for i in range(50)]]
    assert look(RULE, *TABLE, *polled) == ()
