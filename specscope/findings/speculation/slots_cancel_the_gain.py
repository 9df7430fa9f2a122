"""With several slots at work speculation is slower than plain decoding of as many.

Looks at: tokens a cycle against cycle time and plain decode time with as many slots at once: plain steps of this run,
or a recorded run with speculation off at the same concurrency (``--runs``).

Why it matters: each slot adds its draft's rows to the same forward. One slot leaves the device's arithmetic idle, so
that its rows cost little; with four slots and a width of 15 it is 64 rows, and they cost what they cost. A server had
21 instead of 11 tok/s with one slot, and 25 instead of 34 with four.

What to do: draft less (``--spec-draft-n-max`` 1 or 2), serve fewer requests at once (``--parallel``), or run without
``--spec-type`` at this load.

Evidence: two slots or more at once in most steps, and the whole 95 % interval of the speedup below 1 (by 1 % to be
raised, cleared at 0.995). Without plain decoding at the same concurrency there is no finding. The cost is what a
slot's cycle takes longer than plain decoding takes for its tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import against_plain, lost_ms, set_width, slower, switches
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import WIDTHS, no_method, wait
from specscope.session.economics.state import Economics

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen

LINK: Final = "https://github.com/ggml-org/llama.cpp/pull/27342"

NARROW: Final = 2


def look(case: Case) -> Seen:
    """Judge one server."""
    target, slots = case.target, case.target.economics.slots
    if slots < 2:  # noqa: PLR2004  one slot has nobody beside it
        alone = Inapplicable("the server has one slot") if len(target.slots) == 1 else None
        return no_method(target) or alone or wait(target, "two slots or more at work in most steps")
    economics = slower(case)
    if not isinstance(economics, Economics):
        return economics
    width = economics.n_max
    if width is None or economics.speedup is None:
        return WIDTHS
    narrower = f"{set_width(target, NARROW)}, " if width > NARROW else ""
    return (
        RULE.found(
            case,
            f"with {slots} slots at work speculation has {economics.speedup.value:.2f} x the speed of plain decoding",
            (
                ("slots at once", f"{slots}, as in most steps"),
                ("rows of a forward", f"{slots * (width + 1)} ({slots} x {width + 1})"),
                *against_plain(economics),
            ),
            f"try {narrower}fewer slots (--parallel), or at this load run without {switches(target)}",
            link=LINK,
            cost_ms=lost_ms(economics),
        ),
    )


RULE = Rule("SPC129", "slots_cancel_the_gain", "warning", look)
