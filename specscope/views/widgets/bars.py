"""Bars of block characters, in eighths of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

RISING: Final = " ▁▂▃▄▅▆▇█"
LEVEL: Final = " ▏▎▍▌▋▊▉█"
EIGHTHS: Final = 8


def level_bar(line: Line, share: float, width: int, full: Style, empty: Style) -> Line:
    """Write a horizontal bar of ``width`` cells, ``share`` of it full; anything above nothing shows."""
    eighths = max(1 if share > 0 else 0, min(width * EIGHTHS, round(share * width * EIGHTHS)))
    done, rest = divmod(eighths, EIGHTHS)
    line.add("█" * done, full)
    if rest:
        line.add(LEVEL[rest], full)
    return line.add("░" * (width - done - bool(rest)), empty)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a chart.

    Attributes:
        label: under the column.
        share: its height, 0..1.
        number: above the column.
        ghost: a second, larger height drawn faintly behind it.
    """

    label: str
    share: float
    number: str
    ghost: float | None = None


def column_chart(columns: Sequence[Column], ink: Ink, width: int, height: int, bar: Style) -> list[Line]:
    """Columns with a row of numbers above and a row of labels below.

    Columns are at most 6 cells apart and as many as fit are drawn; numbers are left out where they do not fit.
    """
    if not columns or height < 1:
        return []
    pitch = max(2, min(6, width // len(columns)))
    shown = list(columns)[: width // pitch]
    numbers = all(len(c.number) < pitch for c in shown) and height > 3  # noqa: PLR2004  numbers, a bar, labels
    bar_rows = max(1, height - 1 - numbers)
    rows: list[Line] = []
    if numbers:
        rows.append(_texts([c.number for c in shown], ink, pitch, ink.text))
    for row in reversed(range(bar_rows)):
        line = ink.line()
        for column in shown:
            solid = _level(column.share, bar_rows, row)
            ghost = _level(column.ghost or 0.0, bar_rows, row)
            glyph = RISING[solid] if solid or not ghost else "░"
            line.add(" " + glyph * (pitch - 1), bar if solid else ink.faint)
        rows.append(line)
    rows.append(_texts([c.label for c in shown], ink, pitch, ink.muted))
    return rows


def _level(share: float, rows: int, row: int) -> int:
    eighths = max(1 if share > 0 else 0, round(share * rows * EIGHTHS))
    return max(0, min(EIGHTHS, eighths - row * EIGHTHS))


def _texts(texts: Sequence[str], ink: Ink, pitch: int, style: Style) -> Line:
    line = ink.line()
    for text in texts:
        line.add(" " + text.center(pitch - 1), style)
    return line
