"""Terminals without colour, and terminals without Unicode: the last step before anything is sent."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter

from specscope.views.widgets.line import ascii_cells

if TYPE_CHECKING:
    from textual.color import Color


class Colourless(LineFilter):
    """Takes every colour away and keeps bold, dim and reverse.

    Textual's own filters turn colours to grey or to the terminal's default, which still sends colour codes.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Take the colours of one row away."""
        del background
        return [Segment(text, _without_colour(style), control) for text, style, control in segments]


class AsciiOnly(LineFilter):
    """Puts an ASCII character in the place of every other, cell by cell."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Write one row in ASCII."""
        del background
        return [s if s.text.isascii() else Segment(ascii_cells(s.text), s.style, s.control) for s in segments]


@lru_cache(4096)
def _without_colour(style: Style | None) -> Style | None:
    if style is None:
        return None
    kept: dict[str, Any] = {name: getattr(style, name) for name in ("bold", "dim", "italic", "underline", "reverse")}
    return Style(**kept)
