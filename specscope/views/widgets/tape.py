"""The cycle tape: one column per cycle, accepted part below, rejected part above it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from textual.strip import Strip

from specscope.views.widgets.bars import EIGHTHS, RISING
from specscope.views.widgets.runs import runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

    from specscope.session.state import Cycle
    from specscope.views.ink import Ink

BOTH, ACCEPTED, REJECTED, UNSEEN, NOTHING, MARK, RULE, TICK = "BARUNMLT"
"""Style codes of the cells; a slot's is its last hexadecimal digit."""

SLOT_CODES: Final = 16
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
def column(drafted: int | None, accepted: int, scale: Scale, *, shaded: bool) -> tuple[str, str]:
    """The cells of one cycle, top row first, and their style codes.

    Accepted and wholly rejected cells share a style, bright writing on a dim ground, so that a row of them is
    sent to the terminal without a change of style.

    Args:
        drafted: tokens drafted; None where not seen.
        accepted: tokens accepted.
        scale: of the bars.
        shaded: draw rejected parts as shaded cells, for terminals without colour or Unicode.
    """
    low = scale.eighths(accepted)
    high = scale.eighths(drafted) if drafted is not None else None
    cells = [
        _cell(low - EIGHTHS * row, None if high is None else high - EIGHTHS * row, shaded=shaded)
        for row in reversed(range(scale.rows))
    ]
    return "".join([c for c, _ in cells]), "".join([code for _, code in cells])


def _cell(accepted: int, drafted: int | None, *, shaded: bool) -> tuple[str, str]:
    """One cell, from the eighths of the accepted part and of the draft that reach into or past it."""
    if accepted >= EIGHTHS:
        return "█", BOTH
    if drafted is None:
        return (RISING[accepted], ACCEPTED) if accepted > 0 else ("┊", UNSEEN)
    if accepted > 0:
        return RISING[accepted], (BOTH if drafted >= EIGHTHS and not shaded else ACCEPTED)
    if drafted <= 0:
        return " ", NOTHING
    if shaded:
        return ("░", REJECTED) if drafted >= SHADE_FROM else (" ", NOTHING)
    return (" ", BOTH) if drafted >= EIGHTHS else (RISING[drafted], REJECTED)


def bar_rows(items: Sequence[Item], scale: Scale, ink: Ink, width: int) -> list[Strip]:
    """The rows of the bars, newest column at the right edge."""
    shaded = ink.ascii or not ink.colour
    bars = [
        ("│" * scale.rows, MARK * scale.rows)
        if item.cycle is None
        else column(item.cycle.drafted, item.cycle.accepted, scale, shaded=shaded)
        for item in items
    ]
    left = width - len(bars)
    texts = map("".join, zip(*[text for text, _ in bars], strict=True)) if bars else [""] * scale.rows
    codes = map("".join, zip(*[code for _, code in bars], strict=True)) if bars else [""] * scale.rows
    styles = _styles(ink)
    return [
        Strip(runs(" " * left + text, NOTHING * left + code, styles), width)
        for text, code in zip(texts, codes, strict=True)
    ]


@lru_cache(8)
def _styles(ink: Ink) -> dict[str, Style]:
    return {
        BOTH: ink.edge,
        ACCEPTED: ink.accepted,
        REJECTED: ink.rejected,
        UNSEEN: ink.faint,
        NOTHING: ink.text,
        MARK: ink.warn,
        RULE: ink.faint,
        TICK: ink.text,
        **{_slot_code(slot): ink.slot(slot) for slot in range(SLOT_CODES)},
    }


def _slot_code(slot: int) -> str:
    return f"{slot % SLOT_CODES:x}"


def base_row(items: Sequence[Item], ink: Ink, width: int, *, slots: bool) -> Strip:
    """The row under the bars: a tick where a request begins, marks with their labels, the slot where several mix."""
    left = width - len(items)
    text, codes = [" "] * left, [NOTHING] * left
    for item in items:
        if item.cycle is None:
            text.append("┃")
            codes.append(MARK)
        elif slots:
            text.append(_slot_code(item.cycle.slot))
            codes.append(_slot_code(item.cycle.slot))
        else:
            text.append("┼" if item.begins else "─")
            codes.append(TICK if item.begins else RULE)
    for place, item in enumerate(items, left + 1):
        if item.divider is not None:
            _write_label(text, codes, place, item.divider.label)
    return Strip(runs("".join(text), "".join(codes), _styles(ink)), width)


def _write_label(text: list[str], codes: list[str], place: int, label: str) -> None:
    """Put a mark's name behind its divider, up to the next one; at the right edge, before it."""
    if place + len(label) > len(text):
        place = max(0, place - 1 - len(label))
    for character in label:
        if place >= len(text) or text[place] == "┃":
            return
        text[place], codes[place] = character, MARK
        place += 1
