"""One row of text with styles, written left to right and cut to a width in cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.strip import Strip

if TYPE_CHECKING:
    from rich.style import Style

_TWINS: Final = str.maketrans(
    {
        "≠": "!=",
        "≥": ">=",
        "—": "-",
        "…": "~",
        "·": ":",
        "°": "^",
        "─": "-",
        "│": "|",
        "┃": "|",
        "╎": "|",
        "┼": "+",
        "└": "+",
        "┌": "+",
        "┐": "+",
        "┘": "+",
        "┊": ".",
        "█": "#",
        "▉": "#",
        "▊": "#",
        "▋": "#",
        "▌": "#",
        "▍": " ",
        "▎": " ",
        "▏": " ",
        "▇": "#",
        "▆": "#",
        "▅": "#",
        "▄": "#",
        "▃": " ",
        "▂": " ",
        "▁": " ",
        "░": ":",
        "✖": "X",
        "●": "*",
        "○": "o",
        "✓": "v",
        "↑": "^",
        "↓": "v",
    }
)
"""What stands for a character where only ASCII may be drawn."""


def printable(text: str) -> str:
    """Text from outside, made harmless: no control characters, no escapes, no changes of direction."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def ascii_text(text: str) -> str:
    """The text in ASCII; a character without a twin becomes as many ``?`` as it has cells."""
    twin = text.translate(_TWINS)
    return twin if twin.isascii() else "".join(c if c.isascii() else "?" * cell_len(c) for c in twin)


def ascii_cells(text: str) -> str:
    """The text in ASCII, every character as wide as it was."""
    return "".join(c if c.isascii() else ascii_text(c)[: cell_len(c)].ljust(cell_len(c)) for c in text)


class Line:
    """A row being written.

    Args:
        ground: the style of blanks that fill the row.
        ascii_only: put ASCII characters in the place of others.
    """

    __slots__ = ("_ascii", "_ground", "cells", "segments")

    def __init__(self, ground: Style, *, ascii_only: bool = False) -> None:
        self._ground = ground
        self._ascii = ascii_only
        self.segments: list[Segment] = []
        self.cells = 0

    def add(self, text: str, style: Style) -> Self:
        """Write text at the end."""
        text = printable(text)
        if self._ascii and not text.isascii():
            text = ascii_text(text)
        if not text:
            return self
        self.cells += cell_len(text)
        if text[0] == " " and len(text) > 1:  # blanks stand alone: pictures of the screen lose leading ones
            written = text.lstrip(" ")
            self.segments.append(Segment(" " * (len(text) - len(written)), style))
            if not written:
                return self
            text = written
        self.segments.append(Segment(text, style))
        return self

    def right(self, text: str, width: int, style: Style) -> Self:
        """Write text right-aligned in ``width`` cells; longer text keeps its full length."""
        return self.add(" " * max(0, width - cell_len(text)) + text, style)

    def left(self, text: str, width: int, style: Style) -> Self:
        """Write text left-aligned in ``width`` cells; longer text is cut."""
        return self.add(shorten(text, width).ljust(width), style)

    def fill(self, to: int, character: str, style: Style) -> Self:
        """Repeat a character up to column ``to``."""
        return self.add(character * max(0, to - self.cells), style)

    def append(self, other: Line) -> Self:
        """Write another line at the end."""
        self.segments += other.segments
        self.cells += other.cells
        return self

    def strip(self, width: int) -> Strip:
        """The row, exactly ``width`` cells: cut with an ellipsis, or filled with blanks."""
        strip = Strip(self.segments, self.cells)
        if self.cells > width > 0:
            mark = "~" if self._ascii else "…"
            return Strip([*strip.crop(0, width - 1), Segment(mark, self.segments[-1].style)], width)
        return strip.adjust_cell_length(width, self._ground)


def shorten(text: str, width: int) -> str:
    """Text cut to ``width`` cells, an ellipsis showing that it was."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)) + "…" if width > 0 else ""


def wrapped(text: str, width: int, most: int, *, first: int | None = None) -> list[str]:
    """Text in at most so many rows of ``width`` cells, broken between words; the last row keeps all that is left.

    Args:
        text: one paragraph.
        width: cells of a row, at least one.
        most: rows.
        first: cells of the first row, when something stands before it; it stays empty when no word fits.
    """
    rows: list[str] = []
    rest = text
    while len(rows) < most - 1:
        room = first if first is not None and not rows else width
        if cell_len(rest) <= room:
            break
        end = _words_end(rest, room)
        if end > 0 or room < width:
            rows.append(rest[:end])
            rest = rest[end:].removeprefix(" ")
        else:  # a word longer than a row
            rows.append(set_cell_size(rest, room).rstrip())
            rest = rest[len(rows[-1]) :]
    return [*rows, rest]


def _words_end(text: str, room: int) -> int:
    """Where the last whole word that fits into so many cells ends; 0 when not even the first does."""
    end = text.rfind(" ", 0, max(0, room) + 1)
    while end > 0 and cell_len(text[:end]) > room:
        end = text.rfind(" ", 0, end)
    return max(0, end)
