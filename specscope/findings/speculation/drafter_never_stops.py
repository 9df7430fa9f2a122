"""The drafter always drafts its full width, although most of it is thrown away.

Looks at: with draft-simple alone, the mean width of the drafts against the width in force, the acceptance, and p_min.

Why it matters: draft-simple runs the drafter once for each drafted token. Since b9235 ``p_min`` is 0 by default
instead of 0.75, so that it never stops early: after an update acceptance falls from about 0.9 to 0.3, and the
drafter's time on rejected tokens is lost.

What to do: set ``--spec-draft-p-min`` 0.75, or ``--spec-draft-n-max`` near the tokens per cycle, and compare.

Evidence: at least 50 cycles and 200 draft tokens with a mean width of 98 % or more of the width in force and an
acceptance of 0.5 or less (llama.cpp issues 23544, 25792, 25908: 0.07 to 0.4 without p_min, 0.94 with it); cleared at
0.55. Not where the width in force is known to be the best. The cost is the drafter's time on rejected tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.dialect import flag_of
from specscope.findings.draft_widths import DraftWidths, draft_widths
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import no_method

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

LINK = "https://github.com/ggml-org/llama.cpp/issues/25792"

MIN_CYCLES: Final = 50
"""Before any verdict on acceptance, which comes in clusters."""

FULL: Final = 0.98
"""Share of the width in force: the last drafts of each request are cut to what it may still generate."""

LESS: Final = 0.95
LOW: Final = 0.5
"""Half of the drafter's passes are lost."""

BETTER: Final = 0.55


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    p_min = target.provenance.setting("spec_draft_p_min")
    if target.config.types != ("draft-simple",):
        return no_method(target) or Inapplicable("draft-simple is not the method that drafts, or not alone")
    if p_min is not None and p_min.value not in (None, 0.0):
        return Inapplicable("p_min is set: drafts may end early")
    seen = draft_widths(target, MIN_CYCLES)
    if not isinstance(seen, DraftWidths):
        return seen
    economics = target.economics
    if economics.sure and economics.best_n_max is not None and economics.best_n_max == economics.n_max:
        return ()
    always = case.holds(seen.share, raise_at=FULL, clear_at=LESS)
    if not always or not case.holds(seen.acceptance, raise_at=LOW, clear_at=BETTER):
        return ()
    lost_ms = _lost_ms(target, seen)
    told = (("drafter", f"{lost_ms:.1f} ms a cycle on rejected tokens"),) if lost_ms is not None else ()
    return (
        RULE.found(
            case,
            f"the drafter never stops early: {1 - seen.acceptance:.0%} of its tokens are thrown away",
            (
                ("draft width", f"{seen.mean:.2f} of {seen.limit} on average, in {seen.cycles:,} cycles"),
                ("acceptance", f"{seen.acceptance:.2f} ({seen.accepted:,} of {seen.drafted:,})"),
                ("p_min", "0" if p_min is not None and p_min.value is not None else "not seen"),
                *told,
            ),
            f"try {flag_of(target, '--spec-draft-p-min')} 0.75, or {flag_of(target, '--spec-draft-n-max')} "
            f"{_width(target, seen)}",
            link=LINK,
            cost_ms=lost_ms,
        ),
    )


def _width(target: Target, seen: DraftWidths) -> int:
    """The best width, where it is known; else the tokens that a cycle yields."""
    best = target.economics.best_n_max
    return best or max(1, round(1 + seen.accepted / seen.cycles))


def _lost_ms(target: Target, seen: DraftWidths) -> float | None:
    """The drafter's time beyond the first rejected token; one pass for each drafted token."""
    drafting = target.economics.drafting
    if drafting is None or drafting.ms is None:
        return None
    lost = max(0.0, seen.mean - 1 - seen.accepted / seen.cycles)
    return drafting.ms * lost / seen.mean


RULE = Rule("SPC114", "drafter_never_stops", "warning", look)
