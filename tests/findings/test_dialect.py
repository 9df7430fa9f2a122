"""Flags by the names that a server's own build takes."""

from __future__ import annotations

import builders as b
import pytest

from specscope.findings.dialect import flag_of


@pytest.mark.parametrize(
    ("facts", "old"),
    [
        ([], False),
        ([b.props(build="b11434")], False),
        ([b.props(build="b8999")], True),
        ([b.props(build="b0-unknown")], False),
        ([b.props(kind="ik_llama.cpp")], True),
        ([b.process("-m m.gguf --draft-max 8"), b.server("ready")], True),
        ([b.process("-m m.gguf --draft-max 8"), b.server("down", 1.0)], False),
        ([b.process("-m m.gguf", {"LLAMA_ARG_DRAFT_P_MIN": "1"})], False),
    ],
    ids=["unknown", "today's", "old", "no number", "ik_llama", "runs with it", "ended, perhaps for it", "a variable"],
)
def test_names_before_and_today(facts: list[object], old: bool) -> None:
    target = b.seen(b.found(), *facts)
    assert flag_of(target, "--spec-draft-n-max") == ("--draft-max" if old else "--spec-draft-n-max")
    assert flag_of(target, "--spec-type") == "--spec-type"
