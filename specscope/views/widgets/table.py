"""Tables of text: a heading that is also the panel's title, and columns that give way when there is no room."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from specscope.views.widgets.line import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.style import Style

    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

T = TypeVar("T")

MOST_WIDENED: Final = 5
"""Cells by which a column may be wider than it needs to be."""


@dataclass(frozen=True, slots=True)
class TableColumn(Generic[T]):
    """One column.

    Attributes:
        head: its heading.
        width: cells; longer texts are cut, except in the last column, which takes what room is left.
        write: the text and style for an item.
        rank: columns of the highest rank are left out first.
        left: aligned to the left.
    """

    head: str
    width: int
    write: Callable[[T, Ink], tuple[str, Style]]
    rank: int = 0
    left: bool = False


def headed(columns: Sequence[TableColumn[T]], old: str, head: str) -> list[TableColumn[T]]:
    """The columns with the one that is headed ``old`` headed otherwise, and as wide as that needs."""
    return [replace(c, head=head, width=max(c.width, len(head))) if c.head == old else c for c in columns]


def natural(columns: Sequence[TableColumn[T]]) -> int:
    """Cells that the columns take as they are; beyond them nothing is gained by width."""
    return sum(column.width + 1 for column in columns)


def fitting(columns: Sequence[TableColumn[T]], width: int) -> list[TableColumn[T]]:
    """The columns that fit into ``width`` cells, wider where there is room."""
    kept = list(columns)
    while len(kept) > 1 and natural(kept) > width:
        kept.remove(max(reversed(kept), key=lambda c: c.rank))
    more = min(MOST_WIDENED, (width - natural(kept)) // len(kept))
    return [replace(c, width=c.width + more) for c in kept] if more > 0 else kept


def snug(columns: Sequence[TableColumn[T]], width: int) -> list[TableColumn[T]]:
    """The columns that fit into ``width`` cells, no wider than they need to be."""
    return fitting(columns, min(natural(columns), width))


def heading(name: str, columns: Sequence[TableColumn[T]], ink: Ink, width: int) -> Line:
    """The heading row; the name stands over the first column, which needs room for it."""
    line = ink.line().add("─ ", ink.faint).add(name, ink.title).add(" ", ink.faint)
    line.fill(columns[0].width, "─", ink.faint)
    for column in columns[1:]:
        room = column.width - len(column.head)
        if column.left:
            line.add(f" {column.head} ", ink.muted).add("─" * (room - 1), ink.faint)
        else:
            line.add("─" * room + " ", ink.faint).add(column.head, ink.muted)
    return (
        line.fill(width, "─", ink.faint) if columns[-1].left else line.add(" ", ink.faint).fill(width, "─", ink.faint)
    )


def row(item: T, columns: Sequence[TableColumn[T]], ink: Ink, width: int) -> Line:
    """The row of one item."""
    line = ink.line()
    for number, column in enumerate(columns):
        text, style = column.write(item, ink)
        room = column.width
        if number:
            line.add(" ", ink.text)
            if number == len(columns) - 1 and column.left:
                room = max(room, width - line.cells)
        if column.left:
            line.left(text, room, style)
        else:
            line.right(shorten(text, room), room, style)
    return line
