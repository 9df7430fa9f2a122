"""What is not as in a recorded run, of each server: as text, as Markdown and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from specscope.reports.config_text import against_lines
from specscope.reports.snapshot_config import against_json
from specscope.reports.text import printable

if TYPE_CHECKING:
    from specscope.events import Json
    from specscope.session.provenance.against import Against

Drift: TypeAlias = "tuple[tuple[str, Against | None], ...]"
"""Each server's id with what differs; None: the recording has no server to compare it with."""

NONE_LIKE_IT = "the recording has no server with this model"


def drift_text(drift: Drift) -> list[str]:
    """A line for each server, and one for each difference."""
    lines: list[str] = []
    for target, found in drift:
        lines.append(f"{target} against the recorded run:")
        lines += [f"  {printable(line)}" for line in _lines(found)]
    return lines


def drift_markdown(drift: Drift) -> list[str]:
    """The same as a list."""
    lines: list[str] = []
    for target, found in drift:
        lines += ["", f"**{target} against the recorded run**", ""]
        lines += [f"- {printable(line)}" for line in _lines(found)]
    return lines


def drift_json(drift: Drift) -> list[Json]:
    """The same with all figures, beyond noise or not."""
    return [{"target": target, "found": None if found is None else against_json(found)} for target, found in drift]


def _lines(found: Against | None) -> list[str]:
    return [NONE_LIKE_IT] if found is None else against_lines(found)
