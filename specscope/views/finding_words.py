"""How findings and rules are written, on every screen that shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import SEVERITIES
from specscope.views.widgets.line import wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.findings.rule import Finding, Severity

SYMBOLS: Final[dict[Severity, str]] = {"critical": "✖ critical", "warning": "! warning ", "info": "i info    "}


def counts(findings: Sequence[Finding]) -> str:
    """How many there are of each severity: ``1 critical, 2 warning``."""
    of_each = {s: sum(f.severity == s for f in findings) for s in reversed(SEVERITIES)}
    return ", ".join(f"{n} {severity}" for severity, n in of_each.items() if n)


def part_words(finding: Finding, shown: str | None) -> str:
    """What of the shown server it is about (``slot 2``), or which other (``server t1``); nothing for itself."""
    if finding.target != shown:
        return f"server {finding.subject}"
    return finding.subject.removeprefix(finding.target).strip()


def paragraphs(text: str, width: int) -> list[str]:
    """A text of paragraphs in rows of ``width`` cells, with an empty row between two of them."""
    rows: list[str] = []
    for paragraph in text.split("\n\n"):
        if rows:
            rows.append("")
        rows += wrapped(" ".join(paragraph.split()), max(1, width), len(paragraph))
    return rows
