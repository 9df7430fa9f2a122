"""SPC113: variables that the server never reads."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.speculation.ignored_environment import RULE

OLD = {"LLAMA_ARG_DRAFT_P_MIN": "0.75"}
WARM = {"LLAMA_ARG_TEMPERATURE": "0.3"}
STOCK = b.props(build="b1-7e4c0a9", defaults={"temperature": 0.8, "top_k": 40})
"""b10434, by its commit."""


def test_an_old_name() -> None:
    finding = found(RULE, b.process("-m m.gguf", OLD), STOCK)
    assert finding.settled
    assert finding.summary == "this server does not read LLAMA_ARG_DRAFT_P_MIN"
    assert evidence(finding) == {"LLAMA_ARG_DRAFT_P_MIN": "0.75: an old name"}
    assert finding.advice == "use LLAMA_ARG_SPEC_DRAFT_P_MIN"
    gone = found(RULE, b.process("-m m.gguf", {"LLAMA_ARG_CTX_SIZE_DRAFT": "4096"}), STOCK)
    assert gone.advice == "remove LLAMA_ARG_CTX_SIZE_DRAFT: nothing stands for it today"


def test_an_unknown_build_is_judged_by_what_is_in_force() -> None:
    facts = [b.process("-m m.gguf", OLD), b.props(build="b0-unknown")]
    shown = b.said("spec_params", n_max="3", n_min="0", p_min="0.00")
    assert found(RULE, *facts, shown)
    assert look(RULE, *facts, b.said("spec_params", n_max="3", n_min="0", p_min="0.75")) == ()


def test_a_variable_of_later_builds() -> None:
    finding = found(RULE, b.process("-m m.gguf", WARM), STOCK)
    assert evidence(finding) == {
        "LLAMA_ARG_TEMPERATURE": "0.3, in force 0.8: build b10434 does not read LLAMA_ARG_TEMPERATURE"
    }
    assert finding.advice == "give --temp 0.3 on the command line"


def test_a_server_inside_python() -> None:
    seen = b.process("-m m.gguf", {"LLAMA_ARG_TOP_K": "50", "LLAMA_ARG_DRAFT_P_MIN": "0.7"})
    inside = type(seen)(at=seen.at, pid=1, argv=["/usr/bin/python3", "serve.py"], env=seen.env, host="python")
    finding = found(RULE, inside, STOCK)
    assert list(evidence(finding)) == ["LLAMA_ARG_DRAFT_P_MIN", "LLAMA_ARG_TOP_K"]
    assert "in the program's own parameters instead of LLAMA_ARG_TOP_K" in finding.advice


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([STOCK], "waits"),
        ([b.process("-m m.gguf", {}), STOCK], "nothing"),
        ([b.process("-m m.gguf"), STOCK], "waits"),
        ([b.process("-m m.gguf", {"LLAMA_ARG_TOP_K": "50"}), STOCK], "nothing"),
        ([b.process("-m m.gguf", {"LLAMA_ARG_TEMPERATURE": "0.8"}), STOCK], "nothing"),
        (
            [
                b.process("-m m.gguf", WARM),
                b.props(build="b11434", defaults={"temperature": 0.3}),
            ],
            "nothing",
        ),
        (
            [
                b.process("-m m.gguf", WARM),
                b.props(build="b11000", defaults={"temperature": 0.8}),
            ],
            "nothing",
        ),
        ([b.process("-m m.gguf", OLD), b.props(build="b8808")], "nothing"),
        ([b.process("-m m.gguf", OLD), b.props(build="b0-unknown")], "nothing"),
        ([b.process("-m m.gguf", {"LLAMA_ARG_DRAFT_MAX": "4"}), STOCK], "nothing"),
    ],
    ids=[
        "nothing",
        "no process",
        "no variables",
        "the environment is not visible",
        "it is read, and lost",
        "what it says is in force all the same",
        "it is read",
        "it is not known whether it is read",
        "an old build reads the old name",
        "a build that nothing is known of",
        "refused at the start: this server took it",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says
