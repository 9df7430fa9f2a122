"""What is copied from the device to the host's memory in a turn, by size, largest share first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.views.figures import data_size, decimal, whole
from specscope.views.trace_keys import copies_key
from specscope.views.trace_words import NOT_EXPLAINED, copied_per_turn, saved_phrases
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.table import TableColumn, fitting, heading, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.state import Target
    from specscope.session.turn_state import CopyRow
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

RARE_IN: Final = 10
"""A size with less than one copy in so many turns has no row of its own."""
SIZES_MOST: Final = 12
LEAST: Final = 3
"""Rows for headings, the size with most bytes and the sum."""


class Copies(Panel):
    """A row per size that turns usually have, the sum of all, and what belongs to no turn."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The copies."""
        return None if frame.target is None else copies_key(frame.target)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """Headings, as many sizes as fit, and a sum that also covers those that do not."""
        copies = frame.target.copies if frame.target is not None else ()
        saved = saved_phrases(frame.target.saved if frame.target is not None else ())
        often, rare = told_apart(copies)
        columns = fitting(COLUMNS, width)
        besides = saved if height > LEAST else ()
        room = height - 2 - bool(besides)
        rows: list[Line | Strip] = [heading("copies", columns, ink, width)]
        rows += [row(copy, columns, ink, width) for copy in often[:room]]
        total = ink.line().add(f" {data_size(copied_per_turn(copies))} a turn to host", ink.strong)
        if rare:
            said = f"{data_size(copied_per_turn(rare))} in {len(rare)} sizes rarer than 1 in {RARE_IN} turns"
            total.add(f", of it {said}", ink.muted)
        total.add(f", {len(often) - room} more not shown" if len(often) > room else "", ink.muted)
        said = next((words for words in besides if len(words) < width), besides[-1] if besides else "")
        return [*rows, total, *([ink.line().add(f" {said}", ink.muted)] if said else [])]


def told_apart(copies: Sequence[CopyRow]) -> tuple[list[CopyRow], list[CopyRow]]:
    """The sizes that turns have, largest share first, and the rare ones: each prompt has sizes of its own."""
    ordered = sorted(copies, key=lambda copy: -copy.bytes_each * copy.per_turn)
    often = [copy for copy in ordered if copy.per_turn * RARE_IN >= 1]
    return (often, [copy for copy in ordered if copy.per_turn * RARE_IN < 1]) if often else (ordered, [])


def rows_wanted(target: Target) -> int:
    """How many rows show everything."""
    return 2 + min(SIZES_MOST, len(told_apart(target.copies)[0])) + bool(target.saved)


def _owner(c: CopyRow, ink: Ink) -> tuple[str, Style]:
    return f" {c.owner}", ink.text


def _each(c: CopyRow, ink: Ink) -> tuple[str, Style]:
    return whole(c.bytes_each), ink.text


def _per_turn(c: CopyRow, ink: Ink) -> tuple[str, Style]:
    return decimal(c.per_turn, 1 if c.per_turn >= 1 else 2), ink.text


def _all(c: CopyRow, ink: Ink) -> tuple[str, Style]:
    return data_size(c.bytes_each * c.per_turn), ink.strong


def _meaning(c: CopyRow, ink: Ink) -> tuple[str, Style]:
    return (c.meaning, ink.text) if c.meaning else (NOT_EXPLAINED, ink.muted)


COLUMNS: Final[tuple[TableColumn[CopyRow], ...]] = (
    TableColumn("owner", 9, _owner, left=True),
    TableColumn("bytes each", 11, _each),
    TableColumn("copies/turn", 11, _per_turn),
    TableColumn("bytes/turn", 10, _all),
    TableColumn("meaning", 34, _meaning, left=True),
)
