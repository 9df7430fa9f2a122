"""What a rule says of a made-up server whose costs and acceptance are known."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from economics_bench import Bench
from judged import said

from specscope.findings.rule import Case
from specscope.session.economics.recorded import recorded_run

if TYPE_CHECKING:
    from collections.abc import Collection

    from specscope.findings.rule import Finding, Rule, Seen
    from specscope.session.economics.state import RecordedRun
    from specscope.session.fold import Fold
    from specscope.session.state import Session


def look_at(rule: Rule, fold: Fold, *, raised: Collection[str] = (), against: Session | None = None) -> Seen:
    session = fold.view()
    return rule.look(Case(session.targets[0], session, frozenset(raised), against))


def found_at(
    rule: Rule,
    fold: Fold,
    *,
    raised: Collection[str] = (),
    against: Session | None = None,
    subject: str = "t0",
) -> Finding:
    """The one finding of the server."""
    seen = look_at(rule, fold, raised=raised, against=against)
    assert isinstance(seen, tuple), said(seen)
    (finding,) = seen
    assert (finding.code, finding.name, finding.subject) == (rule.code, rule.name, subject)
    return finding


@cache
def off() -> RecordedRun:
    """A run with speculation off: 8 ms a step."""
    return recorded_run(Bench(n_max=0, requests=10, seed=999).target(), "off.jsonl")
