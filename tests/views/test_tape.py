"""The columns of the cycle tape, against heights worked out by hand."""

from __future__ import annotations

import pytest

from specscope.session.state import Cycle
from specscope.views.widgets.tape import Divider, Scale, column, items_of, useful_rows


def cycle(number: int, *, slot: int = 0, task: int = 1, at: float | None = None) -> Cycle:
    at = float(number) if at is None else at
    return Cycle(number, at, slot, task, 4, 2, 75.0, "log")


@pytest.mark.parametrize(
    ("drafted", "accepted", "glyphs"),
    [
        (4, 4, "████"),
        (4, 0, "    "),
        (2, 2, "  ██"),
        (4, 1, "   █"),
        (None, 2, "┊┊██"),
        (None, 0, "┊┊┊┊"),
    ],
)
def test_a_token_a_row(drafted: int | None, accepted: int, glyphs: str) -> None:
    assert column(drafted, accepted, Scale(4, 4), shaded=False)[0] == glyphs


def test_rejected_cells_are_a_dim_ground_and_unseen_ones_are_not() -> None:
    assert column(4, 1, Scale(4, 4), shaded=False)[1] == "BBBB"
    assert column(2, 1, Scale(4, 4), shaded=False)[1] == "NNBB"
    assert column(None, 1, Scale(4, 4), shaded=False)[1] == "UUUB"


def test_rejected_cells_are_shaded_where_there_is_no_colour() -> None:
    assert column(4, 1, Scale(4, 4), shaded=True) == ("░░░█", "RRRB")


def test_two_tokens_a_row_use_half_blocks() -> None:
    assert column(3, 1, Scale(2, 4), shaded=False) == ("▄▄", "RB")


def test_a_single_token_shows_on_a_scale_too_coarse_for_it() -> None:
    assert column(64, 1, Scale(2, 64), shaded=False)[0][-1] == "▁"
    assert Scale(2, 64).eighths(0) == 0
    assert Scale(2, 64).eighths(64) == 16


def test_tokens_beyond_the_scale_stay_within_it() -> None:
    assert Scale(3, 4).eighths(9) == 24


def test_rows_that_bars_can_reach() -> None:
    assert useful_rows(9, 15) == 8
    assert useful_rows(15, 15) == 15
    assert useful_rows(1, 64) == 1


def test_newest_at_the_end_and_no_more_than_fit() -> None:
    items = items_of([cycle(n) for n in range(1, 11)], [], None, 4)
    assert [i.cycle.number for i in items if i.cycle] == [7, 8, 9, 10]
    assert not any(i.begins for i in items)


def test_a_request_begins_where_the_task_changes() -> None:
    cycles = [cycle(1, task=1), cycle(2, task=1), cycle(3, task=2), cycle(4, task=2)]
    assert [i.begins for i in items_of(cycles, [], None, 9)] == [False, False, True, False]


def test_a_request_begins_at_the_left_edge() -> None:
    cycles = [cycle(1, task=1), cycle(2, task=2), cycle(3, task=2)]
    assert [i.begins for i in items_of(cycles, [], None, 2)] == [True, False]


def test_another_slot_between_does_not_begin_a_request() -> None:
    cycles = [cycle(1, slot=0, task=1), cycle(2, slot=1, task=2), cycle(3, slot=0, task=1)]
    items = items_of(cycles, [], 0, 9)
    assert [(i.cycle.number, i.begins) for i in items if i.cycle] == [(1, False), (3, False)]


def test_dividers_stand_between_the_cycles_they_part() -> None:
    dividers = [Divider(0.0, "before all"), Divider(0.5, "first"), Divider(2.5, "mark"), Divider(9.0, "now")]
    items = items_of([cycle(1), cycle(2), cycle(3)], dividers, None, 9)
    assert [i.divider.label if i.divider else i.cycle.number if i.cycle else None for i in items] == [
        "first",
        1,
        2,
        "mark",
        3,
        "now",
    ]
