"""The same cycles told by several sources: counted once, by the strongest; the rest adds what that one lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from simulated import PLAIN, Work, arriving

from specscope.session.cycle_book import CycleBook

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.state import CycleSource

FOUND = [b.found(), b.attached("slots", "polled")]
TRACED = [*FOUND, b.attached("log", "cycles")]
WORK = Work(0, 1, 1.0, ((15, 5), (15, 0), (15, 15), (3, 1)))


def agreement(*facts: ev.Event) -> None:
    """Tally, slot tally, tape and window tell of the same cycles."""
    fold = b.fold(*facts)
    (target,) = fold.view().targets
    book = fold.targets["t0"].epoch.book
    taped = sorted((-1 if c.drafted is None else c.drafted, c.accepted) for c in target.cycles)
    assert taped == sorted(book.tally.joint.elements())
    assert taped == sorted((g.drafted, g.accepted) for g in book.window.gains if g.accepted is not None)
    assert sum(t.cycles for t in book.slot_tallies.values()) == len(taped)
    assert target.rates.tau_draft == pytest.approx(target.totals.tau_draft)


def test_what_polling_told_is_taken_back_when_the_log_tells_it() -> None:
    # Until the first line with a cycle, nobody knows that the log will tell them: polling counts.
    facts = [*FOUND, *WORK.polls(), b.attached("log", "cycles"), *WORK.log()]
    agreement(*FOUND, *WORK.polls())
    agreement(*facts)
    target = b.seen(*facts)
    assert target.totals.joint == ((3, 1, 1), (15, 0, 1), (15, 5, 1), (15, 15, 1))
    assert {c.seen_by for c in target.cycles} == {"log"}
    assert (target.totals.plain_steps, target.totals.generated) == (1, WORK.generated)
    (row,) = target.requests
    assert (row.seen_by, row.drafted, row.agrees, row.tau) == ("log", 48, True, WORK.generated / 5)


def test_taking_back_leaves_other_requests_alone() -> None:
    # A request that was only polled, one on another slot, and the next on the same slot whose log lines are to come.
    polled = [Work(0, 1, 1.0, ((15, 3),)), Work(1, 2, 1.0, ((15, 4),)), Work(0, 3, 2.0, ((15, 6),))]
    logged = Work(0, 4, 3.0, ((15, 9), (15, 2)))
    following = Work(0, 5, 3.2, ((15, 7),))
    facts = [f for w in (*polled, logged, following) for f in w.polls()]
    target = b.seen(*FOUND, *facts, b.attached("log", "cycles"), *logged.log())
    assert [(c.task, c.drafted, c.accepted) for c in target.cycles] == [
        (1, None, 3),
        (2, None, 4),
        (3, None, 6),
        (5, None, 7),
        (4, 15, 9),
        (4, 15, 2),
    ]
    assert target.totals.drafted is None
    agreement(*FOUND, *facts, b.attached("log", "cycles"), *logged.log())


def test_a_stream_takes_back_what_polling_told_and_the_log_what_the_stream_told() -> None:
    agreement(*FOUND, *WORK.polls(), *WORK.stream())
    agreement(*FOUND, *WORK.polls(), *WORK.stream(), *WORK.log())
    by_stream = b.seen(*FOUND, *arriving((0.0, WORK.polls()), (0.0, WORK.stream())))
    assert {c.seen_by for c in by_stream.cycles} == {"stream"}
    assert by_stream.totals.joint == ((3, 1, 1), (15, 0, 1), (15, 5, 1), (15, 15, 1))
    assert by_stream.totals.plain_steps == 1


@pytest.mark.parametrize(("first", "second"), [("log", "trace"), ("trace", "log")])
def test_of_a_trace_and_the_log_the_one_that_told_a_request_first_keeps_it(
    first: CycleSource, second: CycleSource
) -> None:
    book = CycleBook()
    request = book.open(0, 1, b.T0, whole=True)
    book.add_cycle(request, b.T0 + 1, 15, 5, first)
    book.add_cycle(request, b.T0 + 1, 15, 4, second)
    book.add_cycle(request, b.T0 + 2, 15, 3, first)
    assert (request.seen_by, dict(book.tally.joint)) == (first, {(15, 5): 1, (15, 3): 1})


@pytest.mark.parametrize("weaker", ["polled", "stream"])
def test_a_trace_takes_back_what_polling_or_a_stream_told(weaker: CycleSource) -> None:
    book = CycleBook()
    request = book.open(0, 1, b.T0, whole=True)
    book.add_cycle(request, b.T0 + 1, 15, 5, weaker)
    book.add_cycle(request, b.T0 + 1, 15, 4, "trace")
    book.add_cycle(request, b.T0 + 2, 15, 3, weaker)
    assert (request.seen_by, dict(book.tally.joint)) == ("trace", {(15, 4): 1})


def test_a_weaker_source_adds_no_cycle_to_what_a_stronger_tells() -> None:
    target = b.seen(*FOUND, *WORK.log(), *WORK.stream(), *WORK.polls())
    assert target.totals.cycles == 4
    assert {c.seen_by for c in target.cycles} == {"log"}


def test_lines_read_after_the_slot_fell_idle_still_count() -> None:
    lines = WORK.log()
    target = b.seen(*TRACED, lines[0], *WORK.polls(), *lines[1:])
    assert target.totals.joint == ((3, 1, 1), (15, 0, 1), (15, 5, 1), (15, 15, 1))
    assert len(target.requests) == 1
    assert target.requests[0].ended_at == pytest.approx(b.T0 + WORK.ends, abs=1e-4)  # the log's, 5 ms before the poll


def test_lines_of_a_request_that_polling_missed_do_not_end_the_running_one() -> None:
    # A slow look at /slots sees task 6 at work; the log, read later, still tells of 5, which was short.
    short, running = Work(0, 5, 1.0, ((15, 2),)), Work(0, 6, 1.2, ((15, 4), (15, 1)))
    polls = running.polls()
    target = b.seen(*TRACED, *polls[:3], *short.log(), *running.log()[:2], polls[3])
    assert [(r.task, r.ended_at is None, r.cycles) for r in target.requests] == [(6, True, 1), (5, False, 1)]


def test_polling_gives_the_kv_fill_and_the_prompt_while_the_log_tells_the_cycles() -> None:
    target = b.seen(*TRACED, *arriving((0.1, WORK.log()), (0.0, WORK.polls())))
    assert target.slots[0].fill_tokens == WORK.prompt + WORK.generated
    assert target.requests[0].prompt_tokens == WORK.prompt


def test_n_decoded_proves_the_plain_steps_that_leave_no_line() -> None:
    # An n-gram server drafts now and then: between the lines, n_decoded goes on by one a step.
    steps = (PLAIN,) * 10 + ((8, 5),) + (PLAIN,) * 30
    work = Work(0, 1, 1.0, steps)
    running = arriving((0.1, work.log()[:-2]), (0.0, work.polls()[:-1]))
    before_its_end = b.seen(*TRACED, *running)
    # Only what is older than the log may be late is proven: 0.3 s are 15 steps.
    assert (before_its_end.totals.cycles, before_its_end.totals.plain_steps) == (1, 25)
    ended = b.seen(*TRACED, *arriving((0.1, work.log()), (0.0, work.polls())))
    assert (ended.totals.cycles, ended.totals.plain_steps, ended.totals.generated) == (1, 41, work.generated)
    assert ended.totals.tau == work.generated / 42


def test_plain_steps_before_the_first_draft_take_their_time() -> None:
    work = Work(0, 1, 1.0, (PLAIN,) * 40)
    running = b.seen(*TRACED, *arriving((0.1, work.log()[:-2]), (0.0, work.polls()[:-1])))
    assert running.rates.tok_s == pytest.approx(1 / 0.02, rel=0.01)
    assert running.rates.tau == 1.0


def test_a_poll_close_to_a_cycles_end_proves_nothing() -> None:
    # It may have been answered before the cycle ended or after it: both would be read as plain steps or none.
    begin = [b.launched(0.9), b.busy(0.9), b.step(1.0, 1), b.cycle(1.1, 15, 5)]
    near = b.seen(*TRACED, *begin, b.step(1.098, 7), b.step(1.6, 7))
    assert near.totals.plain_steps == 1


def test_plain_steps_that_a_late_log_made_seem_proven_are_taken_back_at_the_end() -> None:
    work = Work(0, 1, 1.0, ((15, 5),) * 60)
    target = b.seen(*TRACED, *arriving((0.9, work.log()), (0.0, work.polls())))
    assert (target.totals.cycles, target.totals.plain_steps) == (60, 6)
    # At most as many are left as the last cycle may have accepted behind a stop.
    assert 0 <= target.totals.plain_steps - 1 <= 5


def test_a_request_met_in_the_middle_counts_no_step_of_its_past() -> None:
    met = [b.busy(0.5, decoded=500, fill_tokens=600)]
    lines = [b.cycle(0.6 + 0.1 * i, 15, 4) for i in range(9)]
    polls = [b.step(0.65 + 0.1 * i, 505 + 5 * i) for i in range(9)]
    facts = sorted([*lines, *polls], key=lambda f: f.at)
    target = b.seen(*TRACED, *met, *facts)
    assert (target.totals.cycles, target.totals.plain_steps, target.totals.generated) == (9, 0, 45)
    assert target.requests[0].whole is False


def test_of_a_request_met_in_the_middle_new_plain_steps_are_proven_too() -> None:
    met = [b.busy(0.5, decoded=500, fill_tokens=600), b.cycle(0.6, 8, 4)]
    polls = [b.step(0.65 + 0.1 * i, 505 + i) for i in range(10)]
    target = b.seen(*TRACED, *met, *polls)
    assert (target.totals.cycles, target.totals.plain_steps) == (1, 5)


def test_a_log_that_comes_in_the_middle_of_a_polled_request_leaves_it_without_its_begin() -> None:
    # What polling told of the first half is void; plain steps must not be made of the tokens that are missing now.
    work = Work(0, 1, 1.0, ((15, 5),) * 60)
    lines, polls = work.log(), work.polls()
    half = b.T0 + 1.7
    early = [f for f in polls if f.at < half]
    late = arriving((0.05, [f for f in lines if f.at >= half]), (0.0, [f for f in polls if f.at >= half]))
    target = b.seen(*FOUND, *early, b.attached("log", "cycles", at=0.7), *late)
    (row,) = target.requests
    assert (row.whole, row.tau, row.agrees) == (False, None, None)
    assert row.generated == work.generated
    assert target.totals.cycles == sum(1 for f in lines[1:-2] if f.at >= half)
    assert target.totals.plain_steps == 0


def test_plain_steps_taken_for_cycles_by_polling_do_not_make_the_log_seem_late() -> None:
    work = Work(0, 1, 1.0, (PLAIN,) * 30 + ((8, 5),))
    target = b.seen(*FOUND, *work.polls()[:-2], b.attached("log", "cycles"), *work.log())
    assert target.requests[0].whole is True
    assert (target.totals.cycles, target.totals.plain_steps) == (1, 31)


def test_a_row_is_made_anew_when_another_source_tells_the_same_tokens() -> None:
    fold = b.fold(*FOUND, b.busy(0.5), b.step(0.6, 1), b.step(0.62, 7), b.step(0.64, 13, held_ms=1.0))
    assert fold.view().targets[0].requests[0].drafted is None
    for fact in (
        b.attached("log", "cycles"),
        b.cycle(0.62, 15, 5),
        b.cycle(0.64, 15, 5),
        b.step(1.2, 13),
        b.step(1.9, 13),
    ):
        fold.apply(fact)
    assert fold.view().targets[0].requests[0].drafted == 30


def test_a_restart_of_the_log_at_a_lower_tier_lets_polling_tell_the_cycles_again() -> None:
    back = [b.attached("log", "cycles"), b.attached("log", "log")]
    assert b.seen(*FOUND, *back, *WORK.polls()).totals.cycles == 4
    gone = [b.attached("log", "cycles"), b.lost("log")]
    assert b.seen(*FOUND, *gone, *WORK.polls()).totals.cycles == 4
    assert b.seen(*FOUND, back[0], *WORK.polls()).totals.cycles is None
