"""What is copied from the device to the host's memory in a turn, by size, largest share first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.views.figures import data_size, decimal, whole
from specscope.views.trace_keys import copies_key
from specscope.views.trace_words import copied_per_turn
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.table import TableColumn, fitting, heading, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.state import CopyRow
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line


class Copies(Panel):
    """A row per size, and their sum."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The copies."""
        return None if frame.target is None else copies_key(frame.target)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """Headings, as many sizes as fit, and a sum that also covers those that do not."""
        copies = largest_first(frame.target.copies if frame.target is not None else ())
        columns = fitting(COLUMNS, width)
        room = height - 2
        rows: list[Line | Strip] = [heading("copies", columns, ink, width)]
        rows += [row(copy, columns, ink, width) for copy in copies[:room]]
        more = f", {len(copies) - room} more sizes not shown" if len(copies) > room else ""
        total = ink.line().add(f" {data_size(copied_per_turn(copies))} a turn to the host in all", ink.strong)
        return [*rows, total.add(more, ink.muted)]


def largest_first(copies: Sequence[CopyRow]) -> list[CopyRow]:
    """The order in which copies are shown."""
    return sorted(copies, key=lambda copy: -copy.bytes_each * copy.per_turn)


def _owner(c: CopyRow, ink: Ink) -> tuple[str, Style]:
    return f" {c.owner}", ink.text


def _each(c: CopyRow, ink: Ink) -> tuple[str, Style]:
    return whole(c.bytes_each), ink.text


def _per_turn(c: CopyRow, ink: Ink) -> tuple[str, Style]:
    return decimal(c.per_turn, 1 if c.per_turn >= 1 else 2), ink.text


def _all(c: CopyRow, ink: Ink) -> tuple[str, Style]:
    return data_size(c.bytes_each * c.per_turn), ink.strong


def _meaning(c: CopyRow, ink: Ink) -> tuple[str, Style]:
    return (c.meaning, ink.text) if c.meaning else ("not explained by the models' sizes", ink.muted)


COLUMNS: Final[tuple[TableColumn[CopyRow], ...]] = (
    TableColumn("owner", 9, _owner, left=True),
    TableColumn("bytes each", 11, _each),
    TableColumn("copies/turn", 11, _per_turn),
    TableColumn("bytes/turn", 10, _all),
    TableColumn("meaning", 34, _meaning, left=True),
)
