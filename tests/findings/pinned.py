"""The table of all findings in all recordings. ``PYTHONPATH=tests python tests/findings/pinned.py`` writes it anew."""

from __future__ import annotations

from pathlib import Path

from replayed import RECORDINGS, recording

from specscope.cli.pump import played
from specscope.settings import Settings

TABLE = Path(__file__).parent / "of_recordings.txt"
NAMES = sorted(path.name.removesuffix(".jsonl.gz") for path in RECORDINGS.glob("*.jsonl.gz"))


def findings_of(name: str) -> list[str]:
    """What ``check`` finds in a recording, by code and subject; a rule that broke stands among them."""
    diagnosis = played(recording(name), Settings()).diagnosis(final=True)
    found = sorted((f.code, f.subject, f.name, f.severity) for f in diagnosis.findings)
    return [" ".join(row) for row in found] + [f"FAILED {o.rule.name}: {o.says}" for o in diagnosis.rules("failed")]


def pinned() -> dict[str, list[str]]:
    """The table as it stands in the file."""
    table: dict[str, list[str]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            table[next(reversed(table))].append(line.strip())
        elif line:
            table[line] = []
    return table


def written() -> str:
    """The table as it would be written now."""
    return "".join(f"{name}\n" + "".join(f"    {row}\n" for row in findings_of(name)) for name in NAMES)


if __name__ == "__main__":
    TABLE.write_text(written(), encoding="utf-8")
