"""How a server's device memory moved while its context filled, and what it would be with every context full."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from rich.segment import Segment
from textual.strip import Strip

from specscope.views.figures import clock, whole
from specscope.views.machine_keys import growth_key
from specscope.views.memory_parts import CACHE, TARGET
from specscope.views.memory_words import MIB, full_words, growth_words, moved_mib, since_words
from specscope.views.widgets.line import wrapped
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.value_strip import Value, value_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.memory.map_state import AtFull, Memory, MemorySample
    from specscope.session.memory.map_state import Growth as MemoryGrowth
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

AXIS: Final = 13
"""Cells left of the columns: ``262,144 tok │``."""
LEAST_SPAN: Final = 64 * MIB
"""The memory chart is at least so high, or a sixteenth of all: a few MiB shall not look like a leak."""
SPAN_SHARE: Final = 16
FULL_ROWS: Final = 2
"""Rows that the full context may take."""
CHART_FROM: Final = 5
"""From so many rows on there is a chart: two of each quantity, and the times."""
TITLE: Final = 11
"""Cells of the title around what it says."""
_CLOCK_CELLS: Final = 8


class Column(NamedTuple):
    """What is known of one column's time."""

    bytes: int
    fill_tokens: int | None


class Growth(Panel):
    """Words in the title, two charts, and the full context in the last rows."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """Growth, and the full context."""
        if frame.target is None:
            return None
        memory = frame.target.memory
        full = memory.at_full and (memory.at_full.bytes, memory.at_full.basis, memory.at_full.fits)
        return growth_key(memory.growth), full, memory.kv.context_tokens

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The words always, the charts with what room is left."""
        if frame.target is None:
            return []
        memory = frame.target.memory
        growth, foot = memory.growth, _foot(memory.at_full, ink, width, min(FULL_ROWS, height - 1))
        if growth is None:
            return [ink.rule("growth", width, "not read yet"), *foot]
        rows: list[Line | Strip] = [ink.rule("growth", width, _said(growth, width - TITLE))]
        room = height - 1 - len(foot)
        if room >= CHART_FROM:
            rows += _charts(memory, growth, ink, width, room)
        elif room >= 1:
            rows.append(ink.line().add(f" {since_words(growth)}", ink.text))
        return [*rows, *foot]


def _said(growth: MemoryGrowth, width: int) -> str:
    """The words, as many as fit."""
    phrases = growth_words(growth)
    while len(phrases) > 1 and len(" ".join(phrases)) > width:
        phrases.pop()
    return " ".join(phrases)


def is_told(memory: Memory) -> bool:
    """Whether anything is known of it."""
    return memory.growth is not None or memory.at_full is not None


def _foot(full: AtFull | None, ink: Ink, width: int, rows: int) -> list[Line]:
    if full is None or rows < 1:
        return []
    said, alarm = full_words(full)
    texts = wrapped(said, max(1, width - 2), rows)
    return [ink.line().add(" ", ink.text).add(text, ink.bad if alarm else ink.text) for text in texts]


def _charts(memory: Memory, growth: MemoryGrowth, ink: Ink, width: int, room: int) -> list[Line | Strip]:
    """Memory above, fill below it where it is known, and the times under both."""
    columns = spread(growth.samples or (growth.first, growth.latest), max(1, width - AXIS - 1))
    filled = [c.fill_tokens for c in columns if c.fill_tokens is not None]
    rows = (room - 1) // 2 if filled else room - 1
    zero = growth.first.bytes
    least, most = min(zero, *(c.bytes for c in columns)), max(c.bytes for c in columns)
    span = max(most - least, LEAST_SPAN, zero // SPAN_SHARE)
    levels = [Value(float(max(1, c.bytes - least))) for c in columns]  # the least is a line, not a gap
    rise = value_rows(levels, float(span), rows, ink, ink.parts[TARGET])
    drawn = _beside(f"{moved_mib(least + span - zero)} MiB", f"{moved_mib(least - zero)} MiB", rise, ink)
    if filled:
        top = max(memory.kv.context_tokens or 0, *filled, 1)
        levels = [Value(None if c.fill_tokens is None else float(c.fill_tokens)) for c in columns]
        strips = value_rows(levels, float(top), room - 1 - rows, ink, ink.parts[CACHE])
        drawn += _beside(f"{whole(top)} tok", "0 tok", strips, ink)
    return [*drawn, _times(growth, ink, len(columns))]


def spread(samples: Sequence[MemorySample], cells: int) -> list[Column]:
    """Samples as columns of equal time: the most in each, else what held before; a second or more to a column."""
    first, last = samples[0].at, samples[-1].at
    count = max(1, min(cells, int(last - first) + 1))
    columns: list[Column] = []
    held, place = samples[0], 0
    for n in range(count):
        end = first + (last - first) * (n + 1) / count
        within = [held]
        while place < len(samples) and (samples[place].at <= end or n == count - 1):
            held = samples[place]
            within.append(held)
            place += 1
        fresh = within[1:] or within
        columns.append(Column(max(s.bytes for s in fresh), held.fill_tokens))
    return columns


def _beside(top: str, foot: str, strips: Sequence[Strip], ink: Ink) -> list[Line | Strip]:
    """Rows of a chart behind the values of its upper and lower edge."""
    labels = [top, *[""] * (len(strips) - 2), foot] if len(strips) > 1 else [top]
    return [
        Strip(
            [Segment(label.rjust(AXIS - 2) + " ", ink.muted), Segment("│", ink.faint), *strip],
            AXIS + strip.cell_length,
        )
        for label, strip in zip(labels, strips, strict=True)
    ]


def _times(growth: MemoryGrowth, ink: Ink, cells: int) -> Line:
    """When the chart begins and ends."""
    line = ink.line().add(" " * (AXIS - 1), ink.text).add("└", ink.faint).add(clock(growth.first.at), ink.muted)
    if cells >= 2 * _CLOCK_CELLS + 2:
        line.fill(AXIS + cells - _CLOCK_CELLS, "─", ink.faint).add(clock(growth.latest.at), ink.muted)
    return line
