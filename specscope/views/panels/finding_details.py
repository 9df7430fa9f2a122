"""The chosen finding in full: what shows it, what to do, and what its rule is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from specscope.findings.registry import SECTIONS, explanation
from specscope.views.figures import clock
from specscope.views.finding_words import paragraphs, part_words
from specscope.views.widgets.line import wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.findings.diagnosis import Outcome
    from specscope.findings.rule import Finding
    from specscope.views.finding_entries import Entry
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

LABEL: Final = 10
"""Cells of the labels: ``evidence`` is the longest."""
TITLE_CELLS: Final = 5
"""What a title has besides its words: two cells before the name, a blank behind it, and the end of the rule."""
WHAT_MOST: Final = 28
"""Cells that the names of figures may take."""
OUTCOMES: Final = {
    "nothing": "The rule looked and found nothing.",
    "collecting": "The rule waits: it needs {}.",
    "inapplicable": "The rule does not apply here: {}.",
    "failed": "The rule FAILED, which is a defect of specscope: {}",
    "found": "",
}
HELD: Final = "it now needs {}; until then the finding stays as it was last seen"


class FindingDetails(Panel):
    """Scrolls when there is more than fits."""

    def __init__(self) -> None:
        super().__init__()
        self._entry: Entry | None = None
        self._top = 0
        self._length = 0

    def choose(self, entry: Entry | None) -> None:
        """Show this one in the next picture; another one is shown from its beginning."""
        if (entry and entry.key) != (self._entry and self._entry.key):
            self._top = 0
        self._entry = entry

    def scroll_text(self, pages: int) -> None:
        """Show what is above or below in the next picture."""
        page = max(1, self.size.height - 2)
        self._top = max(0, min(self._top + pages * page, self._length - (self.size.height - 1)))

    def watched(self, frame: Frame) -> object:
        """The chosen one, and where its text begins."""
        del frame
        return self._entry, self._top

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title, and the rows that fit."""
        del frame
        entry = self._entry
        if entry is None:
            return [ink.rule("details", width)]
        rows = _rows(entry, ink, width)
        self._length, room = len(rows), height - 1
        self._top = max(0, min(self._top, self._length - room))
        place = ""
        if self._length > room:
            place = f", rows {self._top + 1}-{self._top + room} of {self._length}: PgUp PgDn"
        said = _said(entry) + place
        if cell_len(_name(entry) + said) + TITLE_CELLS > width:
            said = _said(entry, since=False) + place
        return [ink.rule(_name(entry), width, said), *rows[self._top : self._top + room]]


def _name(entry: Entry) -> str:
    known = entry.finding or entry.rule
    return f"{known.code} {known.name}" if known is not None else "details"


def _said(entry: Entry, *, since: bool = True) -> str:
    """The severity and the subject; and since when, which stands in the list too."""
    finding = entry.finding
    if finding is None:
        return entry.rule.severity if entry.rule is not None else ""
    began = f", since {clock(finding.since)}" if since and finding.since is not None else ""
    part = part_words(finding, finding.target)
    return f"{finding.severity}{f', {part}' if part else ''}{began}"


def _rows(entry: Entry, ink: Ink, width: int) -> list[Line]:
    rows = _of_finding(entry.finding, entry.outcome, ink, width) if entry.finding is not None else []
    if entry.finding is None and entry.outcome is not None:
        said = OUTCOMES[entry.outcome.state].format(entry.outcome.says)
        rows += [ink.line().add(f" {text}", ink.strong) for text in paragraphs(said, width - 2)]
    if entry.rule is not None:
        text = explanation(entry.rule).replace("``", "")
        rows += [ink.line(), *(_explained(line, ink) for line in paragraphs(text, width - 2))]
    return rows


def _explained(row: str, ink: Ink) -> Line:
    """A row of the explanation, the name of a section standing out."""
    head, colon, rest = row.partition(":")
    if head in SECTIONS:
        return ink.line().add(f" {head}{colon}", ink.title).add(rest, ink.text)
    return ink.line().add(f" {row}", ink.text)


def _of_finding(finding: Finding, outcome: Outcome | None, ink: Ink, width: int) -> list[Line]:
    rows = [ink.line().add(f" {text}", ink.strong) for text in paragraphs(finding.summary, width - 2)]
    rows += _labelled("to do", finding.advice, ink, width, ink.text)
    rows += _evidence(finding, ink, width)
    rows += _labelled("costs", finding.cost_words or "not measured", ink, width, ink.text)
    if outcome is not None and outcome.says:
        rows += _labelled("note", HELD.format(outcome.says), ink, width, ink.text)
    if finding.link:
        rows += _labelled("see", finding.link, ink, width, ink.muted)
    return rows


def _evidence(finding: Finding, ink: Ink, width: int) -> list[Line]:
    """Figures in a column of their own, as far as their names leave room for it."""
    longest = min(WHAT_MOST, max((cell_len(what) for what, _ in finding.evidence), default=0))
    rows: list[Line] = []
    for what, seen in finding.evidence:
        label = "" if rows else "evidence"
        head = what.ljust(longest) + "  "
        at = 1 + LABEL + longest + 2
        first, *more = wrapped(seen, max(1, width - at - 1), len(seen) + 1, first=width - 2 - LABEL - cell_len(head))
        line = ink.line().add(f" {label:<{LABEL}}", ink.muted).add(head, ink.text)
        rows.append(line.add(first, ink.strong))
        rows += [ink.line().add(" " * at + text, ink.strong) for text in more]
    return rows


def _labelled(label: str, text: str, ink: Ink, width: int, style: Style) -> list[Line]:
    written = wrapped(text, max(1, width - LABEL - 2), len(text) + 1)
    return [
        ink.line().add(f" {'' if number else label:<{LABEL}}", ink.muted).add(row, style)
        for number, row in enumerate(written)
    ]
