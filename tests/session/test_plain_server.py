"""A server that does not draft: no drafting figure is made up, and a step is a token."""

from __future__ import annotations

import builders as b
import pytest

FOUND = [b.found(), b.attached("slots", "polled")]
NONE = {"speculative": False}


def polled(count: int = 50, task: int = 1, at: float = 1.0) -> list[object]:
    """A request polled five times a second while it decodes 100 tokens a second."""
    steps = [b.step(at + 0.2 * i, 1 + 20 * i, task=task, held_ms=190.0) for i in range(count // 20 + 1)]
    return [b.busy(at - 0.1, task=task, **NONE), *steps]


def test_every_token_is_a_plain_step() -> None:
    target = b.seen(*FOUND, *polled(100), b.idle(3.0, **NONE))
    totals = target.totals
    assert (totals.plain_steps, totals.generated, totals.tau) == (101, 101, 1.0)
    for figure in ("cycles", "drafted", "accepted", "tau_draft", "acceptance", "width_mean", "width_max"):
        assert getattr(totals, figure) is None, figure
    assert (totals.histogram, totals.survival, totals.joint) == ((), (), ())
    assert (target.evidence, target.cycle_evidence, target.cycles) == ("polled", "unknown", ())
    assert (target.poll.merged, target.poll.completeness) == (0, None)


def test_its_rates_have_speed_and_no_drafts() -> None:
    rates = b.seen(*FOUND, *polled(100)).rates
    assert rates.tok_s == pytest.approx(100.0)
    assert rates.tau == 1.0
    assert (rates.tau_draft, rates.acceptance, rates.width_mean, rates.cycle_ms, rates.cycle_ms_p95) == (None,) * 5


def test_tokens_seen_with_the_first_take_no_time_of_their_own() -> None:
    # A slow poll sees several tokens at once when a request begins; nobody saw how long they took.
    rates = b.seen(*FOUND, b.busy(0.9, **NONE), b.step(1.0, 15), b.step(1.2, 35), b.step(1.4, 55)).rates
    assert rates.tok_s == pytest.approx(100.0)
    assert rates.span_s == pytest.approx(0.4)


def test_the_time_between_the_last_step_and_the_poll_that_saw_the_end_is_no_decoding() -> None:
    # 101 tokens by 2.0 s, ten more by 2.1 s, seen with the end at 2.6 s: nobody saw that half a second passed idle.
    steps = [b.step(at, n, fill_tokens=50 + n) for at, n in ((1.0, 1), (1.5, 51), (2.0, 101))]
    target = b.seen(*FOUND, b.busy(0.9, **NONE), *steps, b.idle(2.6, fill_tokens=50 + 111, **NONE))
    assert target.rates.tok_s == pytest.approx(100.0)
    assert target.totals.generated == 111
    assert target.requests[0].generated == 111


def test_its_requests_have_no_cycles() -> None:
    target = b.seen(*FOUND, *polled(100), b.logged(2.5, generated=101, generated_ms=1000.0))
    (row,) = target.requests
    assert (row.generated, row.tau, row.tok_s) == (101, 1.0, 100.0)
    assert (row.cycles, row.drafted, row.accepted, row.seen_by, row.agrees) == (None,) * 5


def test_its_slots_have_no_cycles_and_a_tau_of_one() -> None:
    (slot,) = b.seen(*FOUND, *polled(100)).slots
    assert (slot.tally_cycles, slot.tally_steps, slot.tau) == (0, 101, 1.0)


def test_the_counters_know_the_tokens_better_than_polling() -> None:
    counts = b.counters(0.0, 0, 0, 0, generated=10), b.counters(9.0, 0, 0, 0, generated=115)
    target = b.seen(*FOUND, counts[0], *polled(100), b.idle(3.0, **NONE), counts[1])
    assert (target.evidence, target.totals.generated, target.totals.tau) == ("counted", 105, 1.0)
    assert target.totals.cycles is None


def test_a_log_alone_tells_a_plain_request() -> None:
    facts = [b.found(), b.attached("log", "log"), b.launched(0.5)]
    target = b.seen(*facts, b.logged(1.6, generated=101, generated_ms=1000.0, prompt_ms=90.0))
    assert (target.totals.plain_steps, target.totals.tau, target.totals.cycles) == (101, 1.0, None)
    assert target.rates.tok_s == pytest.approx(100.0)


def test_nothing_seen_is_unknown_and_not_nought() -> None:
    target = b.seen(b.found())
    assert target.evidence == target.cycle_evidence == "unknown"
    totals, rates = target.totals, target.rates
    assert (totals.cycles, totals.plain_steps, totals.generated, totals.tau) == (None,) * 4
    assert (rates.tok_s, rates.tau, rates.tau_draft, rates.cycle_ms, rates.busy_slots) == (None,) * 5
    assert (target.poll.per_step, target.tier, target.config.types) == (None, "none", None)
