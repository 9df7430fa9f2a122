"""One more drafted token makes a cycle much longer: the verification no longer fits the fast kernels.

Looks at: cycle time just below and just above 8 rows to verify (a draft of 7 and the last token), by the cycles of
this run or of recorded ones; of several slots at once their rows together.

Why it matters: CUDA multiplies up to 8 rows by its mat-vec kernels and takes others beyond (ggml-cuda
MMVQ_MAX_BATCH_SIZE, llama.cpp b11434); on a HIP card two drafted tokens more took a server from 20.8 to 7.7 tok/s.
A draft just above the step pays for it with each cycle.

What to do: set ``--spec-draft-n-max`` to the width that stays below, and compare; far above the step a wide draft may
still be the best.

Evidence: across the step the time grows by a tenth more than if each row cost as much as those before it, by the
ends of both 95 % intervals (cleared below 2 %); today's drafts lie above it, and are not known to be better than the
width below. A server whose layers are on the CPU for certain has no such kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import at_width, judged, set_width, width_words
from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.session.economics.cost_model import KERNEL_ROWS
from specscope.session.economics.state import Economics
from specscope.session.economics.words import HOW

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.economics.state import CostPoint

LINK: Final = "https://github.com/ggml-org/llama.cpp/issues/23549"

NEAR: Final = 3
"""Widths on either side that are compared."""

JUMPS: Final = 1.1
"""From 7 to 8 drafted tokens a ninth row is 1.125 of the time if all of it is rows: with this it is 1.24."""

STEADY: Final = 1.02


def look(case: Case) -> Seen:
    """Judge one server."""
    economics = judged(case.target)
    if not isinstance(economics, Economics):
        return economics
    if not economics.kernel_step:
        return Inapplicable("the target is computed on the CPU, whose kernels have no such step")
    fits = KERNEL_ROWS // economics.slots - 1
    today = economics.n_max or 0
    below = [p for p in economics.costs if max(0, fits - NEAR) < p.width <= fits]
    above = [p for p in economics.costs if fits < p.width <= fits + NEAR]
    if today <= fits:
        return Inapplicable(f"drafts have no more rows than the fast kernels take ({KERNEL_ROWS})")
    if fits < 1:
        return Inapplicable(f"with {economics.slots} slots at work no draft is narrow enough for the fast kernels")
    if not below or not above:
        return Collecting(f"cycles of drafts just below and just above {fits} tokens (specscope recipe width {fits})")
    if _wide_is_better(economics, fits, today):
        return ()
    low, high = below[-1], above[0]
    rows = (high.width + 1) / (low.width + 1)
    if not case.holds(high.low / (low.high * rows), raise_at=JUMPS, clear_at=STEADY):
        return ()
    return (
        RULE.found(
            case,
            f"a cycle takes {high.ms:.1f} ms with {high.width} drafted tokens and {low.ms:.1f} with {low.width}",
            (
                (f"width {low.width}", _words(low)),
                (f"width {high.width}", _words(high)),
                ("rows of the fast kernels", f"{KERNEL_ROWS} at most, of all slots at work ({economics.slots})"),
                ("today", width_words(economics, today)),
                ("below the step", width_words(economics, fits)),
            ),
            f"try {set_width(case.target, fits)} and compare (specscope recipe width {fits} prints the commands)",
            link=LINK,
        ),
    )


def _wide_is_better(economics: Economics, fits: int, today: int) -> bool:
    """Whether drafts above the step are known to be faster than those below it."""
    narrow, wide = at_width(economics, fits), at_width(economics, today)
    if narrow is None or wide is None or narrow.tok_s is None or wide.tok_s is None:
        return False
    return narrow.tok_s.high < wide.tok_s.low


def _words(point: CostPoint) -> str:
    return f"{point.ms:.2f} ms ({point.low:.2f} to {point.high:.2f}), {HOW[point.how]}"


RULE = Rule("SPC128", "verify_kernel_cliff", "info", look)
