"""SPC501: draft tokens are selected on the host."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look

from specscope.findings.host.host_argmax import RULE

ON_HOST = b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 15 --no-spec-draft-backend-sampling")
DFLASH = b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 15")
MODELS = [b.model(n_vocab=49_152, n_embd=4096), b.props(total_slots=1), b.tracing(asynchronous=True)]
TARGET_LOGITS = ("target", 3_145_728, 75)
DRAFT_LOGITS = ("drafter", 3_145_728, 75)
TOP = ("drafter", 40, 2_400)


def test_the_flag_and_what_it_copies() -> None:
    finding = found(RULE, ON_HOST, b.model(n_vocab=49_152))
    assert evidence(finding) == {
        "flag": "--no-spec-draft-backend-sampling",
        "logits per draft row": "196,608 bytes (49,152 x 4)",
        "cost": "not measured here",
    }
    assert "--no-spec-draft-backend-sampling" in finding.advice
    assert finding.severity == "info"  # a path, not a loss: what it costs was not measured
    assert finding.cost_ms is None


@pytest.mark.parametrize("code", ["backend_offload_failed", "backend_sampling_unsupported"])
def test_the_servers_own_lines(code: str) -> None:
    finding = found(RULE, b.said(code))
    assert list(evidence(finding)) == ["log", "cost"]
    assert "CPU" in evidence(finding)["log"]


def test_copies_show_it_without_a_flag() -> None:
    finding = found(RULE, DFLASH, *MODELS, b.copies(2.0, [TARGET_LOGITS, DRAFT_LOGITS], turns=75))
    assert evidence(finding) == {
        "copies": "1 x 3,145,728 bytes a turn: logits of 16 rows",
        "logits per draft row": "196,608 bytes (49,152 x 4)",
        "cost": "not measured here",
    }


def test_the_traced_part_of_the_draft_is_told_and_is_no_loss() -> None:
    turns = [b.turn(1 + i / 75, 13_000, draft_us=4_100, draft_sampling_us=800) for i in range(60)]
    finding = found(RULE, ON_HOST, *MODELS, *turns, b.copies(2.0, [DRAFT_LOGITS], turns=75))
    assert list(evidence(finding))[:2] == ["copies", "flag"]
    assert evidence(finding)["cost"] == "not measured here; sampling is 0.80 of the draft's 4.10 ms a turn"
    assert finding.cost_ms is None


def test_copies_that_show_the_device_outweigh_the_flag() -> None:
    assert look(RULE, ON_HOST, *MODELS, b.copies(2.0, [TARGET_LOGITS, TOP], turns=75)) == ()


def test_copies_that_do_not_tell_leave_it_to_the_flag() -> None:
    untold = b.copies(2.0, [TARGET_LOGITS], turns=75)
    assert next(iter(evidence(found(RULE, ON_HOST, *MODELS, untold)))) == "flag"
    too_few = b.copies(2.0, [TARGET_LOGITS, TOP], turns=2)
    assert next(iter(evidence(found(RULE, ON_HOST, *MODELS, too_few)))) == "flag"


@pytest.mark.parametrize(
    "facts",
    [
        [],
        [b.process("-md d.gguf --spec-draft-backend-sampling")],
        [b.process("-md d.gguf"), b.model(n_vocab=49_152)],
        [ON_HOST, b.busy(params={"speculative.types": "ngram-mod"})],
        [ON_HOST, b.idle(0.1, task=None, speculative=False)],
        [b.said("backend_offload_failed"), b.busy(params={"speculative.types": "none"})],
        [DFLASH, *MODELS, b.copies(2.0, [TARGET_LOGITS, TOP], turns=75)],
        [DFLASH, *MODELS],
    ],
    ids=[
        "nothing",
        "on the device",
        "default",
        "no drafter drafts",
        "off",
        "none",
        "traced on the device",
        "no copies",
    ],
)
def test_it_does_not_apply(facts: list[object]) -> None:
    assert look(RULE, *facts) == ()
