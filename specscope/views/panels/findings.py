"""What is wrong, what it is about, and what to change. Absent when nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from specscope.views.finding_words import SYMBOLS, counts, part_words
from specscope.views.widgets.line import wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.findings.rule import Finding
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

WIDE: Final = 170
"""From this width on, summary and advice share a row where both fit."""
INDENT: Final = "   "
ADVICE_MARK: Final = "   > "
BESIDE: Final = "  > "
MOST: Final = 3
"""Rows that a summary, or an advice, may take; both are whole on the Findings screen."""


class Findings(Panel):
    """A few rows per finding, worst first."""

    def watched(self, frame: Frame) -> object:
        """The findings, and which server is shown."""
        return frame.findings, shown_id(frame)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title with the counts, and as many findings as fit whole; the worst is shown in any case."""
        findings = frame.findings
        rows: list[Line | Strip] = []
        fitting = 0
        for finding in findings:
            room = height - 1 - len(rows)
            if rows and rows_of(finding, shown_id(frame), width) > room:
                break
            written = _finding(finding, shown_id(frame), ink, width, room)
            rows += written
            fitting += 1
        said = counts(findings)
        if len(findings) > fitting:
            said += f", {len(findings) - fitting} more not shown: key 6 lists all"
        return [ink.rule("findings", width, said), *rows]


def shown_id(frame: Frame) -> str | None:
    """The id of the server on the screen."""
    return frame.target.id if frame.target is not None else None


def rows_of(finding: Finding, shown: str | None, width: int) -> int:
    """How many rows a finding takes where the server ``shown`` is on the screen."""
    if _in_one_row(finding, shown, width):
        return 1
    return len(_summary(finding, shown, width)) + len(_advice(finding, width))


def _head(finding: Finding, shown: str | None) -> tuple[str, str, str]:
    """What stands before the summary: severity, identity, cost."""
    part = part_words(finding, shown)
    identity = f"{finding.code} {finding.name} {part} " if part else f"{finding.code} {finding.name} "
    cost = finding.cost_words
    return f" {SYMBOLS[finding.severity]} ", identity, f"{cost} " if cost else ""


def _summary(finding: Finding, shown: str | None, width: int, most: int = MOST) -> list[str]:
    """The first row stands behind the head, and may be empty."""
    room = width - cell_len("".join(_head(finding, shown)))
    return wrapped(finding.summary, max(1, width - len(INDENT)), most, first=room)


def _advice(finding: Finding, width: int, most: int = MOST) -> list[str]:
    return wrapped(finding.advice, max(1, width - len(ADVICE_MARK)), most)


def _in_one_row(finding: Finding, shown: str | None, width: int) -> bool:
    whole = "".join((*_head(finding, shown), finding.summary, BESIDE, finding.advice))
    return width >= WIDE and cell_len(whole) <= width


def _finding(finding: Finding, shown: str | None, ink: Ink, width: int, room: int) -> list[Line]:
    """Its rows; with too little room for all the advice is cut to what is left, but to no less than a row of it.

    The summary has the figures, so it is cut only where else none of the advice were seen.
    """
    severity, identity, cost = _head(finding, shown)
    line = ink.line().add(severity, ink.severity(finding.severity)).add(identity, ink.strong).add(cost, ink.warn)
    if _in_one_row(finding, shown, width):
        return [line.add(finding.summary, ink.text).add(BESIDE + finding.advice, ink.muted)]
    first, *more = _summary(finding, shown, width, max(1, min(MOST, room - 1)))
    advice = _advice(finding, width, max(1, min(MOST, room - 1 - len(more))))
    marks = [ADVICE_MARK, *[" " * len(ADVICE_MARK)] * MOST]
    return [
        line.add(first, ink.text),
        *(ink.line().add(INDENT + text, ink.text) for text in more),
        *(ink.line().add(mark + text, ink.muted) for mark, text in zip(marks, advice, strict=False)),
    ]
