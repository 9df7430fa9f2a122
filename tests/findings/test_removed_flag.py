"""SPC112: the server does not start for an old flag."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.speculation.removed_flag import RULE

DOWN = b.server("down", 1.0)


def removed(name: str) -> object:
    return b.said("arg_removed", argument=name, advice="use it")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        (
            "--draft-max",
            (
                "in its command line write --spec-draft-n-max instead of --draft-max "
                "(--spec-ngram-mod-n-max where the n-gram table was meant)"
            ),
        ),
        (
            "--spec-ngram-min-hits",
            "in its command line write --spec-ngram-simple-min-hits instead of --spec-ngram-min-hits",
        ),
        (
            "LLAMA_ARG_DRAFT_MIN",
            "in the server's environment write LLAMA_ARG_SPEC_DRAFT_N_MIN instead of LLAMA_ARG_DRAFT_MIN",
        ),
    ],
)
def test_a_name_with_a_successor(name: str, advice: str) -> None:
    finding = found(RULE, removed(name), DOWN)
    assert finding.severity == "critical"
    assert finding.settled
    assert finding.summary == f"the server does not start: {name} no longer exists"
    assert finding.advice == advice


def test_a_name_without_one() -> None:
    finding = found(RULE, b.said("arg_invalid", argument="--ctx-size-draft"), DOWN)
    assert evidence(finding) == {"log": "invalid argument: --ctx-size-draft", "today": "nothing stands for it"}
    assert finding.advice == "remove --ctx-size-draft from its command line"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([DOWN], "waits"),
        ([removed("--draft-max")], "waits"),
        ([removed("--draft-max"), b.server("ready", 1.0)], "does not apply"),
        ([b.said("arg_invalid", argument="--port"), DOWN], "nothing"),
        ([b.process("-m m.gguf --draft-max 8"), b.server("ready")], "does not apply"),
        ([b.process("-m m.gguf --draft-max 8"), DOWN], "waits"),
        ([removed("--draft-max"), b.said("verbosity", level="3"), DOWN], "nothing"),
    ],
    ids=[
        "nothing",
        "down for no known reason",
        "it is not known whether it is down",
        "it runs: another process wrote that",
        "an argument that never was",
        "an older build, which takes it",
        "an older build that ended",
        "a later start got further",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says
