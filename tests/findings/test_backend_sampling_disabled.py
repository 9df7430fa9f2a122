"""SPC505: requests that cannot be sampled on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said, state

from specscope.findings.host.backend_sampling_disabled import RULE

if TYPE_CHECKING:
    from specscope import events as ev

GRAMMAR = b.said("backend_sampling_disabled", 1.0, reason="grammar")


def asked(**params: object) -> ev.Event:
    return b.busy(0.5, params=params)


def test_the_logs_line() -> None:
    again = b.said("backend_sampling_disabled", 3.0, reason="reasoning budget")
    finding = found(RULE, b.process("-m m.gguf -bs"), GRAMMAR, again)
    assert finding.severity == "info"
    assert evidence(finding) == {
        "log": "backend sampling is not compatible with reasoning budget (2 times)",
        "cost": "not measured here",
    }
    assert "what -bs gains" in finding.advice
    assert finding.cost_ms is None


def test_probabilities_before_sampling_want_the_logits() -> None:
    finding = found(RULE, asked(backend_sampling=True, n_probs=5, post_sampling_probs=False))
    assert evidence(finding)["the latest request"] == "n_probs 5, before sampling"
    target = b.seen(b.found(), asked(backend_sampling=True, n_probs=5, post_sampling_probs=False))
    assert (target.backend_path.target, target.backend_path.evidence) == ("host", "estimated")


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"backend_sampling": True}, "nothing"),
        ({"backend_sampling": True, "n_probs": 0}, "nothing"),
        ({"backend_sampling": True, "n_probs": 5, "post_sampling_probs": True}, "nothing"),
        ({"backend_sampling": False, "n_probs": 5}, "does not apply"),
        ({"n_probs": 5}, "does not apply"),
    ],
    ids=str,
)
def test_requests_that_are_sampled_as_asked(params: dict[str, object], says: str) -> None:
    assert state(look(RULE, asked(**params))) == says


def test_a_line_of_long_ago_is_no_longer_told() -> None:
    assert found(RULE, GRAMMAR, b.mark("", 600.0))
    assert said(look(RULE, GRAMMAR, b.mark("", 602.0))) == "waits: a request whose parameters are seen (/slots)"
    assert look(RULE, GRAMMAR, b.mark("", 602.0), raised=["t0"]) == ()
