"""The phase lock, on made-up cycles."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specscope.sources.pace import HUNT_S, IDLE_LONG_S, MIN_WAIT_S, RELAXED_S, Pace


def busy_wait(pace: Pace, *, moved: bool = False, decoding: bool = True, speculative: bool = True) -> float:
    return pace.wait_s(busy=True, moved=moved, decoding=decoding, speculative=speculative, idle_s=0.0)


def follow(pace: Pace, ends: list[float], stop: float) -> tuple[int, int]:
    """Poll cycles that end at these times; returns polls and how many cycles had a poll of their own."""
    at, polls, seen, own = 0.0, 0, 0, 0
    while at < stop:
        ended = sum(1 for end in ends if end <= at)
        polls += 1
        moved = ended > seen
        own += ended == seen + 1
        seen = ended
        if moved:
            pace.moved(at)
        else:
            pace.stood()
        at += busy_wait(pace, moved=moved)
    return polls, own


def test_idle_polling_gets_rarer() -> None:
    waits = [
        Pace().wait_s(busy=False, moved=False, decoding=False, speculative=False, idle_s=idle_s)
        for idle_s in (0.0, 1.0, 9.0, 11.0, 59.0, 61.0, 599.0, 601.0, 1e6)
    ]
    assert waits == sorted(waits)
    assert waits[0] < 0.05, "the first cycles of a request that follows at once"
    assert waits[-1] == IDLE_LONG_S


def test_idle_polling_is_rare_where_another_source_tells_the_start_of_a_request() -> None:
    wait_s = Pace(relaxed=True).wait_s(busy=False, moved=False, decoding=False, speculative=False, idle_s=0.0)
    assert wait_s == IDLE_LONG_S


def test_an_unknown_cycle_time_is_hunted_for() -> None:
    assert busy_wait(Pace()) == HUNT_S


def test_slow_when_another_source_tells_the_cycles_or_there_are_none() -> None:
    assert busy_wait(Pace(cycle_s=0.02, relaxed=True)) == RELAXED_S
    assert busy_wait(Pace(cycle_s=0.02), speculative=False) == RELAXED_S


@pytest.mark.parametrize("cycle_s", [0.012, 0.04, 0.12])
@pytest.mark.parametrize("scatter", [0.0, 0.05])
def test_regular_cycles_are_each_seen_in_few_polls(cycle_s: float, scatter: float) -> None:
    chance = random.Random(7)  # noqa: S311  a fixed sequence, not a secret
    ends: list[float] = []
    for _ in range(400):
        ends.append((ends[-1] if ends else 0.0) + cycle_s * (1 + scatter * chance.uniform(-1, 1)))
    pace = Pace()
    polls, own = follow(pace, ends, ends[-1])
    assert own / len(ends) > 0.97
    assert polls / len(ends) < 2.5
    assert pace.cycle_s == pytest.approx(cycle_s, rel=0.35)


@pytest.mark.parametrize(("first", "then"), [(0.02, 0.1), (0.1, 0.02)])
def test_a_changed_cycle_time_is_followed(first: float, then: float) -> None:
    ends = [first * i for i in range(1, 100)]
    ends += [ends[-1] + then * i for i in range(1, 300)]
    pace = Pace()
    follow(pace, ends, ends[-1])
    assert pace.cycle_s == pytest.approx(then, rel=0.5)


def test_a_pause_between_requests_is_no_cycle() -> None:
    pace = Pace()
    follow(pace, [0.02 * i for i in range(1, 50)], 0.98)
    known = pace.cycle_s
    pace.restart()
    pace.moved(100.0)
    assert pace.cycle_s == known


@given(st.lists(st.tuples(st.booleans(), st.floats(0.0, 100.0, allow_nan=False)), max_size=60), st.booleans())
def test_no_wait_is_too_short_or_endless(polls: list[tuple[bool, float]], decoding: bool) -> None:
    pace, at = Pace(), 0.0
    for moved, gap in polls:
        at += gap
        if moved:
            pace.moved(at)
        else:
            pace.stood()
        assert MIN_WAIT_S <= busy_wait(pace, moved=moved, decoding=decoding) <= 1.0
