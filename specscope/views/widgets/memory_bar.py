"""A place's memory as a bar: its portions side by side; of a KV cache what holds tokens is solid, the rest shaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.views.widgets.part_bar import cells_of, filled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.views.ink import Ink
    from specscope.views.memory_parts import Portion
    from specscope.views.widgets.line import Line

SHADE: Final = "░"
FREE: Final = "─"


def memory_bar(portions: Sequence[Portion], ink: Ink, width: int) -> Line:
    """The bar. A portion has its name on it where that fits, else its letter; without colour it is made of letters."""
    line = ink.line()
    for portion, cells in zip(portions, cells_of(portions, width), strict=True):
        if not portion.letter:
            line.add(_centred(portion.name, cells, FREE), ink.faint)
            continue
        solid = _solid(portion, cells)
        blank = " " if ink.colour and not ink.ascii else portion.letter
        line.add(_label(portion, solid, blank), filled(ink, portion.place))
        line.add(SHADE * (cells - solid), ink.parts[portion.place])
    return line


def _solid(portion: Portion, cells: int) -> int:
    """Cells of what is filled; something filled shows, and so does something that is not."""
    held = portion.filled_bytes
    if held is None or held >= portion.bytes or cells < 2:  # noqa: PLR2004  one cell cannot be told apart
        return cells
    return min(cells - 1, max(1, round(cells * held / portion.bytes)))


def _label(portion: Portion, cells: int, blank: str) -> str:
    if len(portion.name) + 2 > cells:
        return portion.letter.center(cells, blank)
    return _centred(portion.name, cells, blank)


def _centred(name: str, cells: int, blank: str) -> str:
    return f" {name} ".center(cells, blank) if len(name) + 2 <= cells else blank * cells


def memory_phrase(portion: Portion, size: str, ink: Ink, held: str = "") -> Line:
    """The text of a portion, its letter on its colour: ``K KV 0.9 of 5.8+ filled``."""
    line = ink.line()
    if portion.letter:
        line.add(portion.letter, filled(ink, portion.place)).add(" ", ink.text)
    line.add(f"{portion.name} ", ink.muted)
    line.add(f"{held} of " if held else "", ink.text).add(size, ink.text)
    line.add(portion.mark.strip(), ink.evidence(portion.evidence))
    return line.add(" filled" if held else "", ink.muted)
