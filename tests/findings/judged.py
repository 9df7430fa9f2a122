"""What a rule says of facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b

from specscope.findings.rule import Case, Collecting
from specscope.settings import Profile

if TYPE_CHECKING:
    from collections.abc import Collection

    from specscope import events as ev
    from specscope.findings.rule import Finding, Rule, Seen
    from specscope.session.state import Session


def case(
    *facts: ev.Event,
    profile: Profile | None = None,
    raised: Collection[str] = (),
    against: Session | None = None,
) -> Case:
    """What a rule looks at after these facts; ``raised``: the subjects for which it was raised before."""
    session = b.fold(b.found(), *facts).view()
    return Case(session.targets[0], profile or Profile(), session, frozenset(raised), against)


def look(
    rule: Rule,
    *facts: ev.Event,
    profile: Profile | None = None,
    raised: Collection[str] = (),
    against: Session | None = None,
) -> Seen:
    return rule.look(case(*facts, profile=profile, raised=raised, against=against))


def found(
    rule: Rule,
    *facts: ev.Event,
    profile: Profile | None = None,
    raised: Collection[str] = (),
    against: Session | None = None,
    subject: str = "t0",
) -> Finding:
    """The one finding of the facts."""
    seen = look(rule, *facts, profile=profile, raised=raised, against=against)
    assert not isinstance(seen, Collecting), seen.needs
    (finding,) = seen
    assert (finding.code, finding.name) == (rule.code, rule.name)
    assert (finding.target, finding.subject) == ("t0", subject)
    return finding


def evidence(finding: Finding) -> dict[str, str]:
    return dict(finding.evidence)
