"""Findings as JSON: in the snapshot and in what ``check --json`` prints. Both grow only by addition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specscope.findings.diagnosis import Diagnosis, Outcome
    from specscope.findings.rule import Finding

Json = dict[str, Any]


def diagnosis_json(diagnosis: Diagnosis) -> Json:
    """``findings``, the worst first; then rules that wait, that do not apply, and that broke; and counts.

    In ``rules``, ``looked`` counts all rules, whatever came of them; the other counts add up to it.
    """
    return {
        "findings": [finding_json(f) for f in diagnosis.findings],
        "collecting": [_waiting(o) for o in diagnosis.rules("collecting")],
        "does_not_apply": [_inapplicable(o) for o in diagnosis.rules("inapplicable")],
        "failed": [_failed(o) for o in diagnosis.rules("failed")],
        "rules": {
            "looked": len(diagnosis.outcomes),
            "found": len(diagnosis.rules("found")),
            "nothing": len(diagnosis.rules("nothing")),
            "collecting": len(diagnosis.rules("collecting")),
            "does_not_apply": len(diagnosis.rules("inapplicable")),
            "failed": len(diagnosis.rules("failed")),
        },
    }


def finding_json(finding: Finding) -> Json:
    """One finding. ``since``: seconds since the epoch; costs are null where they were not measured."""
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "subject": finding.subject,
        "summary": finding.summary,
        "evidence": [{"what": what, "seen": seen} for what, seen in finding.evidence],
        "advice": finding.advice,
        "link": finding.link or None,
        "cost_ms": finding.cost_ms,
        "cost_tok_per_s": finding.cost_tok_per_s,
        "since": finding.since,
        "settled": finding.settled,
    }


def _waiting(outcome: Outcome) -> Json:
    return {**_rule(outcome), "needs": outcome.says}


def _inapplicable(outcome: Outcome) -> Json:
    return {**_rule(outcome), "why": outcome.says}


def _failed(outcome: Outcome) -> Json:
    return {**_rule(outcome), "error": outcome.says}


def _rule(outcome: Outcome) -> Json:
    return {"code": outcome.rule.code, "name": outcome.rule.name}
