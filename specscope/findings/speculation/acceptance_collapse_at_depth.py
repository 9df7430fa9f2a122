"""From some context depth on next to nothing of the drafts is accepted any more.

Looks at: accepted tokens per step by resident tokens, in bands that double, beside the median of the bands before;
of a server that drafts with a model and without tables.

Why it matters: a drafter has limits of its own: the context it was trained for, a sliding window, its rope scaling.
Beyond them it drafts noise, and every cycle is a loss. An average over all depths hides it. Reports have it fine
below a context size and near zero beyond.

What to do: see what the drafter was trained for, and give it a context below that with ``--ctx-size``; or compare
this depth with speculation off. If the text is of another kind there, mark the kinds (key m) and look again.

Evidence: at least 50 steps in a band and before it; less than 0.3 of the accepted tokens (cleared above 0.45): with
50 steps a mean is known to a seventh.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from specscope.findings.dialect import flag_of
from specscope.findings.drafting import has_drafter, has_tables
from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.findings.unjudged import TABLES_ALONE, no_method, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.depth import DepthRow

LINK: Final = "https://github.com/ggml-org/llama.cpp/issues/23658"

MIN_STEPS: Final = 50
"""As before any verdict on acceptance."""

BANDS: Final = 2
"""One depth has nothing to fall from."""

LEAST_ACCEPTED: Final = 0.3
"""Accepted tokens a step before: with fewer there is nothing to lose."""

COLLAPSED: Final = 0.3
RECOVERED: Final = 0.45


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if not has_drafter(target):
        return no_method(target) or TABLES_ALONE
    if has_tables(target):
        return Inapplicable("n-gram tables draft as well")
    told = [row for row in target.by_depth if row.steps >= MIN_STEPS]
    for i in range(1, len(told)):
        usual, deeper = median(_accepted(row) for row in told[:i]), max(_accepted(row) for row in told[i:])
        if usual >= LEAST_ACCEPTED and case.holds(deeper / usual, raise_at=COLLAPSED, clear_at=RECOVERED):
            return (_found(case, told[i], usual),)
    deepest = target.by_depth[-1] if target.by_depth else None
    if deepest is not None and told and deepest.steps < MIN_STEPS:
        usual = median(_accepted(row) for row in told)
        if usual >= LEAST_ACCEPTED and _accepted(deepest) < COLLAPSED * usual:
            return Collecting(f"{MIN_STEPS} steps beyond {deepest.tokens:,} tokens ({deepest.steps} so far)")
    if len(told) < BANDS:
        return wait(target, f"{MIN_STEPS} steps each in {BANDS} bands of context depth ({len(told)} so far)")
    return ()


def _accepted(row: DepthRow) -> float:
    return max(0.0, row.tau - 1)


def _found(case: Case, row: DepthRow, usual: float) -> Finding:
    drafter = case.target.models.get("drafter")
    trained = f"{drafter.n_ctx_train:,} tokens" if drafter is not None and drafter.n_ctx_train else "not known"
    here, below = _accepted(row), flag_of(case.target, "--ctx-size")
    return RULE.found(
        case,
        f"beyond {row.tokens:,} tokens of context {here:.1f} drafted tokens a step are accepted, {usual:.1f} before",
        (
            ("accepted tokens a step", f"{here:.2f} at {row.tokens:,} to {row.to_tokens:,} tokens"),
            ("before", f"{usual:.2f} (median of the shallower bands)"),
            ("steps at this depth", f"{row.steps:,}, {row.tok_s:.0f} tok/s of one slot"),
            ("drafter trained for", trained),
        ),
        f"keep the context below what the drafter was trained for ({below}), or compare this depth with speculation "
        "off (specscope recipe plain)",
        link=LINK,
    )


RULE = Rule("SPC121", "acceptance_collapse_at_depth", "warning", look)
