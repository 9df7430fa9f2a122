"""Where the milliseconds of a turn go: one bar of its parts, and what else is known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.session.turn_parts import OTHER
from specscope.views.figures import decimal
from specscope.views.trace_keys import traced_key
from specscope.views.trace_words import age_words, basis_words, copies_phrase, path_phrases, stalls_phrase
from specscope.views.turn_parts import (
    digits_of,
    drafting_phrase,
    largest,
    mark,
    part_text,
    parts_of,
    unprobed,
    whole_ms,
)
from specscope.views.widgets.flow import flow, rows_of_cells
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.part_bar import part_bar, part_phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from specscope.session.state import Target
    from specscope.session.turn_state import Anatomy as TurnAnatomy
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.turn_parts import Part
    from specscope.views.widgets.line import Line

WITH_BAR: Final = 3
"""From so many rows on there is a bar; two rows are the title and figures, a single one is figures alone."""


class Anatomy(Panel):
    """A title, the bar, its figures, and phrases. The plan leaves it out where nothing is known."""

    CALM_S: ClassVar[float] = 0.6

    def watched(self, frame: Frame) -> object:
        """The figures, and their age in seconds where they are old."""
        target = frame.target
        if target is None or target.anatomy is None:
            return None
        return traced_key(target), age_words(target.anatomy, frame.now)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """As many rows as there is room for, the most telling first."""
        target = frame.target
        if target is None or target.anatomy is None:
            return []
        anatomy = target.anatomy
        parts, age = parts_of(anatomy), age_words(anatomy, frame.now)
        if height == 1:
            return [_figures_alone(anatomy, parts, age, ink, width)]
        title = ink.line().add("─ ", ink.faint).add(f"where {whole_ms(anatomy)} go ", ink.title)
        title.add(f"{basis_words(anatomy)} ", ink.muted)
        title.add("─ " if age else "", ink.faint).add(f"{age} " if age else "", ink.warn)
        bar = [ink.line().add(" ", ink.text).append(part_bar(parts, ink, width - 2))] if height >= WITH_BAR else []
        return [title.fill(width, "─", ink.faint), *bar, *flow(_phrases(target, anatomy, parts, ink), ink, width)]


def rows_wanted(target: Target, width: int) -> int:
    """How many rows show everything."""
    if target.anatomy is None:
        return 0
    texts = [part_text(part, mark(target.anatomy)) for part in parts_of(target.anatomy)]
    texts += _remarks(target, target.anatomy)
    return WITH_BAR - 1 + rows_of_cells([len(text) for text in texts], width)


def _phrases(target: Target, anatomy: TurnAnatomy, parts: Sequence[Part], ink: Ink) -> list[Line]:
    """The figures of the parts, then what says why they are as they are."""
    most = largest(parts)
    said = [part_phrase(part, anatomy.evidence, ink, loud=part is most) for part in parts]
    return said + [ink.line().add(text, ink.text) for text in _remarks(target, anatomy)]


def _remarks(target: Target, anatomy: TurnAnatomy) -> list[str]:
    texts = [
        *path_phrases(target.backend_path),
        copies_phrase(target.copies),
        stalls_phrase(target),
        drafting_phrase(anatomy),
        unprobed(anatomy),
    ]
    return [text for text in texts if text]


def _figures_alone(anatomy: TurnAnatomy, parts: Sequence[Part], age: str, ink: Ink, width: int) -> Line:
    """One row: the whole and its parts; where not all fit, the smallest are added up, with what is called other."""
    kept, rest, most = list(parts), 0.0, largest(parts)
    line = _figures(anatomy, kept, rest, age, ink)
    while line.cells > width and len(kept) > 1:
        least = min(kept, key=lambda part: (part.place != OTHER or part is most, part.ms))
        kept.remove(least)
        rest += least.ms
        line = _figures(anatomy, kept, rest, age, ink)
    return line


def _figures(anatomy: TurnAnatomy, parts: Sequence[Part], rest: float, age: str, ink: Ink) -> Line:
    most = largest(parts)
    line = ink.line().add(f" {whole_ms(anatomy)}", ink.strong).add(" a turn: ", ink.muted)
    for number, part in enumerate(parts):
        line.add(", " if number else "", ink.muted).add(f"{part.short} ", ink.muted)
        line.add(part.written, ink.strong if part is most else ink.text)
    if rest:
        line.add(", all else ", ink.muted).add(f"{decimal(rest, digits_of(anatomy))}", ink.text)
    return line.add(f"  {age}" if age else "", ink.warn)
