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

from typing import TYPE_CHECKING

from specscope.findings.drafting import better_width, judged
from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.findings.unjudged import WIDTHS
from specscope.session.economics.state import Economics

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen


def look(case: Case) -> Seen:
    """Judge one server."""
    economics = judged(case.target)
    if not isinstance(economics, Economics):
        return economics
    today, best = economics.n_max, economics.best_n_max
    if today is None:
        return WIDTHS
    if today == 1:
        return Inapplicable("drafts have one token: none is narrower")
    if best is None:
        return Collecting("cycles of narrower drafts (specscope recipe width K, then --runs FILE)")
    if not 0 < best < today:
        return ()
    return better_width(RULE, case, economics, "drafts of at most")


RULE = Rule("SPC116", "draft_too_wide", "warning", look)
