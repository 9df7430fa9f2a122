"""SPC406: the context was shifted."""

from __future__ import annotations

import builders as b
from judged import evidence, found, look, said

from specscope.findings.memory.context_shift import RULE

SHIFT = b.said("context_shift", 5.0, slot="0", task="1", n_keep="0", n_left="4095", n_discard="2047")
POLLED = [b.step(4.0, 290, fill_tokens=4090), b.step(5.1, 300, fill_tokens=2055)]


def test_the_logs_line() -> None:
    finding = found(RULE, b.process("-c 4096 --context-shift"), b.busy(1.0, n_ctx=4096), SHIFT)
    assert finding.severity == "warning"
    assert evidence(finding) == {
        "shifts": "1 in 1 of the latest 1 request(s)",
        "log": "n_keep = 0, n_discard = 2047 (the latest)",
        "context of a slot": "4,096 tokens",
    }
    assert "--no-context-shift" in finding.advice
    assert "raise -c" in finding.advice


def test_slots_tell_it_without_a_log() -> None:
    finding = found(RULE, b.busy(1.0, n_ctx=4096), *POLLED)
    assert evidence(finding)["shifts"] == "1 in 1 of the latest 1 request(s)"
    assert "log" not in evidence(finding)


def test_a_new_prompt_or_an_end_is_no_shift() -> None:
    assert look(RULE, b.busy(1.0, n_ctx=4096), b.step(2.0, 290, fill_tokens=4090), b.idle(3.0, fill_tokens=4090)) == ()
    again = [b.busy(4.0, task=2, n_ctx=4096), b.step(5.0, 10, task=2, fill_tokens=60)]
    assert look(RULE, b.busy(1.0, n_ctx=4096), b.step(2.0, 290, fill_tokens=4090), *again) == ()


def test_a_line_about_a_request_that_is_not_known_tells_nothing() -> None:
    assert said(look(RULE, SHIFT)) == "waits: a request"


def test_it_is_over_after_twenty_requests_without() -> None:
    later = [f for i in range(2, 22) for f in (b.busy(10.0 * i, task=i), b.idle(10.0 * i + 5, task=i))]
    assert found(RULE, b.busy(1.0, n_ctx=4096), SHIFT, b.idle(9.0), *later[:-2])
    assert look(RULE, b.busy(1.0, n_ctx=4096), SHIFT, b.idle(9.0), *later) == ()
