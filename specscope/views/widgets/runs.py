"""Rows of a picture: one character and one style code per cell, neighbours of one style sent together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.style import Style

_RUN: Final = re.compile(r"(.)\1*")


def runs(text: str, codes: str, styles: Mapping[str, Style]) -> list[Segment]:
    """The segments of a row.

    Args:
        text: its characters, each one cell wide.
        codes: a style code per character.
        styles: the style of each code.
    """
    segments: list[Segment] = []
    for run in _RUN.finditer(codes):
        style, part = styles[run[1]], text[run.start() : run.end()]
        written = part.lstrip(" ")
        if written and len(written) < len(part):  # blanks stand alone: pictures of the screen lose leading ones
            segments.append(Segment(part[: -len(written)], style))
            part = written
        segments.append(Segment(part, style))
    return segments
