"""The list on the Findings screen: one row each, the chosen one marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from specscope.findings.diagnosis import sum_words
from specscope.views.figures import clock
from specscope.views.finding_entries import entries_of
from specscope.views.finding_words import SYMBOLS, part_words
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.table import TableColumn, fitting, heading, row

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.findings.diagnosis import State
    from specscope.views.finding_entries import Entry
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

STATES: Final[dict[State, str]] = {
    "found": "found",
    "collecting": "… waits",
    "inapplicable": "– not here",
    "failed": "✖ FAILED",
    "nothing": "✓ nothing",
}
WIDE: Final = 110
"""From this width on, the sum is written in full."""
FRAME_ROWS: Final = 2
"""The heading, and the sum below the list."""


class FindingList(Panel):
    """The findings of the shown server, the worst first, and the rules without one."""

    def __init__(self) -> None:
        super().__init__()
        self._chosen: Entry | None = None

    def choose(self, entry: Entry | None) -> None:
        """Mark this one in the next picture."""
        self._chosen = entry

    def watched(self, frame: Frame) -> object:
        """The rows, the chosen one, and other servers' findings."""
        return frame.diagnosis, frame.target and frame.target.id, self._chosen and self._chosen.key

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """As many rows as fit around the chosen one."""
        columns = fitting(COLUMNS, width)
        entries = entries_of(frame)
        keys = [entry.key for entry in entries]
        chosen = keys.index(self._chosen.key) if self._chosen is not None and self._chosen.key in keys else 0
        room = max(1, height - FRAME_ROWS)
        first = max(0, min(chosen - room // 2, len(entries) - room))
        rows: list[Line | Strip] = [heading("findings", columns, ink, width)]
        for number, entry in enumerate(entries[first : first + room], first):
            line = ink.line().add(">" if number == chosen else " ", ink.title)
            rows.append(line.append(row(entry, columns, ink, width - 1)))
        if not entries:
            rows.append(ink.line().add(" no server seen yet" if frame.target is None else " none", ink.text))
        rows += [ink.line()] * (height - 1 - len(rows))
        said = f" {_sum(frame, width)}"
        place = f"; rows {first + 1}-{first + room} of {len(entries)}" if len(entries) > room else ""
        return [*rows, ink.line().add(said + (place if cell_len(said + place) <= width else ""), ink.muted)]


def rows_wanted(frame: Frame) -> int:
    """Rows in which all of it stands."""
    return FRAME_ROWS + max(1, len(entries_of(frame)))


def _sum(frame: Frame, width: int) -> str:
    if frame.target is None:
        return ""
    of_target = frame.diagnosis.of(frame.target.id)
    others = len(frame.findings) - len(of_target.findings)
    elsewhere = f"; {others} found about other servers: [ ]" if others else ""
    return sum_words(of_target, short=width < WIDE) + elsewhere


def _level(entry: Entry, ink: Ink) -> tuple[str, Style]:
    if entry.finding is not None:
        return SYMBOLS[entry.finding.severity], ink.severity(entry.finding.severity)
    state = entry.outcome.state if entry.outcome is not None else "nothing"
    return STATES[state], ink.bad if state == "failed" else ink.muted


def _rule(entry: Entry, ink: Ink) -> tuple[str, Style]:
    if entry.finding is not None:
        part = part_words(entry.finding, entry.finding.target)
        return f"{entry.finding.code} {entry.finding.name} {part}".rstrip(), ink.strong
    return (f"{entry.rule.code} {entry.rule.name}" if entry.rule is not None else ""), ink.muted


def _since(entry: Entry, ink: Ink) -> tuple[str, Style]:
    since = entry.finding.since if entry.finding is not None else None
    return ("" if since is None else clock(since)), ink.muted


def _cost(entry: Entry, ink: Ink) -> tuple[str, Style]:
    return (entry.finding.cost_words if entry.finding is not None else ""), ink.warn


def _summary(entry: Entry, ink: Ink) -> tuple[str, Style]:
    if entry.finding is not None:
        return entry.finding.summary, ink.text
    says = entry.outcome.says if entry.outcome is not None else ""
    if entry.outcome is not None and entry.outcome.state == "collecting":
        says = f"needs {says}"
    return says, ink.muted


COLUMNS: Final[tuple[TableColumn[Entry], ...]] = (
    TableColumn("level", 10, _level, left=True),
    TableColumn("rule", 38, _rule, left=True),
    TableColumn("since", 8, _since),
    TableColumn("costs", 14, _cost),
    TableColumn("what is wrong", 24, _summary, rank=1, left=True),
)
