"""What a rule says of facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b

from specscope.findings.rule import Collecting
from specscope.settings import Profile

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.findings.rule import Finding, Rule


def look(rule: Rule, *facts: ev.Event, profile: Profile | None = None) -> tuple[Finding, ...] | Collecting:
    return rule.look(b.seen(b.found(), *facts), profile or Profile())


def found(rule: Rule, *facts: ev.Event, profile: Profile | None = None) -> Finding:
    """The one finding of the facts."""
    seen = look(rule, *facts, profile=profile)
    assert not isinstance(seen, Collecting), seen.needs
    (finding,) = seen
    assert (finding.code, finding.name, finding.severity) == (rule.code, rule.name, rule.severity)
    assert finding.subject == "t0"
    return finding


def evidence(finding: Finding) -> dict[str, str]:
    return dict(finding.evidence)
