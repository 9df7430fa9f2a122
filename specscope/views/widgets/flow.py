"""Phrases set one after another into rows, each kept whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

GAP: Final = 3
"""Blanks between two phrases."""


def rows_of_cells(cells: Sequence[int], width: int) -> int:
    """How many rows phrases of so many cells take."""
    rows = used = 0
    for length in cells:
        if not rows or used + GAP + length > width:
            rows, used = rows + 1, 1 + length
        else:
            used += GAP + length
    return rows


def flow(phrases: Sequence[Line], ink: Ink, width: int) -> list[Line]:
    """The rows; a phrase that does not fit behind another begins the next row."""
    rows: list[Line] = []
    for phrase in phrases:
        if not rows or rows[-1].cells + GAP + phrase.cells > width:
            rows.append(ink.line().add(" ", ink.text).append(phrase))
        else:
            rows[-1].add(" " * GAP, ink.text).append(phrase)
    return rows


def ranked(phrases: Sequence[tuple[int, Line]], ink: Ink, width: int, gap: int = GAP) -> Line:
    """One row of phrases in their order: as many as fit, those of the lowest rank chosen first."""
    kept: set[int] = set()
    room = width + gap
    for place in sorted(range(len(phrases)), key=lambda place: phrases[place][0]):
        cells = phrases[place][1].cells
        if cells and (not kept or cells + gap <= room):
            kept.add(place)
            room -= cells + gap
    line = ink.line()
    for place in sorted(kept):
        line.add(" " * gap if line.cells else "", ink.text).append(phrases[place][1])
    return line
