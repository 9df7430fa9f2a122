"""Stalls between host and device: each burst as shares of its time."""

from __future__ import annotations

import builders as b
import pytest

from specscope import events as ev
from specscope.session.trace_book import BURSTS_KEPT


def test_a_burst_as_shares_of_its_time() -> None:
    tracing = b.tracing("auto", burst_s=0.25, burst_every_s=10.0)
    stalls = b.seen(b.found(), tracing, b.stalls(5.0, 0.61, 0.3)).stalls
    assert stalls is not None
    (burst,) = stalls.bursts
    assert (burst.at, burst.span_s, burst.waits_per_cycle) == (b.T0 + 5, 0.25, 2.0)
    assert (burst.waiting, burst.idle) == (pytest.approx(0.61), pytest.approx(0.3))
    assert (stalls.burst_s, stalls.every_s) == (0.25, 10.0)


def test_shares_over_all_bursts_count_by_their_length() -> None:
    stalls = b.seen(b.found(), b.stalls(5.0, 0.8, 0.1, span_s=0.1), b.stalls(15.0, 0.4, 0.5, span_s=0.3)).stalls
    assert stalls is not None
    assert stalls.waiting == pytest.approx((0.8 * 0.1 + 0.4 * 0.3) / 0.4)
    assert stalls.idle == pytest.approx((0.1 * 0.1 + 0.5 * 0.3) / 0.4)
    assert (stalls.burst_s, stalls.every_s) == (pytest.approx(0.2), pytest.approx(10.0))


def test_a_burst_in_which_nothing_ran_tells_nothing() -> None:
    nothing = ev.StallsSampled(at=b.T0 + 5, span_s=0.25, cycles=0, wait_us=0, idle_us=250_000, waits=0, submits=0)
    of_no_length = ev.StallsSampled(at=b.T0 + 6, span_s=0.0, cycles=1, wait_us=1, idle_us=1, waits=1, submits=1)
    assert b.seen(b.found(), nothing, of_no_length).stalls is None


def test_a_server_that_does_not_draft_has_bursts_without_cycles() -> None:
    stalls = b.seen(
        b.found(), ev.StallsSampled(at=b.T0, span_s=0.2, cycles=0, wait_us=160_000, idle_us=0, waits=60, submits=60)
    ).stalls
    assert stalls is not None
    assert (stalls.waiting, stalls.bursts[0].waits_per_cycle) == (pytest.approx(0.8), None)


def test_a_thread_cannot_wait_while_the_device_is_idle() -> None:
    long = ev.StallsSampled(at=b.T0, span_s=0.1, cycles=3, wait_us=90_000, idle_us=30_000, waits=6, submits=9)
    stalls = b.seen(b.found(), long).stalls
    assert stalls is not None
    assert (stalls.waiting, stalls.idle) == (pytest.approx(0.9), pytest.approx(0.1))


def test_the_latest_bursts_are_kept_and_a_restart_forgets_them() -> None:
    bursts = [b.stalls(float(i), 0.5, 0.2) for i in range(BURSTS_KEPT + 5)]
    target = b.seen(b.found(), b.started("1"), *bursts)
    assert target.stalls is not None
    assert [s.at - b.T0 for s in target.stalls.bursts] == [float(i) for i in range(5, BURSTS_KEPT + 5)]
    assert b.seen(b.found(), b.started("1"), *bursts, b.started("2", at=99.0)).stalls is None


def test_rest_between_requests_is_no_stall() -> None:
    # Half a second: a request ends at 150 ms, the next begins at 350 ms; the device had nothing to do because
    # nobody asked for anything.
    spans = [("submit", 5_000, 500), ("wait", 5_500, 144_500), ("submit", 350_000, 500), ("wait", 350_500, 149_500)]
    pause = ev.StallsSampled(
        at=b.T0, span_s=0.5, cycles=20, wait_us=210_000, idle_us=260_000, waits=40, submits=60, spans=spans
    )
    stalls = b.seen(b.found(), pause).stalls
    assert stalls is not None
    assert stalls.bursts[0].span_s == pytest.approx(0.3)
    assert (stalls.waiting, stalls.idle) == (pytest.approx(0.7), pytest.approx(0.2))


def test_a_burst_that_a_request_fills_in_part() -> None:
    spans = [("submit", 300_000, 500), ("wait", 301_000, 99_000)]
    late = ev.StallsSampled(
        at=b.T0, span_s=0.5, cycles=6, wait_us=60_000, idle_us=30_000, waits=12, submits=18, spans=spans
    )
    stalls = b.seen(b.found(), late).stalls
    assert stalls is not None
    assert stalls.bursts[0].span_s == pytest.approx(0.2)  # what follows is too short for a rest
    assert (stalls.waiting, stalls.idle) == (pytest.approx(0.3), pytest.approx(0.15))
    over = ev.StallsSampled(at=b.T0, span_s=0.05, cycles=1, wait_us=1, idle_us=1, waits=1, submits=1, spans=spans)
    assert b.seen(b.found(), over).stalls is None


def test_where_the_cpu_computes_nobody_waits_for_anybody() -> None:
    facts = [b.tracing(asynchronous=False), b.stalls(5.0, 0.8, 0.1, span_s=0.1)]
    assert b.seen(b.found(), *facts).stalls is None
