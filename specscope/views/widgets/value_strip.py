"""Values over time as columns on a common foot: memory, fill, power, clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from textual.strip import Strip

from specscope.views.widgets.bars import EIGHTHS, RISING
from specscope.views.widgets.runs import runs
from specscope.views.widgets.second_axis import PAUSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

    from specscope.views.ink import Ink

CUT: Final = "↑"
LOW: Final = "."
"""Less than half of a cell, where its eighths cannot be drawn."""
_PLAIN, _LOUD, _BLANK, _PAUSE = "pln|"


class Value(NamedTuple):
    """One column: its value (None: not told), and whether it is drawn loud."""

    value: float | None
    loud: bool = False


PAUSED: Final = Value(-1.0)
"""A column that stands for a pause."""


def value_rows(values: Sequence[Value], top: float, rows: int, ink: Ink, style: Style) -> list[Strip]:
    """The rows of a chart, top row first.

    Args:
        values: one a column.
        top: the value at the upper edge; what is above it is cut, and says so.
        rows: how many there are.
        ink: what to write with.
        style: of columns that are not loud.
    """
    text = [[" "] * len(values) for _ in range(rows)]
    codes = [[_BLANK] * len(values) for _ in range(rows)]
    for place, column in enumerate(values):
        if column is PAUSED:
            for y in range(rows):
                text[y][place], codes[y][place] = PAUSE, _PAUSE
        elif column.value is not None:
            for y, cell in enumerate(_cells(column.value, top, rows, plain=ink.ascii)):
                text[y][place], codes[y][place] = cell, _LOUD if column.loud else _PLAIN
    styles = {_PLAIN: style, _LOUD: ink.warn, _BLANK: ink.text, _PAUSE: ink.faint}
    return [Strip(runs("".join(t), "".join(c), styles), len(values)) for t, c in zip(text, codes, strict=True)]


def _cells(value: float, top: float, rows: int, *, plain: bool) -> list[str]:
    """The cells of one column, top row first; anything above nothing shows."""
    whole = rows * EIGHTHS
    eighths = round(min(value / top, 2.0) * whole) if top > 0 else 0
    if value > 0:
        eighths = max(1, eighths)
    cells = [RISING[max(0, min(EIGHTHS, eighths - y * EIGHTHS))] for y in reversed(range(rows))]
    if plain:
        low = RISING[1 : EIGHTHS // 2]
        cells = [LOW if cell in low else cell for cell in cells]
    if eighths > whole:
        cells[0] = CUT
    return cells
