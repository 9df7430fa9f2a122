"""Bars of block characters, in eighths of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.strip import Strip

from specscope.views.widgets.runs import runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

RISING: Final = " ▁▂▃▄▅▆▇█"
LEVEL: Final = " ▏▎▍▌▋▊▉█"
EIGHTHS: Final = 8
LEAST_PITCH: Final = 2
MOST_PITCH: Final = 8
"""Cells from one column to the next."""


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
        label_style: of the label; None: as the others.
        open: it may be higher, by how much is not known: a question mark stands on it.
    """

    label: str
    share: float
    number: str
    ghost: float | None = None
    label_style: Style | None = None
    open: bool = False


def column_chart(columns: Sequence[Column], ink: Ink, width: int, height: int) -> list[Line | Strip]:
    """Columns over the whole width, with a row of numbers above and a row of labels below.

    As many columns as fit are drawn; numbers are left out where they do not fit.
    """
    if not columns or height < 1:
        return []
    shown = list(columns)[: max(1, width // LEAST_PITCH)]
    pitch = min(MOST_PITCH, width / len(shown))
    spots = [(round(i * pitch) + 1, round((i + 1) * pitch) - round(i * pitch) - 1) for i in range(len(shown))]
    numbers = all(len(c.number) < pitch for c in shown) and height > 3  # noqa: PLR2004  numbers, a bar, labels
    bar_rows = max(1, height - 1 - numbers)
    rows: list[Line | Strip] = [_texts([(c.number, ink.text) for c in shown], spots, ink)] if numbers else []
    rows += _bars(shown, [x for x, _ in spots], int(pitch) - 1, bar_rows, ink)
    rows.append(_texts([(c.label, c.label_style or ink.muted) for c in shown], spots, ink))
    return rows


def _bars(columns: Sequence[Column], starts: Sequence[int], thick: int, height: int, ink: Ink) -> list[Strip]:
    styles = {"n": ink.text, "b": ink.accepted, "g": ink.rejected, "u": ink.muted}
    rows: list[Strip] = []
    for row in reversed(range(height)):
        text = codes = ""
        for column, start in zip(columns, starts, strict=True):
            solid = _level(column.share, height, row)
            ghost = column.ghost is not None and not solid and _level(column.ghost, height, row)
            on_top = column.open and not solid and (not row or _level(column.share, height, row - 1))
            cells = "?".center(thick) if on_top else ("░" if ghost else RISING[solid]) * thick
            text = text.ljust(start) + cells
            codes = codes.ljust(start, "n") + ("u" if on_top else "b" if solid else "g" if ghost else "n") * thick
        rows.append(Strip(runs(text, codes, styles), len(text)))
    return rows


def _level(share: float, rows: int, row: int) -> int:
    eighths = max(1 if share > 0 else 0, round(share * rows * EIGHTHS))
    return max(0, min(EIGHTHS, eighths - row * EIGHTHS))


def _texts(texts: Sequence[tuple[str, Style]], spots: Sequence[tuple[int, int]], ink: Ink) -> Line:
    line = ink.line()
    for (text, style), (x, cells) in zip(texts, spots, strict=True):
        left = (cells - len(text)) // 2
        line.fill(x + max(0, left), " ", ink.text).add(text, style)
    return line
