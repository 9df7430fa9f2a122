"""What is wrong, what it is about, and what to change. Absent when nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import SEVERITIES
from specscope.views.widgets.line import wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from specscope.findings.rule import Finding, Severity
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

SYMBOLS: Final[dict[Severity, str]] = {"critical": "✖ critical", "warning": "! warning ", "info": "i info    "}
WIDE: Final = 170
"""From this width on, summary and advice share a row."""
ADVICE_MARK: Final = "   > "
ADVICE_MOST: Final = 2
"""Rows that an advice may take."""


class Findings(Panel):
    """A few rows per finding, worst first."""

    def watched(self, frame: Frame) -> object:
        """The findings."""
        return frame.findings

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title with the counts, and as many findings as fit whole."""
        findings = worst_first(frame.findings)
        rows: list[Line | Strip] = []
        shown = 0
        for finding in findings:
            if len(rows) + rows_of(finding, width) > height - 1:
                break
            rows += _finding(finding, ink, width)
            shown += 1
        said = _counts(findings)
        if len(findings) > shown:
            said += f", {len(findings) - shown} more not shown"
        return [ink.rule("findings", width, said), *rows]


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """The order in which findings are shown."""
    return sorted(findings, key=lambda f: -SEVERITIES.index(f.severity))


def rows_of(finding: Finding, width: int) -> int:
    """How many rows a finding takes."""
    return 1 if width >= WIDE else 1 + len(_advice(finding, width))


def _advice(finding: Finding, width: int) -> list[str]:
    return wrapped(finding.advice, max(1, width - len(ADVICE_MARK)), ADVICE_MOST)


def _counts(findings: Sequence[Finding]) -> str:
    counts = {s: sum(f.severity == s for f in findings) for s in reversed(SEVERITIES)}
    return ", ".join(f"{n} {severity}" for severity, n in counts.items() if n)


def _finding(finding: Finding, ink: Ink, width: int) -> list[Line]:
    first = ink.line().add(f" {SYMBOLS[finding.severity]} ", ink.severity(finding.severity))
    first.add(f"{finding.code} {finding.name} ", ink.strong)
    if finding.cost_ms is not None:
        first.add(f"{finding.cost_ms:.1f} ms a cycle ", ink.warn)
    first.add(finding.summary, ink.text)
    if width >= WIDE:
        return [first.add("  > " + finding.advice, ink.muted)]
    marks = [ADVICE_MARK, " " * len(ADVICE_MARK)]
    return [
        first,
        *(ink.line().add(mark + text, ink.muted) for mark, text in zip(marks, _advice(finding, width), strict=False)),
    ]
