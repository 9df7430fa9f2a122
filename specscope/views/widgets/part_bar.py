"""One turn as a bar: its parts side by side, told apart by colour, name and letter."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from rich.style import Style
from textual.color import Color

from specscope.views.figures import MARKS
from specscope.views.ink import distance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.state import Evidence
    from specscope.views.ink import Ink
    from specscope.views.turn_parts import Part
    from specscope.views.widgets.line import Line


@lru_cache(32)
def filled(ink: Ink, place: int) -> Style:
    """Writing on a ground of a part's colour; without colour the writing alone has to tell."""
    colour, front, ground = ink.parts[place].color, ink.text.color, ink.text.bgcolor
    if colour is None or front is None or ground is None:
        return ink.parts[place]
    on = Color.from_rich_color(colour)
    writing = max((ground, front), key=lambda c: distance(Color.from_rich_color(c), on))
    return Style(color=writing, bgcolor=colour)


class Shared(Protocol):
    """What has a share of a bar."""

    @property
    def share(self) -> float:
        """Of the whole bar, 0..1."""
        ...


def cells_of(parts: Sequence[Shared], width: int) -> list[int]:
    """Cells of each part: every one has at least one, and all together fill the width."""
    cells = [max(1, int(part.share * width)) for part in parts]
    by_rest = sorted(range(len(parts)), key=lambda i: -(parts[i].share * width % 1))
    for i in by_rest:
        if sum(cells) < width:
            cells[i] += 1
    while sum(cells) != width and cells:
        most = max(range(len(cells)), key=cells.__getitem__)
        if cells[most] <= 1 and sum(cells) > width:
            break
        cells[most] += 1 if sum(cells) < width else -1
    return cells


def part_bar(parts: Sequence[Part], ink: Ink, width: int) -> Line:
    """The bar. A part has its name on it where that fits, else its letter; without colour it is made of its letter."""
    line = ink.line()
    for part, cells in zip(parts, cells_of(parts, width), strict=True):
        line.add(_label(part, cells, coloured=ink.colour), filled(ink, part.place))
    return line


def _label(part: Part, cells: int, *, coloured: bool) -> str:
    name = next((n for n in (part.name, part.short) if len(n) + 2 <= cells), part.letter)
    blank = " " if coloured else part.letter
    if len(name) == 1 or coloured:
        return name.center(cells, blank)
    return f" {name} ".center(cells, blank)


def part_phrase(part: Part, evidence: Evidence, ink: Ink, *, loud: bool = False) -> Line:
    """The text of a part, its letter on the part's colour."""
    line = ink.line().add(part.letter, filled(ink, part.place)).add(f" {part.name} ", ink.muted)
    line.add(part.written, ink.strong if loud else ink.text).add(MARKS[evidence].strip(), ink.evidence(evidence))
    return line.add(f" {part.percent}", ink.muted)
