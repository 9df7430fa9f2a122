"""The cycle tape: one column per cycle, accepted part below, rejected part above it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from rich.segment import Segment
from textual.strip import Strip

from specscope.views.widgets.bars import EIGHTHS, RISING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

    from specscope.session.state import Cycle
    from specscope.views.ink import Ink

Cell: TypeAlias = "tuple[str, Style]"

SHADE_FROM: Final = 3
"""Eighths of a cell from which a rejected part is drawn where only whole cells can be shaded."""


class Scale(NamedTuple):
    """How many rows stand for how many draft tokens."""

    rows: int
    top: int

    def eighths(self, tokens: int) -> int:
        """Height of so many tokens; any token shows, and every token is equally high where rows allow."""
        if tokens <= 0:
            return 0
        each = self.rows * EIGHTHS // self.top
        if each:
            return min(tokens * each, self.rows * EIGHTHS)
        return max(1, min(tokens, self.top) * self.rows * EIGHTHS // self.top)


def useful_rows(rows: int, top: int) -> int:
    """How many of so many rows bars of that scale can reach: every token is equally high."""
    each = rows * EIGHTHS // top
    return -(-each * top // EIGHTHS) if each else rows


@dataclass(frozen=True, slots=True)
class Divider:
    """A line between cycles: a mark with its label, or a restart."""

    at: float
    label: str


class Item(NamedTuple):
    """One column to be drawn: a cycle, or a divider before the next one."""

    cycle: Cycle | None
    begins: bool
    divider: Divider | None


def items_of(cycles: Sequence[Cycle], dividers: Sequence[Divider], slot: int | None, count: int) -> list[Item]:
    """The last ``count`` columns of one slot's cycles (None: of all), dividers among them, oldest first.

    Args:
        cycles: oldest first.
        dividers: by time; one that is older than all cycles stands before them.
        slot: whose cycles.
        count: how many columns there is room for.
    """
    found: list[Item] = []
    waiting = list(dividers)
    newer: tuple[int, Cycle] | None = None
    for cycle in reversed(cycles):
        if slot is not None and cycle.slot != slot:
            continue
        if newer is not None and newer[1].task != cycle.task:
            found[newer[0]] = Item(newer[1], begins=True, divider=None)
        if len(found) >= count:
            break
        while waiting and waiting[-1].at >= cycle.at:
            found.append(Item(None, begins=False, divider=waiting.pop()))
        newer = (len(found), cycle)
        found.append(Item(cycle, begins=False, divider=None))
    else:
        found += [Item(None, begins=False, divider=divider) for divider in waiting[-1:]]
    return found[:count][::-1]


@lru_cache(8192)
def column(drafted: int | None, accepted: int, scale: Scale, ink: Ink) -> tuple[Cell, ...]:
    """The cells of one cycle, top row first."""
    low = scale.eighths(accepted)
    high = scale.eighths(drafted) if drafted is not None else None
    cells = [_cell(low - EIGHTHS * row, None if high is None else high - EIGHTHS * row, ink) for row in range(scale.rows)]
    return tuple(reversed(cells))


def _cell(accepted: int, drafted: int | None, ink: Ink) -> Cell:
    """One cell, from the eighths of the accepted part and of the draft that reach into or past it."""
    if accepted >= EIGHTHS:
        return "█", ink.accepted
    if drafted is None:
        return (RISING[accepted], ink.accepted) if accepted > 0 else ("┊", ink.faint)
    if accepted > 0:
        return RISING[accepted], (ink.edge if drafted >= EIGHTHS else ink.accepted)
    if drafted <= 0:
        return " ", ink.text
    if ink.colour and not ink.ascii:
        return RISING[min(drafted, EIGHTHS)], ink.rejected
    return ("░" if drafted >= SHADE_FROM else " "), ink.rejected


@lru_cache(64)
def _divider_column(rows: int, ink: Ink) -> tuple[Cell, ...]:
    return (("│", ink.warn),) * rows


def bar_rows(items: Sequence[Item], scale: Scale, ink: Ink, width: int) -> list[Strip]:
    """The rows of the bars, newest column at the right edge."""
    columns = [
        _divider_column(scale.rows, ink)
        if item.cycle is None
        else column(item.cycle.drafted, item.cycle.accepted, scale, ink)
        for item in items
    ]
    blank = [Segment(" " * (width - len(columns)), ink.text)] if len(columns) < width else []
    if not columns:
        return [Strip(blank, width)] * scale.rows
    return [Strip([*blank, *_runs(row)], width) for row in zip(*columns, strict=True)]


def _runs(cells: Sequence[Cell]) -> list[Segment]:
    """Neighbours of one style as one segment."""
    return [Segment("".join([c for c, _ in run]), style) for style, run in groupby(cells, key=itemgetter(1))]


def base_row(items: Sequence[Item], ink: Ink, width: int, *, slots: bool) -> Strip:
    """The row under the bars: a tick where a request begins, marks with their labels, the slot where several mix."""
    cells: list[Cell] = [(" ", ink.text)] * (width - len(items))
    offset = len(cells)
    for item in items:
        if item.cycle is None:
            cells.append(("┃", ink.warn))
        elif slots:
            cells.append((f"{item.cycle.slot % 16:x}", ink.slot(item.cycle.slot)))
        else:
            cells.append(("┼", ink.text) if item.begins else ("─", ink.faint))
    for place, item in enumerate(items, offset + 1):
        if item.divider is not None:
            _write_label(cells, place, item.divider.label, ink.warn)
    return Strip(_runs(cells), width)


def _write_label(cells: list[Cell], place: int, label: str, style: Style) -> None:
    """Put a mark's name behind its divider, up to the next one; at the right edge, before it."""
    if place + len(label) > len(cells):
        place = max(0, place - 1 - len(label))
    for character in label:
        if place >= len(cells) or cells[place][0] == "┃":
            return
        cells[place] = (character, style)
        place += 1
