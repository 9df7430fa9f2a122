"""What a trace tells of requests and cycles, whatever polling and the log have told of them before or tell after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import ONLY_CYCLES, Work, arriving, interleaved, loads

from specscope.session.request import LATE_S

if TYPE_CHECKING:
    from simulated import Load

    from specscope.session.request_state import RequestRow
    from specscope.session.state import Target

TRACED = [b.found(), b.attached("slots", "totals"), b.attached("trace", "trace"), b.tracing(functions=["begin"])]
WORK = Work(0, 7, 1.0, ((15, 5), (15, 0), (15, 15), (3, 1)))


def one(target: Target) -> RequestRow:
    (row,) = target.requests
    return row


# --- a request has one name ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lag", [-0.05, 0.0, 0.05, 0.15], ids=lambda lag: f"polled {lag:+.2f} s")
def test_a_begin_and_what_polling_sees_are_one_request(lag: float) -> None:
    target = b.seen(*TRACED, *arriving((0.0, WORK.trace()), (lag, WORK.polls())))
    row = one(target)
    assert (row.task, row.slot, row.seen_by, row.cycles) == (7, 0, "trace", 4)
    assert (row.drafted, row.accepted, row.whole) == (48, 21, True)
    assert row.ended_at is not None
    assert row.generated == WORK.generated


@pytest.mark.parametrize("lag", [-0.2, -0.05, 0.05, 0.2], ids=lambda lag: f"read {lag:+.2f} s")
def test_a_begin_and_the_log_are_one_request(lag: float) -> None:
    lines = [f for f in WORK.log() if not hasattr(f, "stamp_us")]  # without LLAMA_TRACE: no line for a cycle
    target = b.seen(*TRACED, *arriving((max(0.0, -lag), WORK.trace()), (max(0.0, lag), lines)))
    row = one(target)
    assert (row.task, row.seen_by, row.cycles, row.agrees) == (7, "trace", 4, True)
    assert row.generated == WORK.generated


def test_totals_that_are_read_before_the_last_cycles_judge_nothing_yet() -> None:
    lines = [f for f in WORK.log() if not hasattr(f, "stamp_us")]
    begin, *cycles = WORK.trace()
    early = [*TRACED, begin, *cycles[:-1], *lines]
    row = one(b.seen(*early))
    assert (row.ended_at is not None, row.cycles, row.agrees) == (True, 3, None)
    assert one(b.seen(*early, cycles[-1])).agrees is True
    ended = max(f.at for f in lines) - b.T0
    assert one(b.seen(*early, b.missed("slots", 1, at=ended + 0.4))).agrees is None
    assert one(b.seen(*early, b.missed("slots", 1, at=ended + 0.6))).agrees is False


def test_a_begin_alone_makes_a_request_without_a_name() -> None:
    row = one(b.seen(*TRACED, *WORK.trace()))
    assert (row.task, row.cycles, row.whole, row.ended_at) == (None, 4, True, None)
    assert row.tau == 25 / 4


def test_the_next_begin_of_a_slot_ends_the_request_before() -> None:
    again = Work(0, 8, 3.0, ((15, 2),))
    rows = b.seen(*TRACED, *WORK.trace(), *again.trace()).requests
    assert [(r.cycles, r.ended_at is None) for r in rows] == [(4, False), (1, True)]


def test_slots_have_requests_of_their_own() -> None:
    other = Work(1, 8, 1.01, ((15, 2), (15, 3)))
    target = b.seen(*TRACED, *arriving((0.0, WORK.trace()), (0.0, other.trace())))
    assert sorted((r.slot, r.cycles) for r in target.requests) == [(0, 4), (1, 2)]
    assert [(s.slot, s.accepted) for s in target.cycles if s.slot == 1] == [(1, 2), (1, 3)]


def test_a_begin_well_after_its_tokens_is_the_next_requests() -> None:
    # Polling saw task 7 at work for a second before a prompt ended: this must be the next request.
    seen = [b.busy(0.5), b.step(1.0, 1), b.step(1.02, 7)]
    target = b.seen(*TRACED, *seen, b.began(1.02 + 4 * LATE_S), b.traced(2.1, 15, 3))
    assert [(r.task, r.cycles) for r in target.requests] == [(1, None), (None, 1)]


def test_a_request_met_in_the_middle_has_no_begin() -> None:
    target = b.seen(*TRACED, b.busy(0.5, decoded=500, fill_tokens=600), b.traced(1.0, 15, 5), b.traced(1.02, 15, 3))
    row = one(target)
    assert (row.task, row.whole, row.cycles, row.tau) == (1, False, 2, None)


def test_a_cycle_without_a_begin_opens_a_request_that_is_not_whole() -> None:
    row = one(b.seen(*TRACED, b.traced(1.0, 15, 5)))
    assert (row.task, row.whole, row.cycles) == (None, False, 1)


def test_a_begin_read_after_the_next_request_was_polled_is_of_the_one_before() -> None:
    # Three short requests in a row; the probes' lines are read 0.15 s late.
    works = [Work(0, task, 1 + 0.2 * task, ((15, task),)) for task in (1, 2, 3)]
    polls = [f for w in works for f in w.polls()]
    rows = b.seen(*TRACED, *arriving((0.0, polls), (0.15, [f for w in works for f in w.trace()]))).requests
    assert [(r.task, r.cycles, r.accepted) for r in rows] == [(1, 1, 1), (2, 1, 2), (3, 1, 3)]


def test_a_begin_of_a_request_that_is_over_and_unknown_does_not_end_the_running_one() -> None:
    target = b.seen(*TRACED, b.busy(5.0, task=9), b.began(2.0), b.traced(5.5, 15, 3))
    assert [(r.task, r.cycles, r.ended_at is None) for r in target.requests] == [(9, 1, True), (None, None, False)]


# --- the end ---------------------------------------------------------------------------------------------------------


def test_a_cycle_told_after_polling_saw_the_end_still_belongs_to_the_request() -> None:
    seen = WORK.trace()
    polls = WORK.polls()
    target = b.seen(*TRACED, *arriving((0.0, seen[:-2]), (0.0, polls)), *seen[-2:])
    row = one(target)
    assert (row.cycles, row.accepted, row.ended_at is not None) == (4, 21, True)
    assert target.totals.cycles == 4


def test_a_cycle_after_the_end_is_of_the_next_request() -> None:
    target = b.seen(*TRACED, *arriving((0.0, WORK.trace()), (0.0, WORK.polls())), b.traced(WORK.ends + 1.0, 15, 9))
    assert [(r.task, r.cycles) for r in target.requests] == [(7, 4), (None, 1)]


@given(st.data())
def test_each_request_has_its_cycles_whichever_is_read_first(data: st.DataObject) -> None:
    load: Load = data.draw(loads(ONLY_CYCLES, slots=2))
    seen = sorted([f for w in load.work for f in w.trace()], key=lambda f: f.at)
    polls = sorted([f for w in load.work for f in w.polls()], key=lambda f: f.at)
    late = data.draw(st.tuples(st.floats(0.0, 0.1), st.floats(0.0, 0.1)))
    target = b.seen(*TRACED, *arriving((late[0], seen), (late[1], polls)))
    rows = {r.task: (r.cycles or 0, r.drafted or 0, r.accepted or 0) for r in target.requests}
    assert rows == {w.task: (len(w.cycles), w.drafted, w.accepted) for w in load.work}
    truth = load.truth()
    assert (target.totals.cycles or 0) == truth.cycles
    if truth.cycles:
        assert target.totals.joint == tuple((w, a, n) for (w, a), n in sorted(truth.joint.items()))


@given(st.data())
def test_however_late_either_is_no_cycle_is_lost_or_told_twice(data: st.DataObject) -> None:
    load: Load = data.draw(loads(ONLY_CYCLES, slots=2))
    seen = sorted([f for w in load.work for f in w.trace()], key=lambda f: f.at)
    polls = sorted([f for w in load.work for f in w.polls()], key=lambda f: f.at)
    facts = data.draw(interleaved(seen, polls))
    assert (b.seen(*TRACED, *facts).totals.cycles or 0) == load.truth().cycles


# --- drafts that no cycle came of ------------------------------------------------------------------------------------


def test_a_dropped_draft_was_drafted_and_is_no_cycle() -> None:
    # Cancelled between draft and verification: the server's counter has 15 drafted tokens more.
    facts = [
        b.counters(0.5, 0, 0, 0),
        *WORK.trace(),
        b.dropped(1.3, 15),
        b.idle(1.4, task=7),
        b.counters(2.0, 4, 63, 21),
    ]
    target = b.seen(*TRACED, *facts)
    assert (target.totals.cycles, target.totals.drafted, target.totals.accepted) == (4, 63, 21)
    assert target.totals.evidence == "exact"
    assert one(target).drafted == 48


def test_a_replayed_cycle_says_so() -> None:
    (cycle,) = b.seen(*TRACED, b.began(0.9), b.traced(1.0, 15, 5, replayed=True)).cycles
    assert (cycle.replayed, cycle.seen_by, cycle.drafted, cycle.accepted) == (True, "trace", 15, 5)


# --- by method -------------------------------------------------------------------------------------------------------


def test_cycles_by_the_method_that_drafted_them_in_the_order_of_asking() -> None:
    facts = [
        b.began(0.9),
        b.traced(1.0, 15, 5, method="draft-dflash"),
        b.traced(1.1, 48, 40, method="ngram-mod"),
        b.traced(1.2, 15, 7, method="draft-dflash"),
        b.traced(1.3, 3, 1),
    ]
    target = b.seen(*TRACED, *facts)
    assert b.by_method(target) == (("ngram-mod", 1, 48, 40), ("draft-dflash", 2, 30, 12))
    assert target.totals.cycles == 4


# --- a new beginning -------------------------------------------------------------------------------------------------


def test_a_restart_forgets_everything_that_was_traced() -> None:
    before = [b.started("1"), *WORK.trace(), b.turn(1.2), b.copies(1.3, [("target", 40, 99)], turns=9)]
    target = b.seen(*TRACED, *before, b.stalls(1.4, 0.5, 0.2), b.started("2", at=2.0))
    assert (target.totals.cycles, target.by_method, target.copies) == (None, (), ())
    assert (target.anatomy, target.stalls, target.trace) == (None, None, None)
    again = b.seen(*TRACED, *before, b.started("2", at=2.0), b.tracing(at=3.0), b.began(3.5), b.traced(4.0, 7, 2))
    assert (again.totals.cycles, again.totals.joint) == (1, ((7, 2, 1),))
    assert again.trace is not None


def test_a_reset_counts_anew_and_goes_on_tracing() -> None:
    fold = b.fold(*TRACED, *WORK.trace(), b.turn(1.2), b.stalls(1.4, 0.5, 0.2))
    fold.reset()
    (target,) = fold.view().targets
    assert (target.totals.cycles, target.by_method, target.anatomy, target.stalls) == (None, (), None, None)
    assert target.trace is not None
    fold.apply(b.traced(2.0, 15, 4, method="draft-dflash"))
    (target,) = fold.view().targets
    assert (target.totals.cycles, b.by_method(target)) == (1, (("draft-dflash", 1, 15, 4),))


def test_what_is_traced_is_on_view() -> None:
    tracing = b.tracing("auto", missing=["wait"], asynchronous=False, burst_s=0.25, burst_every_s=10.0)
    view = b.seen(b.found(), tracing).trace
    assert view is not None
    assert (view.mode, view.missing, view.asynchronous) == ("auto", ("wait",), False)
    assert (view.burst_s, view.burst_every_s) == (0.25, 10.0)
    assert b.seen(b.found()).trace is None


def test_a_cycle_whose_draft_was_given_up_is_drafted_once() -> None:
    gone = b.dropped(5.0, 15)
    target = b.seen(b.found(), b.tracing(), b.began(), gone, b.traced(6.0, 15, 5, given_up=True))
    assert (target.totals.cycles, target.totals.drafted, target.totals.accepted) == (1, 15, 5)
