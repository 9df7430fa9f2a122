"""The rolling figures: the last ten seconds of decoding, whatever the time is now."""

from __future__ import annotations

import builders as b
import pytest
from simulated import Work

TRACED = [b.found(), b.attached("log", "cycles")]


def steady(count: int, *, step_s: float = 0.02, begins: float = 1.0, slot: int = 0, task: int = 1) -> list[object]:
    lines = [b.cycle(begins + step_s * i, 15, 5, slot=slot, task=task) for i in range(count)]
    return [b.launched(begins - 0.1, slot=slot, task=task), *lines]


def test_speed_is_tokens_over_the_time_of_their_steps() -> None:
    rates = b.seen(*TRACED, *steady(101)).rates
    assert rates.tok_s == pytest.approx(6 / 0.02)
    assert (rates.tau, rates.tau_draft) == (6.0, 6.0)
    assert (rates.acceptance, rates.width_mean) == (5 / 15, 15.0)
    assert rates.cycle_ms == pytest.approx(20.0)
    assert rates.span_s == pytest.approx(2.0)
    assert rates.busy_slots == pytest.approx(1.0)


def test_the_first_seen_step_of_a_request_has_no_time_and_no_speed() -> None:
    rates = b.seen(*TRACED, *steady(1)).rates
    assert (rates.tok_s, rates.cycle_ms, rates.busy_slots, rates.span_s) == (None, None, None, 0.0)
    assert (rates.tau, rates.steps) == (6.0, 1)


def test_pauses_between_requests_are_no_decoding_time() -> None:
    rates = b.seen(*TRACED, *steady(51), b.released(2.1), *steady(51, begins=8.0, task=2)).rates
    assert rates.tok_s == pytest.approx(6 / 0.02)
    assert rates.span_s == pytest.approx(2.0)


def test_only_the_last_ten_seconds_count() -> None:
    slow = [*steady(101, step_s=0.1, begins=1.0), b.released(11.0)]
    half = b.seen(*TRACED, *slow, *steady(251, begins=12.0, task=2)).rates
    assert half.tok_s == pytest.approx((250 + 40) * 6 / 9.0, rel=0.01)
    whole = b.seen(*TRACED, *slow, *steady(551, begins=12.0, task=2)).rates
    assert whole.tok_s == pytest.approx(6 / 0.02)
    assert whole.span_s == pytest.approx(10.0)


def test_slots_at_once_share_the_time() -> None:
    both = sorted([*steady(101), *steady(101, slot=1, task=2)], key=lambda f: f.at)
    rates = b.seen(*TRACED, *both).rates
    assert rates.tok_s == pytest.approx(2 * 6 / 0.02)
    assert rates.busy_slots == pytest.approx(2.0)
    assert (rates.tau, rates.cycle_ms) == (6.0, pytest.approx(20.0))


def test_slots_that_overlap_in_part_count_the_common_time_once() -> None:
    facts = sorted([*steady(101), *steady(101, begins=2.0, slot=1, task=2)], key=lambda f: f.at)
    rates = b.seen(*TRACED, *facts).rates
    assert rates.span_s == pytest.approx(3.0)
    assert rates.tok_s == pytest.approx(2 * 100 * 6 / 3.0)
    assert rates.busy_slots == pytest.approx(4.0 / 3.0)


def test_the_order_in_which_the_facts_came_does_not_matter() -> None:
    one, other = steady(101), steady(101, begins=1.01, slot=1, task=2)
    told = b.seen(*TRACED, *sorted([*one, *other], key=lambda f: f.at)).rates
    late = b.seen(*TRACED, *one, *other).rates
    assert (late.tok_s, late.span_s, late.cycle_ms_p95) == (told.tok_s, told.span_s, told.cycle_ms_p95)


def test_a_stall_is_in_the_95th_percentile_and_not_in_the_median() -> None:
    times = [1 + 0.02 * i + (0.3 if i > 5 else 0.0) + (0.3 if i > 12 else 0.0) for i in range(21)]
    rates = b.seen(*TRACED, b.launched(), *[b.cycle(at, 15, 5) for at in times]).rates
    assert rates.cycle_ms == pytest.approx(20.0)
    assert rates.cycle_ms_p95 == pytest.approx(320.0)


def test_widths_that_were_not_seen_leave_acceptance_unknown() -> None:
    rates = b.seen(b.found(), b.attached("slots", "polled"), *Work(0, 1, 1.0, ((15, 5),) * 20).polls()).rates
    assert (rates.acceptance, rates.width_mean) == (None, None)
    assert rates.tau_draft == 6.0


def test_the_prompts_own_token_is_no_decoding() -> None:
    work = Work(0, 1, 1.0, ((15, 5),) * 20)
    rates = b.seen(*TRACED, *work.log()).rates
    assert (rates.tau, rates.steps) == (6.0, 20)
    assert rates.tok_s == pytest.approx(6 / 0.02)
