"""SPC501: draft tokens are selected on the host."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look

from specscope.findings.host.host_argmax import RULE

ON_HOST = b.process("-md d.gguf --spec-type draft-dflash --no-spec-draft-backend-sampling")


def test_the_flag_and_what_it_copies() -> None:
    finding = found(RULE, ON_HOST, b.model(n_vocab=49_152))
    assert evidence(finding) == {
        "flag": "--no-spec-draft-backend-sampling",
        "logits per draft row": "196,608 bytes (49,152 x 4)",
    }
    assert "--no-spec-draft-backend-sampling" in finding.advice
    assert finding.severity == "info"  # a path, not a loss: what it costs was not measured
    assert finding.cost_ms is None


@pytest.mark.parametrize("code", ["backend_offload_failed", "backend_sampling_unsupported"])
def test_the_servers_own_lines(code: str) -> None:
    finding = found(RULE, b.said(code))
    assert list(evidence(finding)) == ["log"]
    assert "CPU" in evidence(finding)["log"]


@pytest.mark.parametrize(
    "facts",
    [
        [],
        [b.process("-md d.gguf --spec-draft-backend-sampling")],
        [b.process("-md d.gguf"), b.model(n_vocab=49_152)],
        [ON_HOST, b.busy(params={"speculative.types": "ngram-mod"})],
        [ON_HOST, b.idle(0.1, task=None, speculative=False)],
        [b.said("backend_offload_failed"), b.busy(params={"speculative.types": "none"})],
    ],
    ids=["nothing", "on the device", "default", "no drafter drafts", "off", "none"],
)
def test_it_does_not_apply(facts: list[object]) -> None:
    assert look(RULE, *facts) == ()
