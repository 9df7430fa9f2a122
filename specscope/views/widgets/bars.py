"""Bars of block characters, in eighths of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
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
        label_style: of the label; None: as the others. Numbers and labels of columns that have one are written first
            where there is no room for all.
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

    As many columns as fit are drawn; of numbers and labels that would touch, some are left out.
    """
    if not columns or height < 1:
        return []
    shown = list(columns)[: max(1, width // LEAST_PITCH)]
    pitch = min(MOST_PITCH, width / len(shown))
    spots = [(round(i * pitch) + 1, round((i + 1) * pitch) - round(i * pitch) - 1) for i in range(len(shown))]
    first = [i for i, c in enumerate(shown) if c.label_style is not None]
    numbers = _fitting([c.number for c in shown], spots, first, others=False)
    labels = _fitting([c.label for c in shown], spots, first, others=True)
    numbered = height > 3 and any(numbers)  # noqa: PLR2004  numbers, a bar, labels
    rows: list[Line | Strip] = [_texts([(n, ink.text) for n in numbers], spots, ink)] if numbered else []
    rows += _bars(shown, [x for x, _ in spots], int(pitch) - 1, max(1, height - 1 - numbered), ink)
    rows.append(_texts([(n, c.label_style or ink.muted) for n, c in zip(labels, shown, strict=True)], spots, ink))
    return rows


def _bars(columns: Sequence[Column], starts: Sequence[int], thick: int, height: int, ink: Ink) -> list[Strip]:
    styles = {"n": ink.text, "b": ink.accepted, "g": ink.rejected, "u": ink.muted}
    rows: list[Strip] = []
    for row in reversed(range(height)):
        text = codes = ""
        for column, start in zip(columns, starts, strict=True):
            solid = _level(column.share, height, row)
            ghost = column.ghost is not None and not solid and _level(column.ghost, height, row)
            on_top = column.open and _is_top(column.share, height, row)
            cells = "?".center(thick) if on_top else ("░" if ghost else RISING[solid]) * thick
            text = text.ljust(start) + cells
            codes = codes.ljust(start, "n") + ("u" if on_top else "b" if solid else "g" if ghost else "n") * thick
        rows.append(Strip(runs(text, codes, styles), len(text)))
    return rows


def _is_top(share: float, rows: int, row: int) -> bool:
    """Whether a row is the first above a column, or the highest of all where the column leaves none."""
    if row == rows - 1 and _level(share, rows, row):
        return True
    return not _level(share, rows, row) and (not row or _level(share, rows, row - 1) > 0)


def _level(share: float, rows: int, row: int) -> int:
    eighths = max(1 if share > 0 else 0, round(share * rows * EIGHTHS))
    return max(0, min(EIGHTHS, eighths - row * EIGHTHS))


def _texts(texts: Sequence[tuple[str, Style]], spots: Sequence[tuple[int, int]], ink: Ink) -> Line:
    line = ink.line()
    for (text, style), spot in zip(texts, spots, strict=True):
        line.fill(_left(text, spot), " ", ink.text).add(text, style)
    return line


def _left(text: str, spot: tuple[int, int]) -> int:
    """Where a text begins that stands in the middle of its column's cells."""
    x, cells = spot
    return x + max(0, (cells - len(text)) // 2)


def _fitting(
    texts: Sequence[str], spots: Sequence[tuple[int, int]], first: Sequence[int], *, others: bool
) -> list[str]:
    """The texts, if a blank is left between any two; else those that matter, and others where they still have room."""
    ends = [(_left(text, spot), _left(text, spot) + len(text)) for text, spot in zip(texts, spots, strict=True)]
    if all(end < begin for (_, end), (begin, _) in pairwise(e for e, text in zip(ends, texts, strict=True) if text)):
        return list(texts)
    kept: list[int] = []
    for i in dict.fromkeys([*first, *(range(len(texts)) if others else ())]):
        if texts[i] and all(ends[i][1] < ends[k][0] or ends[k][1] < ends[i][0] for k in kept):
            kept.append(i)
    return [text if i in kept else "" for i, text in enumerate(texts)]
