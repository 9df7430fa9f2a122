"""What a rule says of facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b

from specscope.findings.rule import Case, Collecting, Inapplicable
from specscope.session.fold import Fold
from specscope.session.provenance.recommend import Advice

if TYPE_CHECKING:
    from collections.abc import Collection

    from specscope import events as ev
    from specscope.catalogue import Card
    from specscope.findings.rule import Finding, Rule, Seen
    from specscope.session.state import Session
    from specscope.settings import Profile


def case(
    *facts: ev.Event,
    profile: Profile | None = None,
    raised: Collection[str] = (),
    against: Session | None = None,
    cards: tuple[Card, ...] = (),
) -> Case:
    """What a rule looks at after these facts; ``raised``: the subjects for which it was raised before."""
    fold = Fold(Advice({"mine": profile} if profile is not None else {}, cards))
    for fact in (b.found(), *facts):
        fold.apply(fact)
    session = fold.view()
    return Case(session.targets[0], session, frozenset(raised), against)


def look(
    rule: Rule,
    *facts: ev.Event,
    profile: Profile | None = None,
    raised: Collection[str] = (),
    against: Session | None = None,
    cards: tuple[Card, ...] = (),
) -> Seen:
    return rule.look(case(*facts, profile=profile, raised=raised, against=against, cards=cards))


def found(
    rule: Rule,
    *facts: ev.Event,
    profile: Profile | None = None,
    raised: Collection[str] = (),
    against: Session | None = None,
    cards: tuple[Card, ...] = (),
    subject: str = "t0",
) -> Finding:
    """The one finding of the facts."""
    seen = look(rule, *facts, profile=profile, raised=raised, against=against, cards=cards)
    assert isinstance(seen, tuple), said(seen)
    (finding,) = seen
    assert (finding.code, finding.name) == (rule.code, rule.name)
    assert (finding.target, finding.subject) == ("t0", subject)
    return finding


def said(seen: Seen) -> str:
    """What came of a look, in words."""
    if isinstance(seen, Collecting):
        return f"waits: {seen.needs}"
    if isinstance(seen, Inapplicable):
        return f"does not apply: {seen.why}"
    return "found" if seen else "nothing"


def state(seen: Seen) -> str:
    """The same without what it waits for, or why it does not apply."""
    return said(seen).partition(":")[0]


def evidence(finding: Finding) -> dict[str, str]:
    return dict(finding.evidence)
