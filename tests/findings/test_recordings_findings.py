"""All rules over all recordings: the full set of findings is pinned, so that no rule starts crying wolf unnoticed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from pinned import NAMES, TABLE, findings_of, pinned
from replayed import replayed

from specscope.findings.registry import RULES
from specscope.findings.rule import Case

if TYPE_CHECKING:
    from types import FrameType

    from specscope.findings.rule import Rule

LINES = 400
"""What one look may execute: fewer lines than the largest recording has cycles (505)."""

LINES_OF_ALL = 10_000
"""What all rules together may: 2 ms at 200 ns, the most that a line of a rule took (they write texts)."""


@pytest.mark.parametrize("name", NAMES)
def test_the_findings_of_a_recording_are_those_in_the_table(name: str) -> None:
    again = f"if this is right, write {TABLE.name} anew: PYTHONPATH=tests python tests/findings/pinned.py"
    assert findings_of(name) == pinned().get(name), again


def test_the_table_has_all_recordings_and_no_other() -> None:
    assert list(pinned()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_rules_read_what_was_worked_out_and_do_not_go_through_the_cycles(name: str) -> None:
    """Counted in executed lines, because a time would be another on every machine."""
    session = replayed(name)
    for target in session.targets:
        lines = {rule.name: lines_of(rule, Case(target, session)) for rule in RULES}
        assert not {rule: count for rule, count in lines.items() if count > LINES}
        assert sum(lines.values()) <= LINES_OF_ALL


def lines_of(rule: Rule, case: Case) -> int:
    """How many lines a look executes."""
    count = 0

    def trace(_frame: FrameType, event: str, _arg: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        rule.look(case)
    finally:
        sys.settrace(before)
    return count
