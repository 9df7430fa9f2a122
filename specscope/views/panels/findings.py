"""What is wrong, what it is about, and what to change. Absent when nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import SEVERITIES
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.findings.rule import Finding, Severity
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

SYMBOLS: Final[dict[Severity, str]] = {"critical": "✖ critical", "warning": "! warning ", "info": "i info    "}
WIDE: Final = 170
"""From this width on, summary and advice share a row."""


class Findings(Panel):
    """One or two rows per finding, worst first."""

    def watched(self, frame: Frame) -> object:
        """The findings."""
        return frame.findings

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title with the counts, and as many findings as fit whole."""
        findings = sorted(frame.findings, key=lambda f: -SEVERITIES.index(f.severity))
        room = max(0, height - 1) // rows_per_finding(width)
        said = _counts(findings)
        if len(findings) > room:
            said += f", {len(findings) - room} more not shown"
        rows: list[Line | Strip] = [ink.rule("findings", width, said)]
        for finding in findings[:room]:
            rows += _finding(finding, ink, width)
        return rows


def rows_per_finding(width: int) -> int:
    """How many rows one finding takes."""
    return 1 if width >= WIDE else 2


def _counts(findings: list[Finding]) -> str:
    counts = {s: sum(f.severity == s for f in findings) for s in reversed(SEVERITIES)}
    return ", ".join(f"{n} {severity}" for severity, n in counts.items() if n)


def _finding(finding: Finding, ink: Ink, width: int) -> list[Line]:
    first = ink.line().add(f" {SYMBOLS[finding.severity]} ", ink.severity(finding.severity))
    first.add(f"{finding.code} {finding.name} ", ink.strong)
    if finding.cost_ms is not None:
        first.add(f"{finding.cost_ms:.1f} ms a cycle ", ink.warn)
    first.add(finding.summary, ink.text)
    if rows_per_finding(width) == 1:
        return [first.add("  > " + finding.advice, ink.muted)]
    return [first, ink.line().add("   > " + finding.advice, ink.muted)]
