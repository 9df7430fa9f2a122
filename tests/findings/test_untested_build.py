"""SPC605: a build that specscope was not tried with."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.server.untested_build import NEWEST, OLDEST, RULE


@pytest.mark.parametrize(
    ("facts", "summary"),
    [
        ([b.props(build=f"b{NEWEST + 1}-0123456")], "build b11550 is newer than any that specscope was tried with"),
        ([b.props(build="b6060-0123456")], "build b6060 is older than any that specscope was tried with"),
        ([b.said("build", number="12000", commit="abc1234")], "build b12000 is newer than any"),
        ([b.props(kind="ik_llama.cpp")], "ik_llama.cpp was not tried with a real server"),
    ],
)
def test_a_build_from_outside(facts: list[object], summary: str) -> None:
    finding = found(RULE, *facts)
    assert finding.severity == "info"
    assert finding.summary.startswith(summary)
    assert evidence(finding)["tried with"] == "b10434 to b11549"
    assert "--metrics" in finding.advice


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([b.props(build=f"b{OLDEST}")], "nothing"),
        ([b.props(build="b11434-abc1234")], "nothing"),
        ([b.props(build=f"b{NEWEST}")], "nothing"),
        ([b.props(build="b1-7e4c0a9")], "nothing"),
        ([b.props(build="b1-0123456")], "does not apply"),
        ([b.props(build="b0-unknown")], "does not apply"),
        ([b.props(build="0.3.0-dev")], "does not apply"),
        ([b.props()], "does not apply"),
    ],
    ids=[
        "nothing",
        "oldest",
        "between",
        "newest",
        "by its commit",
        "a shallow clone",
        "no number",
        "a name",
        "none told",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says
