"""Turns over time: which seconds are columns, how high they are, and what is written under them."""

from __future__ import annotations

import traced
from hypothesis import given
from hypothesis import strategies as st

from specscope.session.turn_state import Parts
from specscope.views.ink import ink_from
from specscope.views.themes import DARK
from specscope.views.widgets.second_axis import axis_row, columns_of
from specscope.views.widgets.turn_strip import Scale, scale_top, strip_rows

INK = ink_from(DARK, colour=True, ascii_only=False)
PLAIN = ink_from(DARK, colour=False, ascii_only=True)
HALVES = Parts(8.0, 4.0, 0.0, 4.0, 0.0, 0.0, 0.0)


def test_a_column_is_a_second_and_a_longer_pause_a_single_one() -> None:
    assert columns_of([10, 11, 14], 9) == [10, 11, 12, 13, 14]
    assert columns_of([10, 11, 30, 31], 9) == [10, 11, None, 30, 31]
    assert columns_of([10, 11, 30, 31], 3) == [None, 30, 31]
    assert columns_of([], 9) == []


@given(st.sets(st.integers(min_value=0, max_value=400)), st.integers(min_value=1, max_value=180))
def test_columns_are_in_order_and_end_with_the_last_second(told: set[int], count: int) -> None:
    columns = columns_of(told, count)
    assert len(columns) <= count
    seconds = [s for s in columns if s is not None]
    assert seconds == sorted(set(seconds))
    assert columns[-1:] == ([max(told)] if told else [])
    assert all(s in columns for s in sorted(told)[-1:])


def test_the_scale_is_a_round_figure_that_one_long_second_does_not_move() -> None:
    assert scale_top([12.9, 13.3, 13.0]) == 15.0
    assert scale_top([12.9, 13.3, 51.0, 13.0]) == 15.0
    assert scale_top([0.42]) == 0.5
    assert scale_top([150.0]) == 150.0
    assert scale_top([]) == 1.0


def test_parts_are_stacked_from_draft_at_the_foot() -> None:
    rows = strip_rows([24], {24: HALVES}, PLAIN, Scale(5, 10.0, 3))
    assert [row.text for row in rows] == ["   ", "  V", "  V", "  D", "  D"]
    assert [row.text for row in strip_rows([25], {25: HALVES}, INK, Scale(5, 10.0, 1))] == [" ", "█", "█", "█", "█"]
    lettered = strip_rows([24], {24: HALVES}, INK, Scale(5, 10.0, 1))
    assert [row.text for row in lettered] == [" ", "V", "█", "D", "█"]


def test_what_is_higher_than_the_scale_is_cut_and_says_so() -> None:
    assert [row.text for row in strip_rows([25], {25: HALVES}, INK, Scale(2, 4.0, 1))] == ["↑", "█"]


def test_two_parts_share_a_cell_in_eighths() -> None:
    (row,) = strip_rows([25], {25: HALVES}, INK, Scale(1, 8.0, 1))
    (segment,) = list(row)
    assert segment.text == "▄"
    assert segment.style is not None
    assert (segment.style.color, segment.style.bgcolor) == (INK.parts[0].color, INK.parts[2].color)


def test_pauses_are_columns_of_their_own() -> None:
    rows = strip_rows([10, None, 30], {10: HALVES}, PLAIN, Scale(2, 8.0, 3))
    assert [row.text for row in rows] == ["V┊ ", "D┊ "]


@given(
    st.lists(st.none() | st.integers(min_value=0, max_value=60), max_size=60),
    st.lists(st.floats(min_value=0, max_value=80), min_size=6, max_size=6),
    st.integers(min_value=1, max_value=40),
    st.booleans(),
)
def test_every_row_is_as_wide_as_asked(columns: list[int | None], ms: list[float], rows: int, plain: object) -> None:
    told = {second: Parts(sum(ms), *ms) for second in range(0, 60, 2)}
    drawn = strip_rows(columns, told, PLAIN if plain else INK, Scale(rows, 20.0, 60))
    assert len(drawn) == rows
    assert all(len(row.text) == row.cell_length == 60 for row in drawn)


def test_times_and_marks_stand_under_their_columns() -> None:
    end = traced.END
    columns: list[int | None] = [*range(end - 29, end - 9), None, *range(end - 4, end + 1)]
    row = axis_row(columns, [(end - 19.4, "code")], INK, 40).text
    assert len(row) == 40
    assert row.startswith(" " * 14 + "┼")
    assert row[34] == "┊"
    assert row[14 + columns.index(end - 20)] == "┃"
    assert "code" in row


def test_a_few_seconds_have_their_time_before_them() -> None:
    assert axis_row([0, 1, 2], [], INK, 14).text == "  00:00:00┼───"
    assert axis_row([], [], INK, 5).text == "     "


def test_a_mark_at_the_right_edge_is_named_before_it() -> None:
    row = axis_row(list(range(100, 130)), [(129.0, "prose")], INK, 30).text
    assert row.endswith("prose┃")
    assert axis_row(list(range(100, 130)), [(5.0, "old")], INK, 30).text.count("┃") == 0
