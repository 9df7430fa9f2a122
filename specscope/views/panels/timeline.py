"""Where the milliseconds of a turn went, second by second."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from rich.segment import Segment
from textual.strip import Strip

from specscope.session.turn_parts import is_by_cpu
from specscope.views.trace_keys import traced_key
from specscope.views.trace_words import age_words, basis_words
from specscope.views.turn_parts import largest, letters_of, mark, part_text, parts_of, unprobed, whole_ms
from specscope.views.widgets.flow import flow, rows_of_cells
from specscope.views.widgets.line import shorten, wrapped
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.part_bar import filled, part_bar, part_phrase
from specscope.views.widgets.second_axis import (
    AXIS,
    axis_row,
    between,
    columns_of,
    columns_room,
    legend_cells,
    seconds_told,
)
from specscope.views.widgets.turn_strip import Scale, scale_top, strip_rows

if TYPE_CHECKING:
    from specscope.session.state import Target
    from specscope.session.turn_state import Anatomy
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

FRAME_ROWS: Final = 2
"""The title, and the row under the columns."""
HIDDEN_ROWS: Final = 5
"""Rows that the parts which were not seen apart may take beside the strip."""
NOTE_ROWS: Final = 3
"""Rows that each remark below the bar may take."""
HALF_FROM: Final = 6
"""From so many rows on, half of the scale is labelled."""


class Timeline(Panel):
    """A strip with what its layers are at its right; a single bar where seconds are not told apart."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The figures, marks on them, and their age where they are old."""
        target = frame.target
        if target is None or target.anatomy is None:
            return None
        return traced_key(target), frame.session.marks, age_words(target.anatomy, frame.now)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title, then the strip or the bar."""
        target = frame.target
        if target is None or target.anatomy is None:
            return []
        anatomy = target.anatomy
        if not anatomy.seconds:
            parts = parts_of(anatomy)
            rows: list[Line | Strip] = [_title(frame, anatomy, [], ink, width)]
            rows.append(ink.line().add(" ", ink.text).append(part_bar(parts, ink, width - 2)))
            phrases = [part_phrase(part, anatomy.evidence, ink, loud=part is largest(parts)) for part in parts]
            rows += flow(phrases, ink, width)
            return [*rows, *(ink.line().add(f" {text}", ink.text) for text in _notes(anatomy, width))]
        return _strip(frame, target, ink, width, max(1, height - FRAME_ROWS))


def rows_least(target: Target, width: int) -> int:
    """How many rows show everything: of a bar exactly so many, of a strip at least so many."""
    if target.anatomy is None:
        return 0
    parts = parts_of(target.anatomy)
    if target.anatomy.seconds:
        return FRAME_ROWS + max(3, len(parts))
    texts = [part_text(part, mark(target.anatomy)) for part in parts]
    return 2 + rows_of_cells([len(text) for text in texts], width) + len(_notes(target.anatomy, width))


def _notes(anatomy: Anatomy, width: int) -> list[str]:
    """What the figures rest on and leave open, in full."""
    notes = [unprobed(anatomy), f"estimated from: {anatomy.basis}" if anatomy.evidence == "estimated" else ""]
    return [row for note in notes if note for row in wrapped(note, width - 2, NOTE_ROWS)]


def _title(frame: Frame, anatomy: Anatomy, more: list[str], ink: Ink, width: int) -> Line:
    age = age_words(anatomy, frame.now)
    line = ink.line().add("─ ", ink.faint).add(f"where {whole_ms(anatomy)} go ", ink.title)
    line.add("estimated " if anatomy.evidence == "estimated" else f"{basis_words(anatomy)} ", ink.muted)
    line.add("─ " if age else "", ink.faint).add(f"{age} " if age else "", ink.warn)
    for text in more:
        if line.cells + len(text) + 3 <= width:
            line.add("─ ", ink.faint).add(f"{text} ", ink.muted)
    return line.fill(width, "─", ink.faint)


def _strip(frame: Frame, target: Target, ink: Ink, width: int, rows: int) -> list[Line | Strip]:
    anatomy = target.anatomy
    if anatomy is None:
        return []
    room = columns_room(width)
    columns = columns_of(seconds_told(target), room)
    seconds = {int(at): parts for at, _, parts in anatomy.seconds[-room:]}
    shown = [seconds[s].whole_ms for s in columns if s is not None and s in seconds]
    top = scale_top(shown)
    cut = max(shown, default=0.0)
    more = [f"↑ cut, up to {cut:,.0f} ms"] if cut > top else []
    drawn: list[Line | Strip] = [_title(frame, anatomy, [*more, "a column is a second"], ink, width)]
    legend = _legend(anatomy, ink, rows, legend_cells(width))
    for y, row in enumerate(strip_rows(columns, seconds, ink, _scale(anatomy, rows, top, room))):
        drawn.append(between(_label(y, rows, top), row, legend[y], ink))
    foot = [Segment("   0 ", ink.muted), Segment("└", ink.faint), *axis_row(columns, frame.session.marks, ink, room)]
    return [*drawn, Strip(foot, AXIS + room)]


def _scale(anatomy: Anatomy, rows: int, top: float, room: int) -> Scale:
    return Scale(rows, top, room, letters_of(anatomy), by_cpu=is_by_cpu(anatomy))


def _label(y: int, rows: int, top: float) -> str:
    """The milliseconds at which a row ends, where it has a label: the highest, and the middle one."""
    if not y:
        return f"{top:.4g}"
    return f"{top / 2:.4g}" if rows >= HALF_FROM and 2 * y == rows else ""


def _legend(anatomy: Anatomy, ink: Ink, rows: int, cells: int) -> list[Line]:
    """What the layers are and take on average, in their order from the top, at the foot of the strip."""
    parts = parts_of(anatomy)
    kept = sorted(sorted(parts, key=lambda part: -part.ms)[:rows], key=lambda part: -part.place)
    most = largest(parts)
    lines = [ink.line() for _ in range(rows - len(kept))]
    hidden = unprobed(anatomy)
    said = wrapped(hidden, cells - 2, HIDDEN_ROWS) if hidden else []
    if len(said) < len(lines):
        lines[len(lines) - len(said) :] = [ink.line().add(f" {shorten(text, cells - 1)}", ink.muted) for text in said]
    for part in kept:
        line = ink.line().add(" ", ink.text).add(part.letter, filled(ink, part.place)).add(" ", ink.text)
        names = cells - 16
        line.left(part.name if len(part.name) <= names else part.short, names, ink.text)
        line.right(part.written, 6, ink.strong if part is most else ink.text).add(
            mark(anatomy), ink.evidence(anatomy.evidence)
        )
        lines.append(line.right(part.percent, 5, ink.muted))
    return lines
