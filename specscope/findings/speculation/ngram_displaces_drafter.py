"""An n-gram table drafts where the drafter would have done better.

Looks at: what each method's cycles yield and take, where a trace tells them apart; else the counts of the log's
statistics (``-lv 4``).

Why it matters: the server asks its n-gram tables before any drafter, whatever the order of ``--spec-type``, and takes
the first draft. A table drafts up to 48 or 64 tokens: a miss costs the verification of that many rows, and the
drafter's few good tokens are not drafted. One report has 3.8 % accepted and 78 % of the speed lost that way.

What to do: take the table out of ``--spec-type``, or let it draft less (``--spec-ngram-mod-n-max``,
``--spec-ngram-map-k4v-size-m`` and their like).

Evidence: as a warning, the table's cycles are slower than those of what comes after it, by their whole 95 % interval
(1 % to be raised); the cost is what it adds to a mean cycle. By counts alone, as information: with 50 cycles of each
the table drafts more and yields under 0.8 of the drafter's tokens a cycle (cleared at 0.9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.dialect import flag_of
from specscope.findings.drafting import SPECULATION, has_drafter, has_tables
from specscope.findings.methods import displaced_ms, lost_pct, method_words
from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.findings.unjudged import no_method, wait
from specscope.flags.rewrite import WIDTH_FLAGS
from specscope.session.economics.method_book import TABLE

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.economics.method_state import MethodRow
    from specscope.session.state import Target

MIN_CYCLES: Final = 50
"""A mean length is then known to a seventh."""

FEWER: Final = 0.8
NEARLY: Final = 0.9

NARROW: Final = 8
"""Tokens that a table may draft at most: as few rows as the mat-vec kernels take."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    tables = [row for row in target.by_method if row.name.startswith(TABLE)]
    drafters = [row for row in target.by_method if not row.name.startswith(TABLE)]
    if not has_drafter(target) or not has_tables(target):
        return no_method(target) or Inapplicable("no n-gram table drafts beside a drafter")
    if not tables or not drafters:
        return wait(target, "the cycles of each method (--trace auto, as root, or -lv 4)")
    drafter = max(drafters, key=lambda row: row.cycles or 0)
    found = [_found(case, row, drafter) for row in tables if lost_pct(case, row, row.name)]
    found += [_found(case, row, drafter) for row in tables if row.gain_pct is None and _fewer(case, row, drafter)]
    if found or all(row.gain_pct is not None for row in tables):
        return tuple(found)
    short = [row for row in (*tables, drafter) if (row.cycles or 0) < MIN_CYCLES]
    return Collecting(f"{MIN_CYCLES} cycles of {short[0].name} ({short[0].cycles or 0} so far)") if short else ()


def _fewer(case: Case, row: MethodRow, drafter: MethodRow) -> bool:
    """Whether the counts alone say so: more is drafted for fewer tokens."""
    if min(row.cycles or 0, drafter.cycles or 0) < MIN_CYCLES or row.tau_draft is None or drafter.tau_draft is None:
        return False
    wider = row.drafted / (row.cycles or 1) > drafter.drafted / (drafter.cycles or 1)
    return wider and case.holds(row.tau_draft / drafter.tau_draft, raise_at=FEWER, clear_at=NEARLY, part=row.name)


def _found(case: Case, row: MethodRow, drafter: MethodRow) -> Finding:
    target, gain = case.target, row.gain_pct
    summary = f"drafts of {row.name} yield {row.tau_draft or 0.0:.1f} tokens a cycle, {drafter.name}'s "
    summary += f"{drafter.tau_draft or 0.0:.1f}" + (f": {gain.value:.0f} % speed" if gain is not None else "")
    return RULE.found(
        case,
        summary,
        (
            (row.name, method_words(row)),
            (drafter.name, method_words(drafter)),
            *((("cost", "not measured: a trace tells what the cycles take (--trace auto)"),) if gain is None else ()),
        ),
        _advice(target, row),
        part=row.name,
        severity="info" if gain is None else "warning",
        link=SPECULATION,
        cost_ms=displaced_ms(target, row) if gain is not None else None,
    )


def _advice(target: Target, row: MethodRow) -> str:
    narrower = WIDTH_FLAGS.get(row.name)
    less = f", or let it draft less ({flag_of(target, narrower)} {NARROW})" if narrower is not None else ""
    return f"take {row.name} out of --spec-type{less}"


RULE = Rule("SPC126", "ngram_displaces_drafter", "warning", look)
