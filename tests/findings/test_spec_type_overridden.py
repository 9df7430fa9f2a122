"""SPC106: of several lines in a preset only the last one counts."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.speculation.spec_type_overridden import RULE


def child(line: str, *told: tuple[str, str]) -> object:
    seen = b.process(line, {"LLAMA_SERVER_ROUTER_PORT": "8080"})
    return type(seen)(at=seen.at, pid=seen.pid, argv=seen.argv, env=seen.env, preset_spec_types=list(told))


def test_two_lines_in_one_section() -> None:
    finding = found(RULE, child("--spec-type draft-dflash", ("[m]", "ngram-mod"), ("[m]", "draft-dflash")))
    assert finding.severity == "warning"
    assert finding.settled
    assert finding.summary == "ngram-mod named in the preset and not in force: only the last spec-type counts"
    assert finding.evidence == (
        ("[m] spec-type", "ngram-mod"),
        ("[m] spec-type", "draft-dflash"),
        ("in force", "draft-dflash"),
    )
    assert finding.advice == "write spec-type = ngram-mod,draft-dflash on one line of the preset"


def test_the_routers_own_flag_replaces_that_of_every_model() -> None:
    finding = found(RULE, child("--spec-type ngram-mod", ("[m]", "draft-mtp, none"), ("router", "ngram-mod")))
    assert evidence(finding)["router spec-type"] == "ngram-mod"
    assert finding.summary.startswith("draft-mtp named")
    assert "router's own command line" in finding.advice


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([b.process("--spec-type ngram-mod")], "does not apply"),
        ([child("--spec-type ngram-mod", ("[m]", "ngram-mod"))], "nothing"),
        ([child("--spec-type ngram-mod", ("[*]", "ngram-cache"), ("[m]", "ngram-mod"))], "nothing"),
        ([child("--spec-type ngram-mod,draft-mtp", ("[m]", "ngram-mod"), ("[m]", "ngram-mod,draft-mtp"))], "nothing"),
        ([child("--spec-type ngram-mod", ("[m]", "none"), ("[m]", "ngram-mod"))], "nothing"),
    ],
    ids=[
        "nothing",
        "no router",
        "one line",
        "a line for every model is meant to be replaced",
        "the last line has all",
        "what is replaced is none",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says
