"""What the Findings screen lists of one server: its findings, then the rules without one, by how they fare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from specscope.findings.registry import rule_by

if TYPE_CHECKING:
    from specscope.findings.diagnosis import Outcome, State
    from specscope.findings.rule import Finding, Rule
    from specscope.views.frame import Frame

AFTER: Final[tuple[State, ...]] = ("failed", "collecting", "inapplicable", "nothing")
"""The order in which rules without a finding follow."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: a finding, or a rule without one.

    Attributes:
        rule: None for a finding of a rule that this version does not have.
        outcome: how the rule fares; None where only its finding is known.
    """

    rule: Rule | None
    finding: Finding | None
    outcome: Outcome | None

    @property
    def key(self) -> tuple[str, str]:
        """What it is recognised by when the list changes."""
        if self.finding is not None:
            return self.finding.code, self.finding.subject
        return (self.rule.code if self.rule is not None else ""), ""


def entries_of(frame: Frame) -> tuple[Entry, ...]:
    """The rows for the server on the screen."""
    if frame.target is None:
        return ()
    diagnosis = frame.diagnosis.of(frame.target.id)
    outcomes = {o.rule.code: o for o in diagnosis.outcomes}
    found = (_of_finding(f, outcomes.get(f.code)) for f in diagnosis.findings)
    others = (Entry(o.rule, None, o) for state in AFTER for o in diagnosis.rules(state))
    return (*found, *others)


def _of_finding(finding: Finding, outcome: Outcome | None) -> Entry:
    return Entry(outcome.rule if outcome is not None else rule_by(finding.code), finding, outcome)
