"""SPC501: draft tokens are selected on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said, state
from replayed import replayed

from specscope.findings.host.host_argmax import RULE
from specscope.findings.rule import Case

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.findings.rule import Finding
    from specscope.session.state import Session

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


def test_a_tensor_split_is_a_way_to_it() -> None:
    finding = found(RULE, b.process("-md d.gguf --spec-type draft-simple -sm tensor"))
    assert evidence(finding)["flag"] == "-sm tensor"
    assert finding.advice.startswith("try -sm layer")
    assert (
        said(look(RULE, b.process("-m m.gguf -sm tensor"), b.idle(0.1, task=None, speculative=False)))
        == "does not apply: speculation is off"
    )


def test_a_variable_is_named_as_it_was_given() -> None:
    env = {"LLAMA_ARG_NO_SPEC_DRAFT_BACKEND_SAMPLING": "1"}
    finding = found(RULE, b.process("-md d.gguf --spec-type draft-dflash", env=env))
    assert evidence(finding)["flag"] == "LLAMA_ARG_NO_SPEC_DRAFT_BACKEND_SAMPLING"
    assert finding.advice.startswith("drop LLAMA_ARG_NO_SPEC_DRAFT_BACKEND_SAMPLING")


def test_what_the_log_says_of_the_setting_is_enough() -> None:
    finding = found(RULE, DFLASH, b.said("spec_params", n_max="15", n_min="0", p_min="0.00", backend_sampling="0"))
    assert evidence(finding)["seen by"] == "log: backend_sampling=0"


# --- what it costs: measured against a recording of the other path ----------------------------------------------------


def test_an_h200_that_lost_nothing_by_it() -> None:
    host, device = replayed("h200_host_argmax"), replayed("h200_dflash")
    (finding,) = RULE.look(Case(host.targets[0], host, frozenset(), device))  # type: ignore[misc]
    cost = "none beyond noise: 12.62 ms a step, 12.20 in the recording that selects on the device"
    assert evidence(finding)["cost"] == cost
    assert finding.cost_ms is None


def run(step_ms: float, *facts: ev.Event) -> Session:
    """Four requests alike, of eight-token steps of that length."""
    told: list[ev.Event] = [b.found(), b.model(n_vocab=49_152), *facts]
    for task in range(1, 5):
        at = 10.0 * task
        told.append(b.launched(at, task=task))
        told += [b.cycle(at + (i + 1) * step_ms / 1000, 15, 7, task=task) for i in range(100)]
        told.append(b.logged(at + 5, task=task, generated=801, generated_ms=100 * step_ms, drafted=1500, accepted=700))
    return b.fold(*told, b.tracing(asynchronous=True)).view()


DEVICE = (DFLASH, b.props(total_slots=1), b.copies(2.0, [TARGET_LOGITS, TOP], turns=75))
HOST = (ON_HOST, b.props(total_slots=1), b.copies(2.0, [TARGET_LOGITS, DRAFT_LOGITS], turns=75))


def beside(now: Session, before: Session) -> Finding:
    (finding,) = RULE.look(Case(now.targets[0], now, frozenset(), before))  # type: ignore[misc]
    return finding


def test_a_loss_that_was_measured_is_told() -> None:
    finding = beside(run(14.0, *HOST), run(13.0, *DEVICE))
    assert finding.cost_ms == pytest.approx(1.0, abs=0.02)
    assert "13.88 ms a step, 12.89 in the recording" in evidence(finding)["cost"]


def test_a_recording_that_differs_otherwise_proves_nothing() -> None:
    other = b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 7")
    finding = beside(run(14.0, *HOST), run(13.0, other, *DEVICE[1:]))
    assert (finding.cost_ms, evidence(finding)["cost"]) == (
        None,
        "not measured here: the recording differs in spec_draft_n_max as well",
    )
    assert beside(run(14.0, *HOST), run(13.0, *HOST)).cost_ms is None


def test_copies_that_show_the_device_outweigh_the_flag() -> None:
    assert look(RULE, ON_HOST, *MODELS, b.copies(2.0, [TARGET_LOGITS, TOP], turns=75)) == ()


def test_copies_that_do_not_tell_leave_it_to_the_flag() -> None:
    untold = b.copies(2.0, [TARGET_LOGITS], turns=75)
    assert next(iter(evidence(found(RULE, ON_HOST, *MODELS, untold)))) == "flag"
    too_few = b.copies(2.0, [TARGET_LOGITS, TOP], turns=2)
    assert next(iter(evidence(found(RULE, ON_HOST, *MODELS, too_few)))) == "flag"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([b.process("-md d.gguf --spec-draft-backend-sampling")], "nothing"),
        ([b.process("-md d.gguf"), b.model(n_vocab=49_152)], "waits"),
        ([ON_HOST, b.busy(params={"speculative.types": "ngram-mod"})], "does not apply"),
        ([ON_HOST, b.idle(0.1, task=None, speculative=False)], "does not apply"),
        ([b.said("backend_offload_failed"), b.busy(params={"speculative.types": "none"})], "does not apply"),
        ([DFLASH, *MODELS, b.copies(2.0, [TARGET_LOGITS, TOP], turns=75)], "nothing"),
        ([DFLASH, *MODELS], "waits"),
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
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says
