"""Where a turn's time goes: means over the latest window and per second, from sums that only move on."""

from __future__ import annotations

import tracemalloc
from dataclasses import astuple
from math import floor
from typing import TYPE_CHECKING

import builders as b
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specscope import events as ev
from specscope.session.anatomy import SECONDS_KEPT, AnatomyBook, fit

if TYPE_CHECKING:
    from specscope.session.turn_state import Anatomy, Parts

H200 = {
    "draft_us": 3_400,
    "draft_sampling_us": 300,
    "submit_us": 500,
    "wait_us": 4_700,
    "features_us": 1_300,
    "sampling_us": 2_900,
    "samples": 7,
}
"""A DFlash turn on an H200, 13.0 ms long."""

NAMES = ("draft_ms", "submit_ms", "wait_ms", "features_ms", "sampling_ms")


def anatomy(*facts: ev.Event) -> Anatomy | None:
    return b.seen(b.found(), b.tracing(asynchronous=True), *facts).anatomy


def known(*facts: ev.Event) -> Anatomy:
    made = anatomy(*facts)
    assert made is not None
    return made


def total(parts: Parts) -> float:
    return sum(getattr(parts, name) or 0.0 for name in NAMES) + parts.other_ms


def test_the_parts_of_a_turn_and_what_is_left_of_it() -> None:
    made = known(*[b.turn(1 + 0.013 * i, 13_000, **H200) for i in range(70)])
    assert [getattr(made.parts, name) for name in NAMES] == [3.4, 0.5, 4.7, 1.3, 2.9]
    assert (made.parts.whole_ms, made.parts.draft_sampling_ms) == (13.0, 0.3)
    assert made.parts.other_ms == pytest.approx(0.2)
    assert (made.evidence, made.turns, made.cycles, made.samples) == ("exact", 70, 70, 490)
    assert made.span_s == pytest.approx(0.91)
    assert made.asynchronous is True


def test_means_are_over_turns_and_cycles_are_of_all_slots() -> None:
    made = known(b.turn(1.0, 10_000, cycles=1, draft_us=2_000), b.turn(1.1, 20_000, cycles=3, draft_us=4_000))
    assert (made.parts.whole_ms, made.parts.draft_ms) == (15.0, 3.0)
    assert (made.turns, made.cycles, made.samples) == (2, 4, None)


def test_what_was_not_probed_is_none_and_within_the_rest() -> None:
    parts = known(b.turn(1.0, 10_000, draft_us=2_000, submit_us=0)).parts
    assert (parts.wait_ms, parts.features_ms, parts.sampling_ms, parts.draft_sampling_ms) == (None,) * 4
    assert (parts.submit_ms, parts.other_ms) == (0.0, 8.0)


def test_parts_that_exceed_the_whole_are_shortened_in_proportion() -> None:
    parts = known(b.turn(1.0, 10_000, draft_us=9_000, wait_us=6_000, draft_sampling_us=9_500)).parts
    assert (parts.draft_ms, parts.wait_ms, parts.other_ms) == (6.0, 4.0, 0.0)
    assert parts.draft_sampling_ms == 6.0


def test_probes_that_come_while_it_runs_do_not_make_parts_exceed_the_whole() -> None:
    # Half of the turns know only the draft, the other half the rest: each mean is over those that had it.
    some = [b.turn(1.0, 10_000, draft_us=8_000), b.turn(1.1, 10_000, wait_us=8_000)]
    parts = known(*some).parts
    assert (parts.draft_ms, parts.wait_ms, parts.other_ms) == (5.0, 5.0, 0.0)


# --- which turns count ----------------------------------------------------------------------------------------------


def test_a_prompt_is_no_turn_of_decoding() -> None:
    prompt = [b.turn(1 + i, 400_000, cycles=0, samples=samples) for i, samples in enumerate([0, 1, None])]
    made = known(*prompt, *[b.turn(5 + i / 100, 13_000, **H200) for i in range(20)])
    assert (made.turns, made.parts.whole_ms) == (20, 13.0)


def test_only_prompts_tell_nothing() -> None:
    assert anatomy(*[b.turn(1 + i, 400_000, cycles=0, samples=0) for i in range(5)]) is None
    assert anatomy() is None


def test_a_server_that_does_not_draft_is_told_by_its_plain_steps() -> None:
    steps = [b.turn(1 + i / 300, 3_300, cycles=0, samples=1, wait_us=2_900, draft_us=0) for i in range(200)]
    made = known(*steps)
    assert (made.turns, made.cycles, made.parts.whole_ms, made.parts.draft_ms) == (200, 0, 3.3, 0.0)


def test_the_forward_that_gives_the_first_token_is_no_plain_step() -> None:
    steps = [b.turn(1 + i / 300, 3_300, cycles=0, samples=1) for i in range(100)]
    again = [
        b.turn(3.0, 900_000, cycles=0, samples=1),
        *[b.turn(3.1 + i / 300, 3_400, cycles=0, samples=1) for i in range(100)],
    ]
    made = known(*steps, *again)
    assert (made.turns, made.parts.whole_ms) == (200, 3.35)


def test_plain_steps_that_grow_slower_for_good_are_counted_again() -> None:
    slow = [b.turn(12 + i / 10, 33_000, cycles=0, samples=1) for i in range(90)]
    made = known(*[b.turn(1 + i / 300, 3_300, cycles=0, samples=1) for i in range(100)], *slow)
    assert made.parts.whole_ms == 33.0
    assert made.turns > 70


def test_cheap_probes_tell_plain_steps_only_where_nothing_drafts() -> None:
    steps = [b.turn(1 + i / 100, 3_300, cycles=0, submit_us=300) for i in range(50)]
    off = b.idle(0.5, task=None, speculative=False)
    assert anatomy(*steps) is None
    assert known(off, *steps).turns == 50
    assert anatomy(b.busy(0.5, params={"speculative.types": "draft-dflash"}), *steps) is None


# --- the window and the seconds --------------------------------------------------------------------------------------


def test_only_the_last_ten_seconds_count() -> None:
    slow = [b.turn(1 + i / 10, 100_000) for i in range(100)]
    made = known(*slow, *[b.turn(12 + i / 10, 50_000) for i in range(81)])
    assert (made.turns, made.parts.whole_ms) == (81, 50.0)  # 12 to 20 s, and of the slow ones none after 11 s
    both = known(*slow, *[b.turn(12 + i / 10, 50_000) for i in range(71)])
    assert (both.turns, both.parts.whole_ms) == (81, pytest.approx((71 * 50 + 10 * 100) / 81))


def test_each_second_has_its_own_means() -> None:
    turns = [b.turn(s + i / 10, 10_000 * s, draft_us=1_000 * s) for s in (1, 2, 4) for i in range(5 * s)]
    seconds = known(*turns).seconds
    assert [(at - b.T0, n, p.whole_ms, p.draft_ms) for at, n, p in seconds] == [
        (1.0, 5, 10.0, 1.0),
        (2.0, 10, 20.0, 2.0),
        (4.0, 10, 40.0, 4.0),
        (5.0, 10, 40.0, 4.0),
    ]


def test_two_minutes_are_kept() -> None:
    seconds = known(*[b.turn(s, 10_000) for s in range(1, 400)]).seconds
    assert [at - b.T0 for at, _, _ in seconds] == list(range(400 - SECONDS_KEPT, 400))
    gap = known(b.turn(1.0), b.turn(2.0), b.turn(500.0)).seconds
    assert [at - b.T0 for at, _, _ in gap] == [500.0]


def test_a_view_is_made_of_sums_and_of_seconds_that_are_closed() -> None:
    book = AnatomyBook()
    for i in range(1000):
        book.turn(b.turn(1 + i / 100, 10_000, draft_us=1_000))
    first, second = (book.view("exact", asynchronous=None, drafts=None) for _ in range(2))
    assert first is not None
    assert second is not None
    closed = [(a[2], z[2]) for a, z in zip(first.seconds[:-1], second.seconds[:-1], strict=True)]
    assert len(closed) == 9
    assert all(a is z for a, z in closed)


def test_memory_is_flat_however_many_turns_come() -> None:
    book = AnatomyBook()
    turns = [b.turn(1 + i / 2000, 500, draft_us=100) for i in range(2000)]

    def run(seconds: int, begin: int) -> None:
        for second in range(begin, begin + seconds):
            for turn in turns:
                book.turn(ev.TurnTraced(at=turn.at + second, whole_us=500, cycles=1, draft_us=100))

    run(5, 0)
    tracemalloc.start()
    run(1, 5)
    before = tracemalloc.take_snapshot()
    run(10, 6)
    grown = sum(d.size_diff for d in tracemalloc.take_snapshot().compare_to(before, "filename"))
    tracemalloc.stop()
    assert grown < 50_000


# --- how it is known -------------------------------------------------------------------------------------------------


def test_lost_events_take_the_exactness_away() -> None:
    lossy = [b.attached("trace", "trace"), b.turn(1.0, **H200), b.missed("trace")]
    assert known(*lossy).evidence == "unconfirmed"


def test_a_restart_and_a_reset_forget_the_turns() -> None:
    facts = [b.found(), b.tracing(), b.started("1"), b.turn(1.0, **H200)]
    assert b.seen(*facts, b.started("2", at=2.0)).anatomy is None
    fold = b.fold(*facts)
    fold.reset()
    (target,) = fold.view().targets
    assert target.anatomy is None
    assert target.trace is not None
    assert target.trace.mode == "auto"


# --- properties ------------------------------------------------------------------------------------------------------

US = st.one_of(st.none(), st.integers(0, 60_000))
TURNS = st.lists(
    st.builds(
        b.turn,
        st.integers(0, 3000).map(lambda n: n / 100),
        st.integers(0, 50_000),
        cycles=st.integers(0, 3),
        samples=st.one_of(st.none(), st.integers(0, 20)),
        draft_us=US,
        draft_sampling_us=US,
        submit_us=US,
        wait_us=US,
        features_us=US,
        sampling_us=US,
    ),
    min_size=1,
    max_size=60,
).map(lambda turns: sorted(turns, key=lambda t: t.at))


@given(TURNS)
def test_parts_never_exceed_the_whole_and_the_rest_is_the_rest(turns: list[ev.TurnTraced]) -> None:
    made = anatomy(*turns)
    if made is None:
        return
    for parts in (made.parts, *(p for _, _, p in made.seconds)):
        assert total(parts) == pytest.approx(parts.whole_ms, abs=1e-9)
        assert min(getattr(parts, name) or 0.0 for name in NAMES) >= 0
        assert parts.other_ms >= 0
        assert parts.draft_sampling_ms is None or 0 <= parts.draft_sampling_ms <= (parts.draft_ms or 0.0) + 1e-12


@given(TURNS)
def test_the_window_is_that_of_the_last_ten_seconds(turns: list[ev.TurnTraced]) -> None:
    made = anatomy(*turns)
    end = max((t.at for t in turns if t.cycles), default=None)
    if made is None or end is None:
        return
    late = [t for t in turns if t.cycles and t.at >= floor(end) - 9]
    assert (made.turns, made.cycles) == (len(late), sum(t.cycles for t in late))
    assert astuple(made.parts) == pytest.approx(astuple(known(*late).parts))


@given(st.integers(0, 10**6), st.lists(st.one_of(st.none(), st.integers(0, 10**6)), max_size=6))
def test_what_fits_is_left_as_it_is(whole: int, parts: list[int | None]) -> None:
    fitted, rest = fit(whole, parts)
    told = sum(p for p in parts if p is not None)
    assert rest == max(0, whole - told)
    assert sum(p for p in fitted if p is not None) == pytest.approx(min(told, whole))
    assert [p is None for p in fitted] == [p is None for p in parts]
