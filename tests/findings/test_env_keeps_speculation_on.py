"""SPC107: none on the command line, and speculation all the same."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.rule import Collecting
from specscope.findings.speculation.env_keeps_speculation_on import RULE

ENV = {"LLAMA_ARG_SPEC_TYPE": "ngram-simple"}
NONE = b.process("-m m.gguf --spec-type none", ENV)
ON = b.busy(speculative=True, params={"speculative.types": "none,ngram-simple,none"})
WARNING = b.said("env_overridden", variable="LLAMA_ARG_SPEC_TYPE", argument="--spec-type")


def test_the_variable_stays_in_force() -> None:
    finding = found(RULE, NONE, ON, WARNING)
    assert finding.severity == "critical"
    assert finding.settled
    assert finding.summary == "speculation is still on (ngram-simple): --spec-type none does not switch it off"
    assert finding.evidence == (
        ("LLAMA_ARG_SPEC_TYPE", "ngram-simple"),
        ("--spec-type", "none"),
        ("in force", "ngram-simple"),
        ("log, not true here", "LLAMA_ARG_SPEC_TYPE .. will be overwritten by --spec-type"),
    )
    assert finding.advice == "unset LLAMA_ARG_SPEC_TYPE in the server's environment"


def test_before_any_request_the_slots_alone_tell() -> None:
    assert evidence(found(RULE, NONE, b.idle(0.1, task=None, speculative=True)))["in force"] == "ngram-simple"


def test_an_earlier_flag_stays_in_force_too() -> None:
    finding = found(RULE, b.process("--spec-type ngram-mod --spec-type none"), ON)
    assert finding.advice == "drop the earlier --spec-type flags"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([NONE, b.idle(0.1, task=None, speculative=False)], "nothing"),
        ([b.process("-m m.gguf --spec-type none"), b.idle(0.1, task=None, speculative=False)], "nothing"),
        ([b.process("-m m.gguf --spec-type none"), ON], "nothing"),
        ([b.process("-m m.gguf", ENV), ON], "nothing"),
        ([b.process("-m m.gguf --spec-type none,ngram-simple", ENV), ON], "nothing"),
        ([b.process("-m m.gguf", {"LLAMA_ARG_SPEC_TYPE": "none"}), ON], "nothing"),
        ([ON], "waits"),
    ],
    ids=[
        "nothing",
        "a build in which none does switch it off",
        "nothing to switch off",
        "what is on was detected",
        "no none",
        "none is not the last word",
        "none in the environment",
        "the command line is not visible",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_it_waits_for_the_slots() -> None:
    assert look(RULE, NONE) == Collecting("a look at /slots")
