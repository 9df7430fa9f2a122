"""A narrower draft gives more tokens per second: the last rows are verified and seldom accepted.

Looks at: tokens a cycle and cycle time at each draft width, as far as cycles of this run or of recorded ones
(``--runs``) show them.

Why it matters: each drafted token is a row of the target's forward, whether it is accepted or not. Where rows cost
time and the last positions are seldom accepted, a narrower draft loses few tokens and saves much of the cycle. A
published DFlash 2 pair ran 11 % faster at 5 than at 7; above 8 rows CUDA changes to slower kernels.

What to do: set ``--spec-draft-n-max`` (of a table its own size flag) to the best width.

Evidence: the gain of a narrower width over today's, with its 95 % interval: the finding is raised when the
interval's lower end is 3 % or more, and stays while that end is not below 0. The cost is what a cycle takes longer
than its tokens would take at the best width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import SPECULATION, gained_ms, judged, ranged, set_width, width_words
from specscope.findings.rule import Rule
from specscope.session.economics.state import Economics

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen

GAINS_PCT: Final = 3.0
"""At least, at 95 %: repeated runs of one server differ by 4 %, so that less could not be confirmed."""

NO_LOSS_PCT: Final = 0.0
"""While the interval is above it, the narrower width is still no worse."""


def look(case: Case) -> Seen:
    """Judge one server."""
    economics = judged(case.target)
    if not isinstance(economics, Economics):
        return economics
    today, best, gain = economics.n_max, economics.best_n_max, economics.gain_pct
    if today is None or best is None or gain is None or not 0 < best < today:
        return ()
    if not case.holds(gain.low, raise_at=GAINS_PCT, clear_at=NO_LOSS_PCT):
        return ()
    return (
        RULE.found(
            case,
            f"drafts of at most {best} tokens give {gain.value:.0f} % more tok/s than drafts of {today}",
            (
                ("gain", f"{ranged(gain, 0)} %"),
                ("today", width_words(economics, today)),
                ("best", width_words(economics, best)),
                ("rests on", economics.basis),
            ),
            f"set {set_width(case.target, best)}",
            link=SPECULATION,
            cost_ms=gained_ms(economics),
        ),
    )


RULE = Rule("SPC116", "draft_too_wide", "warning", look)
