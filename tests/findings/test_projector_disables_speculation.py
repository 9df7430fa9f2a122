"""SPC111: a projector is loaded, and the server does not speculate with it."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.rule import Collecting
from specscope.findings.speculation.projector_disables_speculation import MIN_TOKENS, RULE

ASKED = b.process("-m m.gguf --mmproj p.gguf -md d.gguf --spec-type draft-simple")
OFF = b.idle(0.1, task=None, speculative=False)
ON = b.idle(0.1, task=None, speculative=True)
IMAGES = b.props(vision=True)


def counted(generated: int, drafts: int = 0) -> object:
    return b.counters(1.0, drafts, 3 * drafts, 0, generated=generated)


def test_the_servers_own_line() -> None:
    finding = found(RULE, ASKED, OFF, b.said("speculation_not_supported", by="multimodal"))
    assert finding.settled
    assert evidence(finding) == {
        "asked for": "draft-simple",
        "projector": "p.gguf",
        "log": "speculative decoding is not supported by multimodal",
    }
    assert "--no-mmproj" in finding.advice


def test_slots_that_do_not_speculate_for_no_other_reason() -> None:
    assert evidence(found(RULE, ASKED, OFF, IMAGES))["/props"] == "the model reads images"


def test_a_drafter_that_never_drafts() -> None:
    finding = found(RULE, ASKED, ON, IMAGES, counted(MIN_TOKENS))
    assert evidence(finding)["generated"] == "200 tokens"
    assert not finding.settled


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([ASKED, ON, IMAGES, counted(9000, drafts=1)], "nothing"),
        ([ASKED, ON, IMAGES], "waits"),
        ([ASKED, ON, b.props(vision=False), counted(9000)], "does not apply"),
        ([ASKED, ON, b.props(), counted(9000)], "does not apply"),
        ([b.process("--mmproj p.gguf --spec-type ngram-mod"), ON, IMAGES, counted(9000)], "nothing"),
        ([b.process("--mmproj p.gguf"), OFF, IMAGES, counted(9000)], "does not apply"),
        ([ASKED, OFF, IMAGES, b.said("speculation_failed", reason="out of memory")], "nothing"),
        ([ASKED, OFF, b.props(vision=False)], "nothing"),
        ([ASKED, IMAGES], "waits"),
    ],
    ids=[
        "nothing",
        "it drafts",
        "no count of drafts",
        "text only",
        "modalities unknown",
        "tables need not draft",
        "not asked for",
        "off for another reason",
        "off, without images",
        "no look at the slots",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_too_few_tokens() -> None:
    waits = look(RULE, ASKED, ON, IMAGES, counted(MIN_TOKENS - 1))
    assert waits == Collecting("200 generated tokens (199 so far, without a draft)")
