"""Seconds as columns: which ones are shown, and the row under them with the time of day and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.segment import Segment
from textual.strip import Strip

from specscope.views.figures import clock
from specscope.views.widgets.line import printable
from specscope.views.widgets.runs import runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from specscope.session.state import Target
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

AXIS: Final = 6
"""Cells left of the columns."""
BRIDGED_S: Final = 5
"""A pause of so many seconds is shown as long as it was; a longer one is a single column."""
PAUSE: Final = "┊"
LABEL_EVERY: Final = 20
"""Columns from one time of day to the next."""
LABEL_CELLS: Final = 24
"""Cells that the label of a mark may take; at the right edge it stands before its mark."""
_CLOCK_CELLS: Final = 9
"""A tick and a time of day."""

_WIDE: Final = 100
_LEGEND: Final = (28, 34)


def legend_cells(width: int) -> int:
    """Cells right of the columns, for what they mean; the same in every panel, so that their columns are aligned."""
    return _LEGEND[width >= _WIDE]


def columns_room(width: int) -> int:
    """How many columns there is room for."""
    return max(1, width - AXIS - legend_cells(width))


def seconds_told(target: Target) -> Iterable[int]:
    """The seconds of which turns are known, and those from the first of them on in which a burst ended."""
    turns = [int(at) for at, _, _ in target.anatomy.seconds] if target.anatomy is not None else []
    bursts = [int(b.at) for b in target.stalls.bursts] if target.stalls is not None else []
    return [*turns, *(b for b in bursts if turns and b >= turns[0])]


def columns_of(told: Iterable[int], count: int) -> list[int | None]:
    """The last ``count`` columns, oldest first: a second each, None for a longer pause.

    Args:
        told: seconds since the epoch of which something is known.
        count: how many columns there is room for.
    """
    found: list[int | None] = []
    newer: int | None = None
    for second in sorted(set(told), reverse=True):
        if len(found) >= count:
            break
        pause = 0 if newer is None else newer - second - 1
        found += [None] if pause > BRIDGED_S else [second + pause - i for i in range(pause)]
        found.append(second)
        newer = second
    return found[:count][::-1]


def between(label: str, row: Strip, told: Line, ink: Ink) -> Strip:
    """A row of columns, behind the label of its scale and before what is told of it."""
    segments = [Segment(label.rjust(AXIS - 2) + " ", ink.muted), Segment("│", ink.faint), *row, *told.segments]
    return Strip(segments, AXIS + row.cell_length + told.cells)


def axis_row(columns: Sequence[int | None], marks: Sequence[tuple[float, str]], ink: Ink, width: int) -> Strip:
    """The row under the columns: a time of day now and then, and where marks begin.

    Args:
        columns: as :func:`columns_of` gives them; they stand at the right edge.
        marks: time and label, oldest first.
        ink: what to write with.
        width: cells of the row.
    """
    left = width - len(columns)
    text, codes = ["─"] * width, ["r"] * width
    text[:left], codes[:left] = " " * left, "n" * left
    free = 0
    for n, second in enumerate(columns):
        place = left + n
        if second is None:
            text[place], free = PAUSE, place + 1
        elif place >= free and len(columns) - n >= _CLOCK_CELLS and None not in columns[n : n + _CLOCK_CELLS]:
            _write(text, codes, place, "┼" + clock(second), "t")
            free = place + LABEL_EVERY
    if not free and columns and columns[0] is not None and left >= _CLOCK_CELLS:
        _write(text, codes, left - _CLOCK_CELLS, clock(columns[0]) + "┼", "t")
    for at, label in marks:
        place = next((p for p, s in enumerate(columns, left) if s is not None and s >= int(at)), None)
        if place is not None and (place > left or columns[0] == int(at)):
            _write(text, codes, place, "┃", "m")
            name = printable(label)[:LABEL_CELLS] or "end"
            _write(text, codes, place + 1 if place + 1 + len(name) <= width else max(0, place - len(name)), name, "m")
    styles = {"r": ink.faint, "n": ink.text, "t": ink.muted, "m": ink.warn}
    return Strip(runs("".join(text), "".join(codes), styles), width)


def _write(text: list[str], codes: list[str], place: int, what: str, code: str) -> None:
    for character in what[: len(text) - place]:
        text[place], codes[place] = character, code
        place += 1
