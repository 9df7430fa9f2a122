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
