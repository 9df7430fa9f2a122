"""SPC108: the server was told to speculate and does not."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, said, state

from specscope.findings.rule import Collecting
from specscope.findings.speculation.speculation_refused import MIN_TOKENS, RULE

LINE = "-m m.gguf -md d.gguf --spec-type draft-simple"
SIMPLE = b.process(LINE, {})
NO_DRAFT = b.counters(1.0, 0, 0, 0, generated=9000)
OFF = b.idle(0.1, task=None, speculative=False)
ON = b.idle(0.1, task=None, speculative=True)
CONTEXT = b.said("speculation_not_supported", by="context")


def test_a_build_that_cannot() -> None:
    finding = found(RULE, SIMPLE, CONTEXT, b.props(build="b8808-0123456"))
    assert finding.severity == "critical"
    assert finding.settled
    assert finding.summary == (
        "draft-simple was asked for, but the server does not speculate: its build cannot do it with this model"
    )
    assert evidence(finding) == {
        "asked for": "draft-simple",
        "log": "speculative decoding not supported by this context",
        "build": "b8808, before checkpoints (about b8900)",
    }
    assert finding.advice.startswith("update llama.cpp")


def test_a_method_without_its_draft_model() -> None:
    reason = b.said("speculation_failed", reason="draft-simple requires a draft context")
    asked = b.process("-m m.gguf --spec-type draft-simple")
    by_log = found(RULE, asked, OFF, reason)
    assert by_log.summary.endswith("it has no draft model")
    assert "--spec-draft-model" in by_log.advice
    # b10434 leaves draft-dflash out without a word.
    by_flags = found(RULE, b.process("-m m.gguf --spec-type draft-dflash"), OFF)
    assert evidence(by_flags)["draft model"] == "none given"


def test_a_reason_in_the_log_is_passed_on() -> None:
    finding = found(RULE, SIMPLE, OFF, b.said("speculation_failed", reason="the draft model number of sequences"))
    assert "number of sequences" in evidence(finding)["log"]
    assert "as the log's reason says" in finding.advice


def test_without_a_reason_the_log_is_asked_for() -> None:
    finding = found(RULE, SIMPLE, OFF)
    assert evidence(finding) == {"asked for": "draft-simple", "slots with speculation": "0 of 1"}
    assert "-lv 4" in finding.advice


def test_what_switched_it_on_is_named_because_none_takes_nothing_away() -> None:
    for line, env, switches in (
        ("-m m.gguf -md d.gguf --spec-type draft-simple", {}, "-md and --spec-type"),
        ("-m m.gguf -md d.gguf", {"LLAMA_ARG_SPEC_TYPE": "draft-simple"}, "LLAMA_ARG_SPEC_TYPE and -md"),
    ):
        advice = found(RULE, b.process(line, env), OFF).advice
        assert advice.endswith(f"else run without {switches}")


def test_a_method_that_is_left_out_beside_others_that_draft() -> None:
    finding = found(RULE, b.process("-m m.gguf --spec-type ngram-mod,draft-dflash"), ON)
    assert finding.severity == "warning"
    assert finding.summary == "draft-dflash was asked for and is left out: it has no draft model"


def test_a_drafter_that_never_drafts() -> None:
    finding = found(RULE, SIMPLE, ON, b.counters(1.0, 0, 0, 0, generated=MIN_TOKENS))
    assert finding.severity == "warning"
    assert finding.summary == "draft-simple is on and has made no draft in 200 tokens"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([SIMPLE, ON, CONTEXT], "waits"),
        ([b.process("-m m.gguf"), OFF, CONTEXT], "does not apply"),
        ([b.process("-m m.gguf --spec-type none"), OFF], "does not apply"),
        ([b.process("-m m.gguf -md d.gguf"), OFF], "does not apply"),
        ([SIMPLE, OFF, b.said("speculation_not_supported", by="multimodal")], "nothing"),
        ([SIMPLE, OFF, b.said("vocab_incompatible", part="vocab type")], "nothing"),
        ([SIMPLE, OFF, b.props(vision=True)], "nothing"),
        ([b.process("-m m.gguf --spec-type draft-mtp"), OFF, b.model(nextn_layers=0)], "nothing"),
        (
            [b.process("-m m.gguf -md d.gguf --spec-type draft-dflash"), OFF, b.model("drafter", arch="llama")],
            "nothing",
        ),
        ([b.process("-hf u/m --spec-type ngram-mod,draft-dflash"), ON], "nothing"),
        ([b.process("-m m.gguf --spec-type draft-mtp"), ON], "nothing"),
        ([SIMPLE, ON, b.counters(1.0, 1, 3, 0, generated=9000)], "nothing"),
        ([SIMPLE, ON], "waits"),
        ([b.process(f"{LINE} --spec-draft-p-min 0.9", {}), ON, NO_DRAFT], "nothing"),
        ([b.process(f"{LINE} --spec-draft-n-min 9", {}), ON, NO_DRAFT], "nothing"),
        ([b.process(LINE), ON, NO_DRAFT], "nothing"),
        ([b.process("--spec-type ngram-mod", {}), ON, NO_DRAFT], "nothing"),
    ],
    ids=[
        "nothing",
        "it speculates, whatever the log said",
        "not asked for: builds print the line to any such model",
        "none asked for",
        "a draft model without a method is another matter",
        "the projector",
        "the vocabulary",
        "a model that reads images",
        "no MTP layers",
        "another architecture",
        "a repository may bring the drafter",
        "MTP needs none",
        "it drafts",
        "no count",
        "p_min may keep all back",
        "so may n_min",
        "the environment may set them",
        "tables need not draft",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_it_waits_for_the_slots_and_for_tokens() -> None:
    assert look(RULE, SIMPLE) == Collecting("a look at /slots")
    assert (
        said(look(RULE, SIMPLE, b.props(endpoint_slots=False)))
        == "does not apply: /slots is off: it alone tells whether slots speculate"
    )
    few = look(RULE, SIMPLE, ON, b.counters(1.0, 0, 0, 0, generated=MIN_TOKENS - 1))
    assert few == Collecting("200 generated tokens (199 so far, without a draft)")
