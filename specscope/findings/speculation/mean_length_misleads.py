"""The log's mean length counts only the cycles that had a draft: what speed depends on is much lower.

Looks at: tokens per step over all steps (tau), beside the mean acceptance length of the cycles with a draft, which
the log prints as ``mean len``.

Why it matters: n-gram tables, and drafters with ``--spec-draft-p-min``, draft only now and then. A run logged a mean
length of 8.23 while 120 tokens took 26 forwards: 4.6. Read as a speedup, the larger figure is wrong by that factor.

What to do: judge by tau and by tokens per second. Methods that find more often raise it: with ``--spec-type`` a
drafter behind the tables, shorter n-grams to match. A drafter alone has steps without a draft at the ends of answers,
where none fits, and where ``--spec-draft-p-min`` stops it.

Evidence: at least 50 cycles and 200 drafted tokens, and a mean length 1.3 times tau or more (cleared below 1.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import SPECULATION
from specscope.findings.rule import Rule
from specscope.findings.unjudged import no_method, wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.findings.rule import Case, Seen

MIN_CYCLES: Final = 50
MIN_DRAFTED: Final = 200
"""Both: a mean length is then known to a seventh."""

MISLEADS: Final = 1.3
HARDLY: Final = 1.2


def look(case: Case) -> Seen:
    """Judge one server."""
    totals = case.target.totals
    cycles, plain, drafted = totals.cycles, totals.plain_steps, totals.drafted
    if not case.target.config.types and not cycles:
        return no_method(case.target) or ()
    if not cycles or cycles < MIN_CYCLES or (drafted is not None and drafted < MIN_DRAFTED):
        needs = f"{MIN_CYCLES} draft cycles with {MIN_DRAFTED} drafted tokens ({cycles or 0} so far)"
        return wait(case.target, needs)
    if plain is None or not totals.tau or totals.tau_draft is None:
        return wait(case.target, "a count of the steps without a draft (/slots, --trace auto, or the log)")
    if not plain or not case.holds(totals.tau_draft / totals.tau, raise_at=MISLEADS, clear_at=HARDLY):
        return ()
    return (
        RULE.found(
            case,
            f"mean length {totals.tau_draft:.2f} counts only cycles with a draft: {totals.tau:.2f} over all steps",
            (
                ("mean length", f"{totals.tau_draft:.2f} tokens over {cycles:,} cycles with a draft"),
                ("tau", f"{totals.tau:.2f} tokens over {cycles + plain:,} steps"),
                ("steps with a draft", f"{cycles / (cycles + plain):.0%}"),
            ),
            f"judge by tau and tok/s, not by the log's mean len; {_more_drafts(case.target.config.types or ())}",
            link=SPECULATION,
        ),
    )


def _more_drafts(types: Sequence[str]) -> str:
    """What makes steps without a draft fewer."""
    if any(method.startswith("ngram") for method in types):
        return "a drafter behind the tables (--spec-type) drafts in the steps in which they find nothing"
    return "the steps without a draft are the ends of answers, and where --spec-draft-p-min stops the drafter"


RULE = Rule("SPC120", "mean_length_misleads", "info", look)
