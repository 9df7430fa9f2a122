"""The parts of a turn: names, figures, and bars of any width, against what is worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import traced
from hypothesis import given
from hypothesis import strategies as st

from specscope.session.turn_parts import PARTS
from specscope.session.turn_state import Parts
from specscope.views import figures, turn_parts
from specscope.views.ink import ink_from
from specscope.views.themes import DARK
from specscope.views.turn_parts import LETTERS, Part, parts_of, unprobed, whole_ms
from specscope.views.widgets.flow import flow, rows_of_cells
from specscope.views.widgets.part_bar import cells_of, part_bar

if TYPE_CHECKING:
    from specscope.session.turn_state import Anatomy

MS = st.floats(min_value=0, max_value=1e4, allow_nan=False)


def of(parts: Parts, **fields: object) -> Anatomy:
    return traced.anatomy(parts=parts, seconds=(), **fields)


def figures_of(anatomy: Anatomy) -> list[str]:
    return [turn_parts.part_text(part, turn_parts.mark(anatomy)) for part in parts_of(anatomy)]


def test_the_parts_of_a_turn_on_a_gpu() -> None:
    assert whole_ms(traced.anatomy()) == "13.0 ms="
    assert figures_of(traced.anatomy()) == [
        "D draft 3.4= 26 %",
        "S submit 0.4= 3 %",
        "V verify on device 4.7= 36 %",
        "F features 1.3= 10 %",
        "H host sampling 3.2= 25 %",
    ]
    assert unprobed(traced.anatomy()) == ""


def test_what_the_cpu_computes_within_the_submit_is_called_verifying() -> None:
    turn = of(Parts(27.4, 11.4, 12.1, None, 0.6, 2.9, 0.4), asynchronous=False)
    assert [p.name for p in parts_of(turn)][1] == "verify (computed by the CPU)"
    assert [p.letter for p in parts_of(turn)] == ["D", "V", "F", "H", "O"]
    assert unprobed(turn) == ""
    assert parts_of(turn)[1].written == "12.1"


def test_a_plain_step_verifies_nothing() -> None:
    step = of(Parts(3.37, 0.0, 0.21, 2.71, 0.0, 0.38, 0.07), cycles=0)
    assert figures_of(step)[1] == "C compute on device 2.71= 80 %"
    assert [p.letter for p in parts_of(step)] == ["S", "C", "H", "O"]
    assert parts_of(replace(step, asynchronous=False))[0].name == "compute (by the CPU)"


def test_what_was_not_seen_apart_is_in_the_rest_and_never_a_zero() -> None:
    turn = of(Parts(13.0, 3.4, 0.4, None, 1.3, None, 7.9))
    assert figures_of(turn)[-1] == "R the rest 7.9= 61 %"
    assert unprobed(turn) == "the rest holds what was not seen apart: verify on device, host sampling"
    by_cpu = of(Parts(13.0, 3.4, None, None, 1.3, 2.0, 6.3), asynchronous=False)
    assert unprobed(by_cpu).endswith(": verify (computed by the CPU)")
    assert all("0.0" not in text for text in figures_of(turn))


def test_estimates_are_marked() -> None:
    assert figures_of(traced.ESTIMATE) == ["D draft 3.4~ 26 %", "R the rest 9.9~ 74 %"]


def test_a_rare_part_is_less_than_a_percent() -> None:
    assert "O other 0.1= <1 %" in figures_of(of(Parts(50.0, 20.0, 1.0, 20.0, 1.0, 7.9, 0.1)))


@given(st.tuples(MS, MS, MS, MS, MS, MS), st.integers(min_value=1, max_value=250))
def test_bars_fill_their_width_and_every_part_has_a_cell(ms: tuple[float, ...], width: int) -> None:
    parts = parts_of(of(Parts(sum(ms), *ms)))
    cells = cells_of(parts, width)
    assert all(n >= 1 for n in cells)
    if parts and len(parts) <= width:
        assert sum(cells) == width
        assert part_bar(parts, ink_from(DARK, colour=True, ascii_only=False), width).cells == width


@pytest.mark.parametrize("width", [5, 12, 30, 78, 118, 198])
@pytest.mark.parametrize("colour", [True, False])
def test_names_stand_on_the_bar_where_they_fit(width: int, *, colour: bool) -> None:
    line = part_bar(parts_of(traced.anatomy()), ink_from(DARK, colour=colour, ascii_only=True), width)
    written = "".join(segment.text for segment in line.segments)
    assert len(written) == width
    assert written.isascii()
    for part in parts_of(traced.anatomy()):
        assert part.letter in written or part.short in written
    if not colour:
        assert {c for c in written if c.isupper()} == set("DSVFH")


@given(st.lists(st.integers(min_value=1, max_value=40), max_size=12), st.integers(min_value=20, max_value=120))
def test_phrases_take_the_rows_that_were_planned(lengths: list[int], width: int) -> None:
    ink = ink_from(DARK, colour=True, ascii_only=False)
    phrases = [ink.line().add("x" * n, ink.text) for n in lengths]
    rows = flow(phrases, ink, width)
    assert len(rows) == rows_of_cells(lengths, width)
    assert all(row.cells <= width or row.cells <= max(lengths) + 1 for row in rows)


def test_sizes_are_written_in_three_figures() -> None:
    assert [figures.data_size(n) for n in (40, 1280, 262_144, 999_950, 4_457_728, None)] == [
        "40 B",
        "1.28 kB",
        "262 kB",
        "1 MB",
        "4.46 MB",
        "—",
    ]


def test_every_part_has_a_letter_and_a_colour_of_its_own() -> None:
    ink = ink_from(DARK, colour=True, ascii_only=False)
    assert len(set(LETTERS)) == len(ink.parts) == PARTS
    assert len({style.color for style in ink.parts}) == PARTS
    assert Part(0, "D", "draft", "draft", 1.0, 0.001, "1").percent == "<1 %"
