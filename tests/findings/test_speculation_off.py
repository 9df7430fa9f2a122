"""SPC101: a draft model is loaded, but nothing drafts."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.rule import Collecting
from specscope.findings.speculation.speculation_off import RULE

LOADED = b.process("-m m.gguf -md /models/d.gguf --spec-draft-n-max 8")
OFF = b.idle(0.1, task=None, speculative=False)
ON = b.idle(0.1, task=None, speculative=True)


def test_a_draft_model_and_slots_that_do_not_speculate() -> None:
    finding = found(RULE, LOADED, OFF, b.model("drafter", arch="llama", file_bytes=512 << 20))
    assert evidence(finding) == {
        "draft model": "/models/d.gguf (512 MiB file)",
        "slots with speculation": "0 of 1",
        "--spec-type": "not given",
    }
    assert finding.advice == "add --spec-type draft-simple, or drop the draft model to free its memory"
    assert "issues/25345" in finding.link


def test_it_goes_on_after_requests_that_say_none() -> None:
    busy = b.busy(1.0, speculative=False, params={"speculative.types": "none"})
    assert evidence(found(RULE, LOADED, busy, b.idle(2.0)))["slots with speculation"] == "0 of 1"


def test_a_drafter_named_by_its_repository_or_only_by_the_log() -> None:
    assert evidence(found(RULE, b.process("-hfd u/drafter:Q4"), OFF))["draft model"] == "u/drafter:Q4 (size unknown)"
    said = b.said("draft_model_loading", path="/models/x.gguf")
    assert evidence(found(RULE, said, OFF))["draft model"] == "/models/x.gguf (size unknown)"


@pytest.mark.parametrize(
    ("arch", "method"),
    [("dflash", "draft-dflash"), ("eagle3", "draft-eagle3"), ("llama", "draft-simple"), (None, "draft-simple")],
)
def test_the_method_advised_is_the_one_the_drafter_was_made_for(arch: str | None, method: str) -> None:
    finding = found(RULE, LOADED, OFF, b.model("drafter", arch=arch))
    assert finding.advice.startswith(f"add --spec-type {method},")


def test_a_drafter_with_a_markov_head_is_dsparks_and_an_assistant_is_for_mtp() -> None:
    for fields, method in (
        ({"arch": "dflash", "has_markov_head": True}, "draft-dspark"),
        ({"arch": "dflash", "has_markov_head": False}, "draft-dflash"),
        ({"arch": "gemma4-assistant"}, "draft-mtp"),
    ):
        finding = found(RULE, LOADED, OFF, b.model("drafter", **fields))
        assert finding.advice.startswith(f"add --spec-type {method},")


def test_none_asked_for_by_name_is_in_the_evidence() -> None:
    finding = found(RULE, b.process("-md d.gguf --spec-type none"), OFF)
    assert evidence(finding)["--spec-type"] == "none"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([LOADED, ON], "nothing"),
        ([LOADED, OFF, b.idle(0.1, slot=1, task=None, speculative=True)], "nothing"),
        ([LOADED, b.busy(1.0, params={"speculative.types": "draft-simple"}), OFF], "nothing"),
        ([b.process("-m m.gguf -md d.gguf --spec-type draft-simple"), OFF], "nothing"),
        ([b.process("-m m.gguf"), OFF], "does not apply"),
        ([b.process("-m m.gguf --spec-type ngram-mod"), ON], "nothing"),
        ([b.model("drafter"), OFF], "waits"),
        ([OFF], "waits"),
        ([], "waits"),
    ],
    ids=[
        "slots speculate",
        "one of two slots speculates",
        "a request lists a method: it was refused",
        "a method was asked for and refused",
        "no draft model",
        "n-gram, no draft model",
        "a file that nobody loaded",
        "nothing but slots",
        "nothing",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_without_a_look_at_the_slots_it_waits() -> None:
    assert look(RULE, LOADED) == Collecting("a look at /slots")
    # Builds from before the field say nothing either way.
    assert look(RULE, LOADED, b.idle(0.1, task=None)) == Collecting("a look at /slots")
