"""What holds of the fold whatever is reported, in whatever order it comes."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

import builders as b
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ANY_FACT
from simulated import MIXED, ONLY_CYCLES, Load, Work, arriving, figures, interleaved, joint_of, loads

from specscope.session.fold import Fold

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.state import Target

LAGS = st.floats(0.0, 0.2)
LIVE_LAGS = st.floats(0.0, 0.05)
TRACED = [b.found(), b.attached("slots", "polled"), b.attached("log", "cycles")]
POLLED = [b.found(), b.attached("slots", "polled")]


def plain(value: object) -> object:
    """The contents of a view, comparable: the classes of the state compare by identity."""
    if is_dataclass(value):
        return (type(value).__name__, *(plain(getattr(value, f.name)) for f in fields(value)))
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if hasattr(value, "__struct_fields__"):
        return (type(value).__name__, *(plain(getattr(value, name)) for name in value.__struct_fields__))
    return value


def check_invariants(target: Target) -> None:
    totals = target.totals
    counts = (totals.cycles, totals.drafted, totals.accepted, totals.plain_steps, totals.generated)
    assert all(n is None or n >= 0 for n in counts)
    assert all(n >= 0 for n in totals.histogram)
    assert all(n > 0 for _, _, n in totals.joint)
    if totals.joint:
        assert sum(totals.histogram) == totals.cycles == sum(n for _, _, n in totals.joint)
    assert all(0.0 <= rate.share <= 1.0 for rate in totals.survival)
    assert totals.tau is None or totals.tau >= 1.0
    assert totals.tau_draft is None or totals.tau_draft >= 1.0
    rates = target.rates
    assert rates.tok_s is None or rates.tok_s >= 0
    assert rates.tau is None or rates.tau >= 1.0
    for row in target.requests:
        assert all(n is None or n >= 0 for n in (row.cycles, row.drafted, row.accepted, row.generated))


def check_books(fold: Fold) -> None:
    """The sum over slots, and over requests, is the whole."""
    for target in fold.targets.values():
        book = target.epoch.book
        assert sum(t.cycles for t in book.slot_tallies.values()) == book.tally.cycles
        assert sum(t.tokens for t in book.slot_tallies.values()) == book.tally.tokens
        joint = sum((r.tally.joint for r in book.requests.values()), Counter())
        assert joint == book.tally.joint
        assert sum(r.tally.plain_steps for r in book.requests.values()) == book.tally.plain_steps
        assert all(n > 0 for n in book.tally.joint.values())
        assert len(book.cycles) == len(book._owners) == min(4096, book.tally.cycles)
        assert book.ended == sum(r.ended_at is not None for r in book.requests.values())
        assert all(r.ended_at is None for r in book.current.values())


@given(facts=st.lists(ANY_FACT, max_size=40))
def test_any_facts_in_any_order_are_folded(facts: list[ev.Event]) -> None:
    fold = Fold()
    for fact in facts:
        fold.apply(fact)
        check_books(fold)
    for target in fold.view().targets:
        check_invariants(target)


@given(facts=st.lists(ANY_FACT, max_size=40), data=st.data())
def test_a_view_can_be_taken_at_any_time_and_changes_nothing(facts: list[ev.Event], data: st.DataObject) -> None:
    looked, unlooked = Fold(), b.fold(*facts)
    for fact in facts:
        looked.apply(fact)
        if data.draw(st.booleans()):
            looked.view()
    assert plain(looked.view()) == plain(unlooked.view())
    assert plain(looked.view(now=b.T0)) == plain(looked.view(now=b.T0))


@given(before=st.lists(ANY_FACT, max_size=25), after=st.lists(ANY_FACT, max_size=25))
def test_a_view_stays_as_it_was_taken(before: list[ev.Event], after: list[ev.Event]) -> None:
    fold = b.fold(*before)
    view = fold.view()
    kept = plain(view)
    for fact in after:
        fold.apply(fact)
    assert plain(view) == kept


@given(load=loads(MIXED), data=st.data())
def test_log_and_polling_in_any_order_count_each_cycle_once(load: Load, data: st.DataObject) -> None:
    logs = [f for w in load.work for f in w.log()]
    polls = [f for w in load.work for f in w.polls()]
    fold = b.fold(*TRACED, *data.draw(interleaved(logs, polls)))
    check_books(fold)
    (target,) = fold.view().targets
    assert joint_of(target) == load.truth().joint
    assert {r.seen_by for r in target.requests if r.cycles} <= {"log"}
    assert all(r.ended_at is not None for r in target.requests)


@given(load=loads(MIXED), poll_lag=LIVE_LAGS, stream_lag=LIVE_LAGS)
def test_streams_and_polling_count_each_cycle_once(load: Load, poll_lag: float, stream_lag: float) -> None:
    polls = [f for w in load.work for f in w.polls()]
    streams = [f for w in load.work for f in w.stream()]
    fold = b.fold(*POLLED, *arriving((poll_lag, polls), (stream_lag, streams)))
    check_books(fold)
    (target,) = fold.view().targets
    polled = {(r.slot, r.task) for r in target.requests if r.seen_by == "polled"}
    assert not polled & {(w.slot, w.task) for w in load.work if w.cycles}
    of_streams = [(w, a) for w, a, n in target.totals.joint for _ in range(n) if w >= 0]
    assert sorted(of_streams) == sorted(c for w in load.work for c in w.cycles)


@given(load=loads(), poll_lag=st.floats(0.0, 0.01), stream_lag=st.floats(0.0, 0.01))
def test_streams_that_name_their_slot_only_at_their_end_are_counted_once(
    load: Load, poll_lag: float, stream_lag: float
) -> None:
    polls = [f for w in load.work for f in w.polls()]
    streams = [f for w in load.work for f in w.stream(names_slot=False)]
    fold = b.fold(*POLLED, *arriving((poll_lag, polls), (stream_lag, streams)))
    check_books(fold)
    (target,) = fold.view().targets
    assert joint_of(target) == load.truth().joint
    assert sorted(r.generated or 0 for r in target.requests) == sorted(w.generated for w in load.work)


@given(load=loads(MIXED), log_lag=st.floats(0.0, 2.0), poll_lag=LIVE_LAGS, stream_lag=LIVE_LAGS)
def test_three_sources_count_each_cycle_once_however_late_the_log_is(
    load: Load, log_lag: float, poll_lag: float, stream_lag: float
) -> None:
    logs = [f for w in load.work for f in w.log()]
    polls = [f for w in load.work for f in w.polls()]
    streams = [f for w in load.work for f in w.stream()]
    fold = b.fold(*TRACED, *arriving((log_lag, logs), (poll_lag, polls), (stream_lag, streams)))
    check_books(fold)
    (target,) = fold.view().targets
    assert joint_of(target) == load.truth().joint
    assert len(target.requests) == len(load.work)


@given(load=loads(MIXED), log_lag=LAGS, poll_lag=st.floats(0.0, 0.01), stream_lag=st.floats(0.0, 0.01))
def test_with_the_lag_of_real_sources_everything_is_told_exactly(
    load: Load, log_lag: float, poll_lag: float, stream_lag: float
) -> None:
    logs = [f for w in load.work for f in w.log()]
    polls = [f for w in load.work for f in w.polls()]
    streams = [f for w in load.work for f in w.stream()]
    facts = arriving((log_lag, logs), (poll_lag, polls), (stream_lag, streams))
    target = b.seen(*TRACED, load.counters(0.0, last=False), *facts, load.counters(load.ends + 1))
    truth = load.truth()
    assert joint_of(target) == truth.joint
    assert (target.totals.plain_steps, target.totals.generated) == (truth.plain_steps, truth.tokens) or not truth.joint
    assert target.evidence == ("exact" if truth.joint else "counted")
    rows = {r.task: r for r in target.requests}
    assert sorted(rows) == sorted(w.task for w in load.work)
    for work in load.work:
        row = rows[work.task]
        assert (row.generated, row.whole, row.stop) == (work.generated, True, "limit")
        assert row.tau == work.generated / (1 + len(work.steps))
        assert row.agrees is (True if work.cycles else None)
        assert (row.cycles, row.drafted, row.accepted) == (
            (len(work.cycles), work.drafted, work.accepted) if work.cycles else (None, None, None)
        )


@given(load=loads(ONLY_CYCLES), data=st.data())
def test_a_weaker_source_told_again_changes_no_total(load: Load, data: st.DataObject) -> None:
    logs = [f for w in load.work for f in w.log()]
    told = b.fold(*TRACED, *logs)
    weaker = [f for w in load.work for f in [*w.polls(), *w.stream()]]
    again = data.draw(st.lists(st.sampled_from(weaker), max_size=20))
    for fact in again:
        told.apply(fact)
    (once,) = b.fold(*TRACED, *logs).view().targets
    (twice,) = told.view().targets
    assert joint_of(twice) == joint_of(once)
    assert [c.number for c in twice.cycles] == [c.number for c in once.cycles]
    assert len(twice.requests) == len(once.requests)


@given(first=MIXED, second=MIXED, data=st.data())
def test_two_slots_do_not_disturb_each_other(first: tuple, second: tuple, data: st.DataObject) -> None:
    one, other = Work(0, 10, 1.0, first), Work(1, 11, 1.03, second)
    tell = data.draw(st.sampled_from([Work.log, Work.polls, Work.stream]))
    sources = TRACED if tell is Work.log else POLLED
    alone = [b.seen(*sources, *tell(work)).requests[0] for work in (one, other)]
    both = b.seen(*sources, *data.draw(interleaved(tell(one), tell(other))))
    rows = {r.slot: r for r in both.requests}
    if tell is Work.polls:  # whether two cycles may hide in a step depends on the cycle time seen so far
        return
    assert [figures(rows[0]), figures(rows[1])] == [figures(row) for row in alone]
    assert sum(s.tally_cycles for s in both.slots) == both.totals.cycles or not both.slots


@given(load=loads(MIXED), data=st.data())
def test_a_restart_at_any_point_leaves_nothing_behind(load: Load, data: st.DataObject) -> None:
    before = [f for w in load.work for f in data.draw(st.sampled_from([w.log(), w.polls(), w.stream()]))]
    before = before[: data.draw(st.integers(0, len(before)))]
    after = Load(tuple(Work(w.slot, w.task + 100, w.begins + 60, w.steps) for w in load.work))
    facts = [f for w in after.work for f in arriving((0.1, w.log()), (0.0, w.polls()))]
    counts = [after.counters(55.0, last=False), after.counters(after.ends + 1)]
    fresh = b.seen(*TRACED, b.started("18"), counts[0], *facts, counts[1])
    again = b.seen(
        *TRACED, b.started("17"), load.counters(0.0), *before, b.started("18", at=50.0), counts[0], *facts, counts[1]
    )
    assert (again.epoch, again.restarts) == (2, (b.T0 + 50.0,))
    for part in ("rates", "totals", "referee", "poll", "cycles", "slots", "requests", "log_said"):
        assert plain(getattr(again, part)) == plain(getattr(fresh, part)), part
    assert (again.evidence, again.cycle_evidence) == (fresh.evidence, fresh.cycle_evidence)


@given(load=loads(MIXED), data=st.data())
def test_a_reset_at_any_point_leaves_no_count_behind(load: Load, data: st.DataObject) -> None:
    before = [f for w in load.work for f in [*w.log(), *w.polls()]]
    fold = b.fold(*TRACED, *before[: data.draw(st.integers(0, len(before)))])
    fold.reset()
    (target,) = fold.view().targets
    assert (target.totals.cycles, target.totals.generated, target.cycles, target.requests) == (None, None, (), ())
    assert target.rates.steps == 0
    assert target.epoch == 1


def test_long_watches_keep_the_last_cycles_and_requests() -> None:
    rng = random.Random(1)  # noqa: S311  a fixed sequence, not a secret
    fold = Fold()
    for number in range(1100):
        steps = tuple((15, rng.randrange(16)) for _ in range(5))
        for fact in Work(0, number, 1.0 + number, steps).log():
            fold.apply(fact)
    (target,) = fold.view().targets
    assert target.totals.cycles == 5500
    assert [c.number for c in target.cycles] == list(range(1405, 5501))
    assert [r.task for r in target.requests] == list(range(100, 1100))


def test_only_facts_change_the_state_and_its_time() -> None:
    fold = b.fold(b.found(at=3.0), b.cycle(at=5.0), b.cycle(at=4.0))
    view = fold.view()
    assert (view.started_at, view.at, view.facts) == (b.T0 + 3, b.T0 + 5, 3)
    assert fold.view(now=b.T0 + 99).at == b.T0 + 99
    with pytest.raises(AttributeError):
        view.facts = 0  # type: ignore[misc]
    with pytest.raises(AttributeError):
        view.targets[0].cycles[0].accepted = 3  # type: ignore[misc]


def test_before_the_first_fact_there_is_a_view_of_nothing() -> None:
    view = Fold().view()
    assert (view.targets, view.facts, view.ended) == ((), 0, False)


def test_the_state_compares_by_identity() -> None:
    # A screen redraws what is unequal: comparing a thousand rows ten times a second would cost more than drawing.
    one, other = b.fold(b.cycle()).view(), b.fold(b.cycle()).view()
    assert one != other
    assert one.targets[0].cycles[0] != other.targets[0].cycles[0]
