"""Speculation is slower than plain decoding, whatever share of the drafts is accepted.

Looks at: tokens a cycle against cycle time and plain decode time, with one slot at work: plain steps of this run, or
a recorded run with speculation off (``--runs``).

Why it matters: drafting and verifying cost time in each cycle. They pay only where a cycle yields more tokens than
plain decoding does in the same time (tau above cycle time over plain time). A twin of its target had 9 of 10 tokens
accepted and was slower; on another pair 45 % pay. No acceptance rate says it.

What to do: run without ``--spec-type`` and drafter, or at the draft width that pays if there is one.

Evidence: the whole 95 % interval of the speedup lies below 1 (by 1 % to be raised, cleared at 0.995). The cost is what
a cycle takes longer than plain decoding takes for its tokens. Plain decode time is never guessed: without it there is
no finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.drafting import (
    SPECULATION,
    against_plain,
    at_width,
    lost_ms,
    set_width,
    slower,
    switches,
)
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import PLAIN
from specscope.session.economics.state import Economics

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen


def look(case: Case) -> Seen:
    """Judge one server."""
    if case.target.economics.slots > 1:
        return Inapplicable("several slots are at work at once: SPC129 tells of them")
    economics = slower(case)
    if not isinstance(economics, Economics):
        return economics
    if economics.speedup is None:
        return PLAIN
    acceptance = case.target.totals.acceptance
    accepted = (("accepted", f"{acceptance:.0%} of the drafted tokens"),) if acceptance is not None else ()
    return (
        RULE.found(
            case,
            f"speculation is slower than plain decoding: {economics.speedup.value:.2f} x its speed",
            (*against_plain(economics), *accepted),
            _advice(case, economics),
            link=SPECULATION,
            cost_ms=lost_ms(economics),
        ),
    )


def _advice(case: Case, economics: Economics) -> str:
    """Off, unless a narrower width is known to be faster than that."""
    off = f"run without {switches(case.target)}"
    best, plain = economics.best_n_max, at_width(economics, 0)
    point = at_width(economics, best) if best else None
    if point is None or best == economics.n_max or plain is None or plain.tok_s is None or point.tok_s is None:
        return off
    return f"set {set_width(case.target, best or 0)}, or {off}" if point.tok_s.low > plain.tok_s.value else off


RULE = Rule("SPC123", "speculation_loses", "warning", look)
