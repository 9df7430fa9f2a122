"""Streams of our own: each new pair of draft totals is a cycle, of the request that the stream belongs to."""

from __future__ import annotations

import builders as b
import pytest
from simulated import Work

from specscope.session.stream_book import CHUNKS_KEPT

FOUND = [b.found(), b.attached("slots", "polled")]
WORK = Work(0, 7, 1.0, ((15, 5), (15, 0), (3, 3)))


def test_a_stream_alone_tells_cycles_with_their_widths() -> None:
    target = b.seen(b.found(), *WORK.stream())
    totals = target.totals
    assert totals.joint == ((3, 3, 1), (15, 0, 1), (15, 5, 1))
    assert (totals.plain_steps, totals.generated, totals.tau) == (1, 12, 3.0)
    assert (target.evidence, target.referee.waiting) == ("unconfirmed", "waiting for all slots to be idle once")
    (row,) = target.requests
    assert (row.task, row.seen_by, row.whole, row.stop) == (None, "stream", True, "limit")
    assert {c.task for c in target.cycles} == {-1}


def test_chunks_of_the_same_cycle_are_no_cycle() -> None:
    same = [
        b.chunk(1.0, 1),
        b.chunk(1.1, 2, 8, 5),
        b.chunk(1.1, 3, 8, 5),
        b.chunk(1.1, 7, 8, 5),
        b.chunk(1.2, 8, 16, 5),
    ]
    assert b.seen(b.found(), *same).totals.joint == ((8, 0, 1), (8, 5, 1))


def test_the_last_totals_may_come_only_with_the_end() -> None:
    target = b.seen(b.found(), b.chunk(1.0, 1), b.streamed(generated=7, drafted=15, accepted=5))
    assert (target.totals.joint, target.totals.plain_steps) == (((15, 5, 1),), 1)


def test_a_stream_that_never_drafted_has_plain_steps_only() -> None:
    target = b.seen(b.found(), b.chunk(1.0, 1), b.chunk(1.1, 2), b.streamed(generated=9, generated_ms=80.0))
    assert (target.totals.cycles, target.totals.plain_steps, target.totals.tau) == (None, 9, 1.0)
    assert target.rates.tok_s == pytest.approx(8 / 0.08)


def test_what_the_client_measured_is_the_requests() -> None:
    figures = {"generated": 12, "generated_ms": 110.0, "prompt_tokens": 30, "prompt_ms": 90.0, "cached_tokens": 4}
    (row,) = b.seen(b.found(), b.chunk(1.0, 1), b.streamed(ttft_ms=97.5, stop="eos", **figures)).requests
    assert (row.prompt_tokens, row.cached_tokens, row.generated, row.stop) == (30, 4, 12, "eos")
    assert row.ttft_ms == 97.5
    assert row.tok_s == pytest.approx(11 * 1000 / 110.0)


def test_an_end_without_figures_leaves_those_of_others() -> None:
    logged = b.logged(2.0, task=7, generated=12, generated_ms=110.0, prompt_ms=88.0)
    (row,) = b.seen(*FOUND, *WORK.log()[:-2], WORK.stream()[0], logged, b.streamed(2.1, request="r7")).requests
    assert (row.generated, row.ttft_ms) == (12, 88.0)
    assert row.tok_s == pytest.approx(11 * 1000 / 110.0)


def test_two_streams_one_after_the_other_on_a_slot_are_two_requests() -> None:
    # Nothing but the streams tells of them, so neither has a task id.
    first, second = Work(0, 1, 1.0, ((15, 9),) * 3), Work(0, 2, 2.0, ((15, 1),))
    target = b.seen(b.found(), *first.stream(), *second.stream())
    assert target.totals.joint == ((15, 1, 1), (15, 9, 3))
    assert [(r.cycles, r.generated) for r in target.requests] == [(3, 31), (1, 3)]


def test_a_stream_whose_end_was_lost_ends_with_the_next_on_its_slot() -> None:
    first, second = Work(0, 1, 1.0, ((15, 9),)), Work(0, 2, 2.0, ((15, 1),))
    target = b.seen(b.found(), *first.stream()[:-1], *second.stream())
    assert [(r.cycles, r.ended_at is not None) for r in target.requests] == [(1, True), (1, True)]


def test_two_streams_at_once_are_told_apart() -> None:
    one, other = Work(0, 1, 1.0, ((15, 5), (15, 3))), Work(1, 2, 1.01, ((7, 1), (7, 7)))
    facts = sorted([*one.stream(), *other.stream()], key=lambda f: f.at)
    target = b.seen(b.found(), *facts)
    assert {r.slot: (r.drafted, r.accepted) for r in target.requests} == {0: (30, 8), 1: (14, 8)}


def test_a_task_named_while_the_stream_runs_is_its_requests() -> None:
    chunks = WORK.stream()
    target = b.seen(*FOUND, *chunks[:2], b.launched(1.0, task=7), *chunks[2:])
    assert [(r.task, r.cycles) for r in target.requests] == [(7, 3)]


def test_a_task_named_only_after_the_streams_end_is_its_requests() -> None:
    # A short request has ended before the log with its task id is read.
    target = b.seen(b.found(), b.attached("log", "cycles"), *WORK.stream(), *WORK.log())
    assert [(r.task, r.cycles, r.seen_by) for r in target.requests] == [(7, 3, "log")]
    assert target.totals.cycles == 3


def test_tasks_named_late_go_to_the_streams_in_their_order() -> None:
    first, second = Work(0, 1, 1.0, ((15, 9),) * 3), Work(0, 2, 2.0, ((15, 1),))
    logs = [*first.log(), *second.log()]
    target = b.seen(b.found(), b.attached("log", "cycles"), *first.stream(), *second.stream(), *logs)
    assert [(r.task, r.cycles, r.generated) for r in target.requests] == [(1, 3, 31), (2, 1, 3)]
    assert target.totals.cycles == 4


def test_a_request_without_a_task_is_not_lost_when_the_next_begins() -> None:
    target = b.seen(b.found(), *WORK.stream(), b.launched(3.0, task=8), b.launched(4.0, task=9))
    assert [(r.task, r.cycles) for r in target.requests] == [(None, 3), (8, None), (9, None)]


def test_chunks_that_name_no_slot_belong_to_the_one_request_at_work() -> None:
    target = b.seen(*FOUND, b.busy(1.0, task=7), *WORK.stream(names_slot=False))
    assert [(r.task, r.cycles, r.seen_by) for r in target.requests] == [(7, 3, "stream")]


def test_chunks_that_could_belong_to_two_requests_wait_for_the_slots_name() -> None:
    # Build b10434 says id_slot -1 in all chunks but the last.
    two = [b.busy(1.0, task=7), b.busy(1.0, slot=1, task=8)]
    chunks = WORK.stream(names_slot=False)
    waiting = b.seen(*FOUND, *two, *chunks[:-1])
    assert waiting.totals.cycles is None
    target = b.seen(*FOUND, *two, *chunks)
    assert {r.task: r.cycles for r in target.requests} == {7: 3, 8: None}
    assert target.totals.joint == ((3, 3, 1), (15, 0, 1), (15, 5, 1))


def test_a_request_that_polling_has_seen_end_is_still_the_streams() -> None:
    polls = WORK.polls()
    target = b.seen(*FOUND, *polls, *WORK.stream(names_slot=False))
    assert [(r.task, r.cycles, r.seen_by) for r in target.requests] == [(7, 3, "stream")]


def test_a_stream_does_not_take_the_request_of_somebody_else_before_it() -> None:
    foreign = Work(0, 6, 0.2, ((15, 9), (15, 9)))
    target = b.seen(*FOUND, *foreign.polls(), *WORK.stream())
    assert [(r.task, r.seen_by) for r in target.requests] == [(6, "polled"), (None, "stream")]


def test_of_a_very_long_stream_that_waits_the_begin_is_not_told_as_one_cycle() -> None:
    chunks = [b.chunk(1 + i / 100, 6 * i, 15 * i, 5 * i, slot=None) for i in range(1, CHUNKS_KEPT + 11)]
    two = [b.busy(1.0, task=7), b.busy(1.0, slot=1, task=8)]
    target = b.seen(*FOUND, *two, *chunks, b.streamed(99.0))
    assert target.totals.joint == ((15, 5, CHUNKS_KEPT),)


def test_an_end_told_twice_changes_nothing() -> None:
    once, twice = b.seen(b.found(), *WORK.stream()), b.seen(b.found(), *WORK.stream(), WORK.stream()[-1])
    assert (twice.totals.joint, len(twice.requests)) == (once.totals.joint, len(once.requests))


def test_after_a_reset_a_stream_counts_only_what_it_adds() -> None:
    chunks = WORK.stream()
    fold = b.fold(*FOUND, *chunks[:2])
    fold.reset()
    for fact in chunks[2:]:
        fold.apply(fact)
    (target,) = fold.view().targets
    assert target.totals.joint == ((3, 3, 1), (15, 0, 1))
    assert target.requests[0].whole is False
