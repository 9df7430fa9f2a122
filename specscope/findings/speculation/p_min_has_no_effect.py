"""p_min is set, and no draft is shorter for it.

Looks at: the value of p_min in force, the methods, and the mean width of the drafts against the width in force.

Why it matters: ``--spec-draft-p-min`` is meant to end a draft where the drafter is unsure. N-gram tables do not read
it, and some builds did not for DFlash 2 (width identical at 0.00 and 0.85). Comparing values of it then compares noise.

What to do: judge by the width. Shorten drafts with ``--spec-draft-n-max`` (n-gram tables have their own flags), raise
the value, or drop it.

Evidence: only n-gram methods in force; or at least 200 cycles of one drafter whose drafts have 98 % or more of the
width in force on average (their last ones are cut to what a request may still generate); cleared at 95 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.dialect import flag_of
from specscope.findings.draft_widths import DraftWidths, draft_widths
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import TABLES_ALONE, no_method, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.provenance.state import Setting

MIN_CYCLES: Final = 200
"""A value that ends one draft in a hundred would have shown twice."""

FULL: Final = 0.98
LESS: Final = 0.95


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    setting = target.provenance.setting("spec_draft_p_min")
    types = target.config.types
    if not types:
        return no_method(target) or ()
    if setting is None or not isinstance(setting.value, (int, float)):
        tables = all(name.startswith("ngram-") for name in types)
        return TABLES_ALONE if tables else wait(target, "the p_min in force (the log, or command line and build)")
    if setting.value <= 0:
        return Inapplicable("p_min is not set")
    p_min = (flag_of(target, setting.flag), f"{setting.value:g} ({_origin(setting)})")
    if all(name.startswith("ngram-") for name in types):
        if setting.origin not in ("command line", "environment", "preset"):
            return TABLES_ALONE
        summary = f"p_min {setting.value:g} has no effect: n-gram tables do not read it"
        advice = f"drop {p_min[0]}; the tables' own --spec-ngram-* flags bound their drafts"
        return (RULE.found(case, summary, (p_min, ("methods", ", ".join(types))), advice, settled=True),)
    seen = draft_widths(target, MIN_CYCLES)
    if not isinstance(seen, DraftWidths):
        return seen
    if not case.holds(seen.share, raise_at=FULL, clear_at=LESS):
        return ()
    return (
        RULE.found(
            case,
            f"p_min {setting.value:g} ends next to no draft: they have the full width",
            (p_min, ("draft width", f"{seen.mean:.2f} of {seen.limit} on average, in {seen.cycles:,} cycles")),
            f"bound the drafts with {flag_of(target, '--spec-draft-n-max')} instead, or raise {p_min[0]}",
        ),
    )


def _origin(setting: Setting) -> str:
    return setting.origin if setting.origin != "unknown" else "by the log"


RULE = Rule("SPC115", "p_min_has_no_effect", "info", look)
