"""All rules, in the order of their codes, and the look of all of them at a session."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from specscope.findings.host import full_vocabulary_sort, host_argmax, host_sampling_dominates, sync_stalls
from specscope.findings.rule import SEVERITIES, Collecting
from specscope.findings.sampling import hidden_min_p
from specscope.findings.speculation import draft_width_clamped, speculation_off, synthetic_acceptance

if TYPE_CHECKING:
    from specscope.findings.rule import Finding, Rule
    from specscope.session.state import Session
    from specscope.settings import Settings

RULES: Final[tuple[Rule, ...]] = (
    speculation_off.RULE,
    draft_width_clamped.RULE,
    synthetic_acceptance.RULE,
    hidden_min_p.RULE,
    host_argmax.RULE,
    host_sampling_dominates.RULE,
    full_vocabulary_sort.RULE,
    sync_stalls.RULE,
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What all rules say: findings, costliest and most severe first, and what still waits for facts."""

    findings: tuple[Finding, ...]
    collecting: tuple[tuple[Rule, str, str], ...]


def diagnose(session: Session, settings: Settings) -> Diagnosis:
    """Let every rule look at every target."""
    findings: list[Finding] = []
    collecting: list[tuple[Rule, str, str]] = []
    for target in session.targets:
        model = target.models.get("target")
        names = (
            model.name if model else None,
            target.props.model_alias if target.props else None,
            target.props.model_path if target.props else None,
            model.path if model else None,
        )
        profile = settings.profile_for(*names)
        for rule in RULES:
            seen = rule.look(target, profile)
            if isinstance(seen, Collecting):
                collecting.append((rule, target.id, seen.needs))
            else:
                findings.extend(seen)
    findings.sort(key=lambda f: (-(f.cost_ms or 0.0), -SEVERITIES.index(f.severity), f.code))
    return Diagnosis(tuple(findings), tuple(collecting))


def rule_by(code_or_name: str) -> Rule | None:
    """The rule with this code (case ignored) or name."""
    wanted = code_or_name.strip().lower()
    return next((r for r in RULES if wanted in (r.code.lower(), r.name)), None)


def explanation(rule: Rule) -> str:
    """The rule's text for users: the docstring of its module."""
    return (sys.modules[rule.look.__module__].__doc__ or "").strip()
