"""Turns over time: one column a second, the parts of a turn stacked in it from draft at the foot to other on top."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.style import Style
from textual.strip import Strip

from specscope.session.turn_parts import PARTS, durations
from specscope.views.turn_parts import LETTERS
from specscope.views.widgets.bars import EIGHTHS, RISING
from specscope.views.widgets.part_bar import filled
from specscope.views.widgets.runs import runs
from specscope.views.widgets.second_axis import PAUSE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specscope.session.turn_state import Parts
    from specscope.views.ink import Ink

GROUND: Final = PARTS
"""What is above a column, in the place of a part."""
LETTER_EVERY: Final = 12
"""Seconds from one column that bears letters to the next."""
OUTLIER: Final = 2.5
"""A second whose turns took so many times the median is cut, so that the others keep their height."""
CUT: Final = "↑"
_STEPS: Final = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_LETTER_CODE, _PAIR_CODE, _PAUSE_CODE, _CUT_CODE = 0x100, 0x200, "p", "c"


def scale_top(wholes: Sequence[float]) -> float:
    """The milliseconds of the highest row: a round figure above all columns but the outliers."""
    if not wholes:
        return 1.0
    limit = OUTLIER * sorted(wholes)[len(wholes) // 2]
    most = max((w for w in wholes if w <= limit), default=0.0) or 1.0
    unit = 1.0
    while unit * 10 < most:
        unit *= 10
    while unit >= most:
        unit /= 10
    return next(step * unit for step in _STEPS if step * unit >= most * (1 - 1e-9))


class Scale(NamedTuple):
    """How columns are drawn: ``rows`` stand for ``top`` milliseconds, at the right edge of ``width`` cells.

    ``letters`` stand for the parts; ``by_cpu``: what is submitted is computed at once.
    """

    rows: int
    top: float
    width: int
    letters: str = LETTERS
    by_cpu: bool = False


def strip_rows(columns: Sequence[int | None], seconds: Mapping[int, Parts], ink: Ink, scale: Scale) -> list[Strip]:
    """The rows of the strip, top row first."""
    rows, per_ms, letters_only = scale.rows, scale.rows * EIGHTHS / scale.top, ink.ascii or not ink.colour
    cells = [_blank(rows, paused=False)] * (scale.width - len(columns))
    for second in columns:
        parts = seconds.get(second) if second is not None else None
        if parts is None:
            cells.append(_blank(rows, paused=second is None))
        else:
            bounds = tuple([round(ms * per_ms) for ms in accumulate(durations(parts, by_cpu=scale.by_cpu))])
            bears = second is not None and not second % LETTER_EVERY
            cells.append(_column(bounds, rows, scale.letters, all_letters=letters_only, bears=bears))
    styles = _styles(ink)
    texts = map("".join, zip(*[text for text, _ in cells], strict=True))
    codes = map("".join, zip(*[code for _, code in cells], strict=True))
    return [Strip(runs(t, c, styles), scale.width) for t, c in zip(texts, codes, strict=True)]


@lru_cache(64)
def _blank(rows: int, *, paused: bool) -> tuple[str, str]:
    return (PAUSE * rows, _PAUSE_CODE * rows) if paused else (" " * rows, _pair(GROUND, GROUND) * rows)


@lru_cache(8192)
def _column(bounds: tuple[int, ...], rows: int, letters: str, *, all_letters: bool, bears: bool) -> tuple[str, str]:
    """One column's cells and their style codes, top row first.

    Args:
        bounds: upper ends of the parts, in eighths of a row.
        rows: how many rows there are.
        letters: of the parts.
        all_letters: every cell is the letter of the part that fills most of it.
        bears: each part bears its letter once.
    """
    if all_letters:
        places: Sequence[int | None] = [_most(bounds, row) for row in range(rows)]
    else:
        marked = _letter_rows(bounds, rows) if bears else {}
        places = [marked.get(row) for row in range(rows)]
    cells = [
        _cell(bounds, row) if place is None else ((letters + " ")[place], chr(_LETTER_CODE + place))
        for row, place in enumerate(places)
    ]
    if bounds[-1] > rows * EIGHTHS:
        cells[-1] = (CUT, _CUT_CODE)
    cells.reverse()
    return "".join([c for c, _ in cells]), "".join([code for _, code in cells])


def _letter_rows(bounds: tuple[int, ...], rows: int) -> dict[int, int]:
    """The row in which each part bears its letter: its middle one, where it fills that."""
    found: dict[int, int] = {}
    for part, (low, high) in enumerate(pairwise((0, *bounds))):
        row = (low + min(high, rows * EIGHTHS)) // 2 // EIGHTHS
        if low <= row * EIGHTHS and high >= (row + 1) * EIGHTHS:
            found[row] = part
    return found


def _shares(bounds: tuple[int, ...], row: int) -> list[tuple[int, int]]:
    """(part, eighths of the row that it fills), from below; what is above the column fills the rest."""
    foot, head = row * EIGHTHS, (row + 1) * EIGHTHS
    ends = (0, *bounds, max(head, bounds[-1]))
    found = [(part, min(high, head) - max(low, foot)) for part, (low, high) in enumerate(pairwise(ends))]
    return [(part, eighths) for part, eighths in found if eighths > 0]


def _cell(bounds: tuple[int, ...], row: int) -> tuple[str, str]:
    """One cell: the two parts that fill most of it, the lower one drawn on the ground of the upper."""
    shares = _shares(bounds, row)
    if len(shares) == 1:
        part = shares[0][0]
        return ("█" if part != GROUND else " "), _pair(part, part)
    lower, upper = sorted(sorted(shares, key=lambda s: -s[1])[:2])
    if lower[1] + upper[1] < EIGHTHS:
        lower = (lower[0], round(lower[1] * EIGHTHS / (lower[1] + upper[1])))
    return RISING[lower[1]], _pair(lower[0], upper[0])


def _most(bounds: tuple[int, ...], row: int) -> int:
    """What fills most of a row, a part or what is above them."""
    return max(_shares(bounds, row), key=lambda s: s[1])[0]


def _pair(lower: int, upper: int) -> str:
    """The style code of a part drawn on another's ground."""
    return chr(_PAIR_CODE + lower * (GROUND + 1) + upper)


@lru_cache(8)
def _styles(ink: Ink) -> dict[str, Style]:
    styles = {_PAUSE_CODE: ink.faint, _CUT_CODE: ink.warn}
    styles |= {chr(_LETTER_CODE + part): filled(ink, part) for part in range(GROUND)}
    styles[chr(_LETTER_CODE + GROUND)] = ink.text
    for lower in range(GROUND + 1):
        for upper in range(GROUND + 1):
            fore = ink.parts[lower].color if lower != GROUND else ink.text.color
            back = ink.parts[upper].color if upper != GROUND else ink.text.bgcolor
            styles[_pair(lower, upper)] = Style(color=fore, bgcolor=back) if ink.colour else ink.text
    return styles
