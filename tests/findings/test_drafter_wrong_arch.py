"""SPC109: the draft model's file was made for another method."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.speculation.drafter_wrong_arch import RULE

OFF = b.idle(0.1, task=None, speculative=False)
ON = b.idle(0.1, task=None, speculative=True)
DOWN = b.server("down", 1.0)
DFLASH = b.model("drafter", arch="dflash", has_markov_head=False)
DSPARK = b.model("drafter", arch="dflash", has_markov_head=True)
BLOCK = b.model("drafter", arch="dflash")
EAGLE = b.model("drafter", arch="eagle3")
PLAIN = b.model("drafter", arch="llama")
FORK = b.model("drafter", arch="dflash-draft")


def asked(method: str) -> object:
    return b.process(f"-m m.gguf -md d.gguf --spec-type {method}")


@pytest.mark.parametrize(
    ("method", "drafter", "made"),
    [
        ("draft-dflash", DSPARK, "draft-dspark"),
        ("draft-dspark", DFLASH, "draft-dflash"),
        ("draft-simple", DFLASH, "draft-dflash"),
        ("draft-simple", EAGLE, "draft-eagle3"),
        ("draft-dflash", EAGLE, "draft-eagle3"),
    ],
)
def test_pairs_that_draft_noise(method: str, drafter: object, made: str) -> None:
    finding = found(RULE, asked(method), ON, drafter, b.attached("log", "cycles"), *b.of_log([(3, 0)] * 20))
    assert finding.severity == "critical"
    assert finding.summary == "the draft model was not made for this method: it drafts noise"
    assert evidence(finding) == {
        f"drafter for {method}": f"made for {made}",
        "accepted so far": "0.0% of 60 draft tokens",
    }
    assert finding.advice == f"set --spec-type {made}, which this file was made for"


def test_a_block_drafter_whose_kind_is_not_known() -> None:
    finding = found(RULE, asked("draft-simple"), ON, BLOCK)
    assert finding.advice.startswith("leave --spec-type out")


def test_an_architecture_that_the_build_refused() -> None:
    finding = found(RULE, asked("draft-eagle3"), OFF, PLAIN)
    assert finding.summary.endswith("speculation is off")
    assert evidence(finding) == {"drafter for draft-eagle3": "architecture 'llama', no draft-eagle3 drafter"}
    reason = b.said("speculation_failed", reason="draft model is not eagle3 (expected 3 extract layers, got 0)")
    assert "is not eagle3" in evidence(found(RULE, asked("draft-eagle3"), OFF, reason))["log"]


def test_a_server_that_does_not_start() -> None:
    lines = [b.said("draft_load_failed", path="/m/d.gguf"), b.said("unknown_architecture", arch="dflash-draft")]
    finding = found(RULE, *lines, DOWN)
    assert evidence(finding) == {"draft model": "/m/d.gguf", "log": "unknown model architecture: 'dflash-draft'"}
    assert "convert_hf_to_gguf.py" in finding.advice
    assert found(RULE, b.said("dflash_layers_missing"), DOWN).summary.endswith("the server does not start")


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([asked("draft-dflash"), ON, DFLASH], "nothing"),
        ([asked("draft-dspark"), ON, DSPARK], "nothing"),
        ([asked("draft-dflash"), ON, BLOCK], "nothing"),
        ([asked("draft-eagle3"), ON, EAGLE], "nothing"),
        ([asked("draft-simple"), ON, PLAIN], "nothing"),
        ([asked("draft-mtp"), ON, PLAIN], "nothing"),
        ([asked("draft-dflash"), ON, FORK], "nothing"),
        ([asked("draft-dflash"), DSPARK], "waits"),
        ([asked("draft-dflash"), ON, b.model("drafter")], "nothing"),
        ([asked("ngram-mod"), ON, DFLASH], "nothing"),
        ([asked("draft-dflash"), OFF, DFLASH], "nothing"),
        ([b.said("unknown_architecture", arch="qwen9"), DOWN], "nothing"),
        ([b.said("dflash_layers_missing"), b.server("ready", 1.0)], "waits"),
        ([DOWN], "waits"),
    ],
    ids=[
        "nothing",
        "DFlash",
        "DSpark",
        "one of the two",
        "EAGLE-3",
        "a plain model",
        "MTP has its own rule",
        "a fork that knows the architecture speculates",
        "no look at the slots",
        "architecture not read",
        "the file is not used",
        "off for another reason",
        "the target's architecture",
        "it has started again",
        "down for no known reason",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says
