"""A trace tells requests apart and does not name them; the log and polling name them, each late in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from simulated import Look, Work, arriving, crowds, looks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simulated import Load

    from specscope import events as ev
    from specscope.session.state import Target

TRACED = [b.found(), b.attached("slots", "totals"), b.attached("trace", "trace"), b.tracing(functions=["begin"])]


def by_task(target: Target) -> dict[int | None, tuple[int, int, int]]:
    """Cycles, drafted and accepted tokens of each request."""
    return {r.task: (r.cycles or 0, r.drafted or 0, r.accepted or 0) for r in target.requests}


def totals(at: float, task: int, cycles: Iterable[tuple[int, int]] = (), *, generated: int | None = None) -> ev.Event:
    """The log's totals of a request; without cycles it has none of drafts."""
    steps = tuple(cycles)
    drafts = {"drafted": sum(w for w, _ in steps), "accepted": sum(a for _, a in steps)} if steps else {}
    return b.logged(at, task=task, generated=generated or 1 + sum(a + 1 for _, a in steps), **drafts)


# --- armed while a request runs --------------------------------------------------------------------------------------


FOLLOWING = (
    Work(0, 310, 0.718, ((15, 6), (15, 2)), prompt_s=0.014),
    Work(0, 360, 1.139, ((15, 5), (15, 5)), prompt_s=0.014),
    Work(0, 415, 1.549, ((15, 10), (15, 2)), prompt_s=0.014),
)


def met_in_the_middle() -> list[ev.Event]:
    """As recorded of a server that logs every cycle: the probes are armed during task 268.

    Its last two cycles are read after the log has told of its end, and after the launch of task 310.
    """
    first, *others = FOLLOWING
    launch, *lines = first.log()
    met = [
        b.cycle(0.600, 15, 9, task=268),
        b.busy(0.611, task=268, decoded=182, fill_tokens=249),
        b.traced(0.692, 15, 9),
        *(b.cycle(at, w, a, task=268) for at, w, a in ((0.692, 15, 9), (0.704, 13, 7), (0.711, 5, 5))),
        *(b.logged(0.7113, task=268, generated=256, drafted=528, accepted=219), b.released(0.7113, task=268)),
        *(launch, b.busy(0.7312, task=310), b.traced(0.7039, 13, 7), b.traced(0.7108, 5, 5)),
    ]
    follow = [(first.trace(), lines), *((w.trace(), w.log()) for w in others)]
    return [*met, *(f for traced, logged in follow for f in arriving((0.0, traced), (0.0004, logged)))]


@pytest.mark.parametrize("lines", ["totals", "cycles"])
def test_cycles_read_after_the_next_launch_are_of_the_request_that_the_probes_met(lines: str) -> None:
    facts = [f for f in met_in_the_middle() if lines == "cycles" or not hasattr(f, "stamp_us")]
    target = b.seen(*TRACED, b.attached("log", "cycles" if lines == "cycles" else "log"), *facts)
    met = {268: (4, 48, 30) if lines == "cycles" else (3, 33, 21)}
    assert by_task(target) == met | {310: (2, 30, 8), 360: (2, 30, 10), 415: (2, 30, 12)}
    assert [(r.task, r.agrees) for r in target.requests] == [(268, None), (310, True), (360, True), (415, True)]
    assert (target.referee.requests_checked, target.referee.requests_parted) == (3, 0)


def test_while_the_log_tells_every_cycle_the_trace_adds_only_who_drafted_it() -> None:
    work = Work(0, 7, 1.0, ((15, 5), (15, 0), (15, 15)))
    traced = [replace(f, method="draft-dflash") if hasattr(f, "method") else f for f in work.trace()]
    facts = arriving((0.0, traced), (0.1, work.log()))
    target = b.seen(*TRACED, b.attached("log", "cycles"), *facts)
    assert by_task(target) == {7: (3, 45, 20)}
    assert {c.seen_by for c in target.cycles} == {"log"}
    assert b.by_method(target) == (("draft-dflash", 3, 45, 20),)


def test_a_trace_tells_the_cycles_once_the_log_is_lost() -> None:
    first, second = Work(0, 7, 1.0, ((15, 5),)), Work(0, 8, 2.0, ((15, 3), (15, 2)))
    both = arriving((0.0, first.trace()), (0.0, first.log()))
    target = b.seen(*TRACED, b.attached("log", "cycles"), *both, b.lost("log", 1.5), *second.trace())
    assert [(r.task, r.cycles, r.seen_by) for r in target.requests] == [(7, 1, "log"), (None, 2, "trace")]


# --- a name that was given too early ---------------------------------------------------------------------------------

CYCLES = ((15, 14), (15, 0), (15, 1))


def test_a_request_polled_before_its_begin_was_read_is_not_the_one_before() -> None:
    # As recorded: polling sees the third of three short requests while the probes' lines about it are unread, and the
    # log, read 0.17 s late, tells of all of them afterwards.
    facts = [
        b.idle(0.52, task=228),
        b.began(0.7329),
        b.began(0.7415),
        b.traced(0.7524, 15, 1),
        b.busy(0.7699, task=245, decoded=1, fill_tokens=54),
        b.began(0.7608),
        *(b.traced(0.775 + 0.012 * i, *step) for i, step in enumerate(CYCLES)),
        *(b.launched(0.8994, task=240), totals(0.9029, 240), b.released(0.9029, task=240)),
        *(b.launched(0.9082, task=242), totals(0.9225, 242, [(15, 1)]), b.released(0.9252, task=242)),
        *(b.launched(0.9276, task=245), totals(0.9427, 245, CYCLES), b.released(0.944, task=245)),
    ]
    target = b.seen(*TRACED, *facts)
    assert by_task(target) == {240: (0, 0, 0), 242: (1, 15, 1), 245: (3, 45, 15)}
    assert [r.generated for r in sorted(target.requests, key=lambda r: r.task or 0)] == [1, 3, 19]
    assert {c.task for c in target.cycles if c.accepted == 14} == {245}
    assert all(r.ended_at is not None for r in target.requests)


@pytest.mark.parametrize("lines", ["totals", "cycles"])
def test_a_request_that_the_log_told_before_it_was_told_apart_is_told_once(lines: str) -> None:
    # As recorded: as above, but the log is read in between; with and without its cycles.
    facts = [
        b.idle(0.785, task=501),
        b.began(0.9935),
        b.idle(0.9954, task=514),
        b.began(1.004),
        b.traced(1.0133, 15, 1),
        b.busy(1.0372, task=520, decoded=1, fill_tokens=54),
        *(
            b.launched(1.0308, task=514),
            totals(1.0333, 514),
            b.released(1.0335, task=514),
            b.launched(1.0419, task=517),
        ),
        *([b.cycle(1.052, 15, 1, task=517)] if lines == "cycles" else []),
        *(totals(1.0529, 517, [(15, 1)]), b.released(1.0529, task=517), b.launched(1.0596, task=520)),
        b.began(1.022),
        *(b.traced(1.0375 + 0.012 * i, *step) for i, step in enumerate(CYCLES)),
        *(totals(1.17, 520, CYCLES), b.released(1.17, task=520), b.counters(2.0, 4, 60, 16)),
    ]
    target = b.seen(*TRACED, b.counters(0.9, 0, 0, 0), *facts)
    assert by_task(target) == {514: (0, 0, 0), 517: (1, 15, 1), 520: (3, 45, 15)}
    assert (target.referee.requests_checked, target.referee.requests_parted) == (2, 0)
    assert target.evidence == "exact"
    assert target.totals.plain_steps == 3


def test_a_launch_well_after_a_begin_is_of_the_next_request() -> None:
    # Nothing named the first; its name must not be that of the second, and so on for all that follow.
    nameless = [b.began(1.0), b.traced(1.02, 15, 3)]
    named = Work(0, 8, 1.5, ((15, 2),)), Work(0, 9, 2.0, ((15, 4),))
    told = [f for w in named for f in arriving((0.0, w.trace()), (0.0, w.log()))]
    assert by_task(b.seen(*TRACED, *nameless, *told)) == {None: (1, 15, 3), 8: (1, 15, 2), 9: (1, 15, 4)}


def test_a_request_still_without_a_token_is_not_the_one_whose_prompt_has_ended() -> None:
    facts = [b.began(1.0), b.traced(1.02, 15, 3), b.busy(1.1, task=8), b.began(1.15), b.traced(1.17, 15, 2)]
    assert by_task(b.seen(*TRACED, *facts)) == {None: (1, 15, 3), 8: (1, 15, 2)}


def test_a_begin_read_after_polling_saw_the_next_request_in_its_prompt_ends_nothing() -> None:
    facts = [b.busy(1.07, task=11), b.began(1.046), b.began(1.094), b.traced(1.11, 15, 2)]
    target = b.seen(*TRACED, *facts)
    assert by_task(target) == {11: (1, 15, 2), None: (0, 0, 0)}
    assert [r.task for r in target.requests if r.ended_at is None] == [11]


def test_a_task_that_polling_missed_was_over_when_the_next_was_met() -> None:
    # Task 11 was cancelled in its prompt; the log tells of it late.
    facts = [b.busy(1.3, task=12), b.launched(1.2, task=11), b.began(1.31), b.released(1.22, task=11), b.traced(1.33)]
    assert by_task(b.seen(*TRACED, *facts)) == {12: (1, 15, 5), 11: (0, 0, 0)}


# --- whatever is late ------------------------------------------------------------------------------------------------


LONGEST_DOUBT_S = 0.03
"""Beyond this a line of the log tells nothing of which of two short requests a slow answer of /slots was about."""


@st.composite
def polls(draw: st.DrawFn, load: Load, *, slow: bool) -> list[ev.Event]:
    """One after another; each answer takes its time, and shows the slot as it was at some moment of that."""
    seen: list[Look] = []
    at = 0.5
    while at < load.ends:
        answer_s, part = (
            draw(st.sampled_from((0.001, 0.001, 0.03, 0.08) if slow else (0.001,))),
            draw(st.sampled_from((0.0, 0.5, 1.0))),
        )
        at += draw(st.sampled_from((0.05, 0.12, 0.2))) + answer_s
        seen.append(Look(at, answer_s, part * answer_s))
    return looks(load, seen)


@pytest.mark.parametrize("lines", ["totals", "cycles"])
@given(st.data())
def test_short_requests_in_a_row_each_have_what_is_theirs(lines: str, data: st.DataObject) -> None:
    """The log's lines are placed too late by up to 0.2 s, and each source is read late."""
    load: Load = data.draw(crowds())
    placed = data.draw(st.sampled_from((0.0005, 0.004, 0.03, 0.2)))
    log_late, trace_late = data.draw(st.sampled_from((0.0, 0.03, 0.2))), data.draw(st.sampled_from((0.0, 0.03, 0.08)))
    log = [f for w in load.work for f in w.log() if lines == "cycles" or not hasattr(f, "stamp_us")]
    target = b.seen(
        *TRACED,
        b.attached("log", "cycles" if lines == "cycles" else "log"),
        load.counters(0.5, last=False),
        *arriving(
            (trace_late, [f for w in load.work for f in w.trace()]),
            (log_late, [replace(f, at=f.at + placed) for f in log]),
            (0.001, data.draw(polls(load, slow=placed < LONGEST_DOUBT_S))),
        ),
        load.counters(load.ends + 1.0),
    )
    assert by_task(target) == {w.task: (len(w.cycles), w.drafted, w.accepted) for w in load.work}
    assert len(target.requests) == len(load.work)
    drafted = [w for w in load.work if w.cycles]
    assert not drafted or target.evidence == "exact"
    assert (target.referee.requests_checked, target.referee.requests_parted) == (len(drafted), 0)
    works = {w.task: w for w in load.work}
    for row in target.requests:
        work = works[row.task or 0]
        assert (row.generated, row.whole) == (work.generated, True)
        assert row.tau is None or row.tau == pytest.approx(work.generated / (1 + len(work.steps)))
