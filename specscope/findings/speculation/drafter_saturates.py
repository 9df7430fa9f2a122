"""The last third of each draft adds next to nothing: the drafter is at its end before the draft is.

Looks at: tokens a cycle at today's draft width and at two thirds of it, by the same cycles; only while it is not
known which width is best (then a finding says so, or nothing is lost).

Why it matters: a drafter that loses the thread at some position drafts on, and the target verifies rows that are
nearly always rejected. A report has a mean length of 3 at every ``--spec-draft-n-max``. Whether the rows cost
anything is another question: it takes a run at the narrower width.

What to do: set ``--spec-draft-n-max`` to the position after which nothing comes, and compare.

Evidence: at least 200 cycles, and less than 3 % more tokens a cycle by the last third (cleared above 4 %); repeated
runs differ by 4 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import SPECULATION, at_width, judged, no_drafter, set_width
from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.findings.unjudged import WIDTHS
from specscope.session.economics.state import Economics

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen, Unjudged

MIN_CYCLES: Final = 200
"""A position that is accepted once in 50 cycles has then been accepted about four times."""

WIDER: Final = 1.5
"""The ratio of two widths that are compared, as in the report (z-lab/dflash 170)."""

FITS: Final = 0.5
"""Share of first tokens accepted: with fewer the drafter does not match at all, which is another finding."""

NOTHING: Final = 0.03
SOMETHING: Final = 0.04


def look(case: Case) -> Seen:
    """Judge one server."""
    economics = no_drafter(case.target) or judged(case.target)
    if not isinstance(economics, Economics):
        return economics
    today = economics.n_max
    if today is None:
        return WIDTHS
    none = _unjudged(economics, today)
    if none is not None:
        return none
    taus = [_tau(economics, n) for n in range(today + 1)]
    whole, narrower = taus[today], taus[int(today / WIDER)]
    if whole is None or narrower is None:
        return WIDTHS
    if (taus[1] or 1.0) < 1 + FITS:
        return ()
    more = whole / narrower - 1
    if not case.holds(more, raise_at=NOTHING, clear_at=SOMETHING):
        return ()
    enough = next(n for n, tau in enumerate(taus) if n and tau is not None and whole / tau - 1 <= max(more, NOTHING))
    return (
        RULE.found(
            case,
            f"draft positions beyond {enough} add {100 * more:.1f} % to the tokens of a cycle",
            (
                ("tokens a cycle", f"{whole:.2f} at width {today}, {taus[enough] or 0.0:.2f} at {enough}"),
                ("cycles", f"{economics.cycles:,}"),
                ("what the rows cost", "not known: the time of a cycle as narrow was not seen"),
            ),
            f"try {set_width(case.target, enough)} and compare (specscope recipe width {enough} prints the commands)",
            link=SPECULATION,
        ),
    )


def _unjudged(economics: Economics, today: int) -> Unjudged | None:
    """Why a width is not compared with the narrower one; None: it is."""
    if today < WIDER:
        return Inapplicable("drafts have one token")
    if economics.best_n_max is not None:
        return Inapplicable("what a narrower draft gives is known, and told by SPC116")
    if economics.cycles < MIN_CYCLES:
        return Collecting(f"{MIN_CYCLES} draft cycles ({economics.cycles} so far)")
    return None


def _tau(economics: Economics, n_max: int) -> float | None:
    point = at_width(economics, n_max)
    return point.tau.value if point is not None and point.tau is not None else None


RULE = Rule("SPC119", "drafter_saturates", "info", look)
