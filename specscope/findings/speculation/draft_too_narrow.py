"""Drafts end where most of them are still accepted: a wider draft gives more tokens per second, or may give more.

Looks at: the best draft width, where a recorded run (``--runs``) shows drafts wider than today's; else how many full
drafts are accepted to their end.

Why it matters: what lies beyond the draft limit costs a forward of its own. A published pair ran fastest at width 12
with 43 % of its drafts accepted, and not at 2 with 91 %: high acceptance may mean that too little is drafted.
``--spec-draft-n-max`` is 3 unless it is given.

What to do: set ``--spec-draft-n-max`` to the best width; where wider drafts were not seen, run one
(``specscope recipe width N`` prints the commands) and compare.

Evidence: with a recorded wider run the gain and its 95 % interval, as for a draft that is too wide. Without one, as
information: at least half of the full drafts are accepted to their end, by the interval's lower end (cleared below
40 %), and the drafter can draft more. At half, one more token is accepted in about every third or fourth draft.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import SPECULATION, better_width, judged, pays_off, set_width, width_words
from specscope.findings.rule import Rule
from specscope.findings.unjudged import WIDTHS
from specscope.session.economics.state import Economics

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen

FULL: Final = 0.5
"""Share of full drafts accepted to their end."""

LESS_FULL: Final = 0.4


def look(case: Case) -> Seen:
    """Judge one server."""
    economics = judged(case.target)
    if not isinstance(economics, Economics):
        return economics
    if economics.n_max is None:
        return WIDTHS
    if economics.gain_pct is None or (economics.best_n_max or 0) <= economics.n_max:
        return _may_gain(case, economics, economics.n_max)
    return better_width(RULE, case, economics, "drafts of up to")


def _may_gain(case: Case, economics: Economics, today: int) -> Seen:
    """No wider draft was seen, and most drafts are accepted to their end."""
    full = economics.full
    if full is None:
        return WIDTHS
    if not economics.hidden or pays_off(economics) is False:
        return ()
    if not case.holds(full.low, raise_at=FULL, clear_at=LESS_FULL):
        return ()
    try_next = economics.try_next
    wider = try_next.n_max if try_next is not None and try_next.n_max > today else 2 * today
    limit = case.target.config.drafter_limit
    wider = wider if limit is None else min(wider, limit)
    return (
        RULE.found(
            case,
            f"{full.value:.0%} of the drafts are accepted to their end: more than {today} tokens may pay",
            (
                ("full drafts accepted", f"{full.value:.0%} ({full.low:.0%} to {full.high:.0%})"),
                ("today", width_words(economics, today)),
                ("widest that can be drafted", "not known" if limit is None else f"{limit} (the drafter's training)"),
                ("wider drafts", "not seen, so what they give is not known"),
            ),
            f"try {set_width(case.target, wider)} and compare (specscope recipe width {wider} prints the commands)",
            link=SPECULATION,
            severity="info",
        ),
    )


RULE = Rule("SPC117", "draft_too_narrow", "warning", look)
