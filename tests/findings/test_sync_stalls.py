"""SPC504: the device waits for the host for most of the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.host.sync_stalls import MIN_BURSTS, RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from specscope import events as ev

GPU = b.tracing(asynchronous=True, burst_s=0.5, burst_every_s=10.0)
PARTS = {
    "draft_us": 3_400,
    "draft_sampling_us": 300,
    "submit_us": 500,
    "wait_us": 4_700,
    "features_us": 1_300,
    "sampling_us": 2_900,
    "samples": 7,
}


def bursts(idle: float, *, waiting: float = 0.3, count: int = MIN_BURSTS) -> list[ev.Event]:
    return [b.stalls(5.0 + 10 * i, waiting, idle, span_s=0.5) for i in range(count)]


def test_a_device_that_is_idle_for_most_of_the_time() -> None:
    turns = [b.turn(1 + i / 75, 13_000, **PARTS) for i in range(60)]
    finding = found(RULE, GPU, *turns, *bursts(0.56))
    assert finding.summary == "the device is idle 56% of the time: the host has no work ready for it"
    assert evidence(finding) == {
        "device idle": "56% of 1.5 s in 3 bursts",
        "host waits for the device": "30%",
        "the host meanwhile": "sampling 2.9 ms, handing features over 1.3 ms, submitting 0.5 ms of 13.0 ms a turn",
    }
    assert finding.cost_ms == pytest.approx((0.56 - 0.4) * 13.0)
    assert "--backend-sampling" in finding.advice


def test_without_turns_the_share_alone_is_told() -> None:
    finding = found(RULE, GPU, *bursts(0.9, waiting=0.05))
    assert list(evidence(finding)) == ["device idle", "host waits for the device"]
    assert finding.cost_ms is None


@pytest.mark.parametrize("idle", [0.31, 0.4, 0.49], ids=["an H200", "an H200 in its bursts", "just below"])
def test_what_is_normal_is_no_finding(idle: float) -> None:
    assert look(RULE, GPU, *bursts(idle)) == ()


def test_once_raised_it_stays_until_it_is_well_below() -> None:
    assert found(RULE, GPU, *bursts(0.46), raised=["t0"])
    assert look(RULE, GPU, *bursts(0.44), raised=["t0"]) == ()


def test_bursts_count_together() -> None:
    assert look(RULE, GPU, *bursts(0.4), b.stalls(40.0, 0.1, 0.7, span_s=0.5)) == ()
    assert found(RULE, GPU, *bursts(0.4), *[b.stalls(40.0 + i, 0.1, 0.8, span_s=0.5) for i in range(3)])


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        (bursts(0.9), "waits"),
        ([b.tracing(asynchronous=False, burst_s=0.5), *bursts(0.9)], "does not apply"),
        ([b.tracing(burst_s=0.5), *bursts(0.9)], "waits"),
        ([b.tracing("cheap", asynchronous=True), *bursts(0.9)], "does not apply"),
    ],
    ids=["nothing", "no start seen", "a CPU backend", "a backend nobody knows", "no bursts"],
)
def test_it_does_not_apply(facts: list[ev.Event], says: str) -> None:
    assert state(look(RULE, *facts)) == says


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_bursts(count: int) -> None:
    waits = look(RULE, GPU, *bursts(0.9, count=count))
    assert waits == Collecting(f"3 bursts in which the server decodes ({count} so far)")
