"""SPC110: the drafter's vocabulary is not the target's."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.speculation.drafter_vocab_mismatch import RULE

ASKED = b.process("-m m.gguf -md d.gguf --spec-type draft-simple")
OFF = b.idle(0.1, task=None, speculative=False)
SAME = {"tokenizer": "gpt2", "n_vocab": 151_936, "add_bos": False, "bos": 1, "add_eos": True, "eos": 2}
TARGET = b.model(**SAME)


def drafter(**other: object) -> object:
    return b.model("drafter", **(SAME | other))


def test_the_servers_own_comparison() -> None:
    lines = [b.said("vocab_incompatible", part="vocab type"), b.said("vocab_incompatible")]
    finding = found(RULE, ASKED, OFF, *lines)
    assert finding.severity == "critical"
    assert finding.settled
    assert evidence(finding) == {
        "log": "draft model vocab type must match the target's",
        "slots with speculation": "0 of 1",
    }
    assert "--spec-draft-model" in finding.advice
    reason = b.said("speculation_failed", reason="draft model vocab type must match target model to use speculation")
    assert found(RULE, ASKED, OFF, reason)


@pytest.mark.parametrize(
    ("other", "what", "shown"),
    [
        ({"tokenizer": "llama"}, "tokenizer", "llama in the drafter, gpt2 in the target"),
        ({"n_vocab": 151_936 - 129}, "vocabulary", "151,807 tokens in the drafter, 151,936 in the target"),
        ({"add_bos": True}, "adds bos", "drafter yes, target no"),
        ({"eos": 7}, "eos token", "7 in the drafter, 2 in the target"),
    ],
)
def test_headers_that_differ(other: dict[str, object], what: str, shown: str) -> None:
    assert evidence(found(RULE, ASKED, OFF, TARGET, drafter(**other)))[what] == shown


def test_the_headers_stand_beside_the_log() -> None:
    lines = b.said("vocab_incompatible", part="eos tokens")
    assert set(evidence(found(RULE, ASKED, OFF, lines, TARGET, drafter(eos=7)))) >= {"log", "eos token"}


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([ASKED, OFF, TARGET, drafter()], "nothing"),
        ([ASKED, OFF, TARGET, drafter(n_vocab=151_936 - 128)], "nothing"),
        ([ASKED, OFF, TARGET, drafter(bos=9)], "nothing"),
        ([ASKED, OFF, TARGET, drafter(tokenizer=None, n_vocab=None, add_bos=None, add_eos=None)], "nothing"),
        ([ASKED, OFF, drafter(tokenizer="llama")], "nothing"),
        ([ASKED, b.idle(0.1, task=None, speculative=True), TARGET, drafter(tokenizer="llama")], "nothing"),
        ([ASKED, TARGET, drafter(tokenizer="llama")], "waits"),
        (
            [
                b.process("-md d.gguf --spec-type draft-dflash"),
                OFF,
                TARGET,
                b.model("drafter", arch="dflash", tokenizer="x"),
            ],
            "does not apply",
        ),
        ([b.process("-m m.gguf"), OFF, b.said("vocab_incompatible")], "does not apply"),
    ],
    ids=[
        "nothing",
        "the same",
        "as many tokens more as are allowed",
        "another bos that neither adds",
        "the drafter's header tells nothing",
        "the target's header was not read",
        "the server speculates all the same",
        "no look at the slots",
        "a drafter that reads hidden states",
        "not asked for",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says
