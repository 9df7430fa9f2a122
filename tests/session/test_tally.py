"""The definitions: what a figure of speculative decoding is, from counts of cycles by width and accepted length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specscope.session.tally import Tally


def tally(*cycles: tuple[int | None, int], plain: int = 0) -> Tally:
    made = Tally()
    for drafted, accepted in cycles:
        made.add_cycle(drafted, accepted)
    made.add_plain(plain)
    return made


CYCLES = st.lists(
    st.one_of(
        st.integers(1, 16).flatmap(lambda w: st.tuples(st.just(w), st.integers(0, w))),
        st.tuples(st.none(), st.integers(0, 16)),
    ),
    max_size=30,
)
TALLIES = st.builds(lambda cycles, plain: tally(*cycles, plain=plain), CYCLES, st.integers(0, 50))


def figures(made: Tally) -> tuple[object, ...]:
    return (dict(made.joint), made.plain_steps, made.tokens, made.unverified)


def test_four_cycles_by_hand() -> None:
    made = tally((15, 5), (15, 0), (7, 7), (15, 1), plain=2)
    assert (made.cycles, made.drafted, made.accepted, made.plain_steps) == (4, 52, 13, 2)
    assert made.steps == 6
    assert made.tokens == 13 + 4 + 2
    assert made.tau_draft() == 1 + 13 / 4
    assert made.width_max == 15
    assert made.histogram() == [1, 1, 0, 0, 0, 1, 0, 1]


def test_tau_draft_of_full_width_leaves_the_shrunk_drafts_out() -> None:
    # A request that ends soon drafts less than n_max: its short cycles pull the mean length down.
    made = tally((15, 7), (15, 5), (3, 0), (1, 1))
    assert made.tau_draft() == 1 + 13 / 4
    assert made.tau_draft(width=15) == 1 + 12 / 2
    assert made.tau_draft(width=8) is None


def test_position_rates_part_when_drafts_have_different_widths() -> None:
    # Two of three cycles never offered a third token: the share of all cycles is not the rate where one was offered.
    rates = tally((3, 3), (2, 2), (2, 0)).survival()
    assert [r.share for r in rates] == [2 / 3, 2 / 3, 1 / 3]
    assert [r.among_wide for r in rates] == [2 / 3, 2 / 3, 1.0]


def test_position_rates_of_equal_widths_are_the_same_among_all_and_among_wide() -> None:
    assert all(r.share == r.among_wide for r in tally((4, 4), (4, 1), (4, 0), (4, 2)).survival())


def test_tau_draft_is_one_and_the_shares_together() -> None:
    made = tally((15, 5), (15, 0), (15, 15), (9, 3))
    assert made.tau_draft() == pytest.approx(1 + sum(r.share for r in made.survival()))


def test_without_widths_nothing_about_drafts_is_known() -> None:
    made = tally((None, 3), (None, 0), (None, 1))
    assert (made.drafted, made.width_max) == (None, None)
    assert (made.cycles, made.accepted, made.tokens) == (3, 4, 7)
    assert [r.share for r in made.survival()] == [2 / 3, 1 / 3, 1 / 3]
    assert {r.among_wide for r in made.survival()} == {None}


def test_one_cycle_without_a_width_makes_the_sum_of_widths_unknown() -> None:
    made = tally((15, 3), (None, 0))
    assert made.drafted is None
    assert made.width_max == 15


def test_nothing_seen_is_no_figure() -> None:
    made = Tally()
    assert (made.cycles, made.accepted, made.drafted, made.steps) == (0, 0, 0, 0)
    assert (made.tau_draft(), made.width_max, made.histogram(), made.survival()) == (None, None, [], [])


def test_a_cancelled_draft_is_drafted_but_no_cycle() -> None:
    made = tally((15, 5))
    made.merge(Tally(unverified=12))
    assert (made.cycles, made.drafted, made.accepted) == (1, 27, 5)


@given(cycles=CYCLES, plain=st.integers(0, 50))
def test_the_figures_are_those_of_the_list(cycles: list[tuple[int | None, int]], plain: int) -> None:
    made = tally(*cycles, plain=plain)
    accepted = [a for _, a in cycles]
    widths = [w for w, _ in cycles if w is not None]
    assert made.cycles == len(cycles) == sum(made.histogram())
    assert made.accepted == sum(accepted)
    assert made.tokens == sum(accepted) + len(cycles) + plain
    assert made.drafted == (sum(widths) if len(widths) == len(cycles) else None)
    assert made.width_max == max(widths, default=None)
    for position, rate in enumerate(made.survival()):
        assert rate.share == sum(a > position for a in accepted) / len(accepted)
        if len(widths) == len(cycles):
            reached = [a for w, a in cycles if w is not None and w > position]
            assert rate.among_wide == sum(a > position for a in reached) / len(reached)


@given(cycles=CYCLES)
def test_survival_never_rises_along_the_draft(cycles: list[tuple[int | None, int]]) -> None:
    shares = [r.share for r in tally(*cycles).survival()]
    assert shares == sorted(shares, reverse=True)


@given(first=TALLIES, second=TALLIES)
def test_adding_and_taking_away_again_changes_nothing(first: Tally, second: Tally) -> None:
    before = figures(first)
    first.merge(second)
    first.merge(second, -1)
    assert figures(first) == before


@given(first=TALLIES, second=TALLIES)
def test_adding_is_the_same_in_either_order(first: Tally, second: Tally) -> None:
    one, other = first.copy(), second.copy()
    one.merge(second)
    other.merge(first)
    assert figures(one) == figures(other)
    assert one.cycles == first.cycles + second.cycles


@given(made=TALLIES)
def test_a_copy_goes_its_own_way(made: Tally) -> None:
    before, copy = figures(made), made.copy()
    copy.add_cycle(4, 2)
    copy.add_plain(1)
    assert figures(made) == before
    assert copy.tokens == made.tokens + 4


@given(made=TALLIES)
def test_what_is_taken_away_wholly_leaves_no_trace(made: Tally) -> None:
    empty = made.copy()
    empty.merge(made, -1)
    assert figures(empty) == ({}, 0, 0, 0)
