"""Two n-gram tables are on: the first that finds something drafts, and the others are not asked.

Looks at: the methods in force, and what each table drafted and gained, where a trace or the log's statistics
(``-lv 4``) tell them apart.

Why it matters: the server asks its tables in a fixed order (simple, map-k, map-k4v, mod, cache), whatever the order
of ``--spec-type``, and takes the first draft. A table that finds often but poorly keeps a better one from drafting.
A published server ran at 4.68 times plain speed with ``ngram-map-k4v``, and at 3.77 with two tables.

What to do: keep the table that gains most in ``--spec-type``, and compare.

Evidence: as a warning, a table's cycles are slower than what the server does without it, by their whole 95 %
interval (1 % to be raised), while a later table drafts; the cost is what it adds to a mean cycle. As information,
two tables of which nothing is measured yet, or one that has drafted nothing beside 50 drafts of the others. No
finding where each table is measured to gain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import SPECULATION, has_drafter
from specscope.findings.methods import displaced_ms, lost_pct, method_words
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import no_method
from specscope.session.economics.method_book import TABLE
from specscope.session.economics.methods import asked

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.economics.method_state import MethodRow

MIN_DRAFTS: Final = 50
"""Of all tables together, before one that has drafted nothing is said to be in the shadow of the others."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    tables = sorted({name for name in target.config.types or () if name.startswith(TABLE)}, key=asked)
    if len(tables) < 2:  # noqa: PLR2004  one has nothing to compete with
        return no_method(target) or Inapplicable("there are no two n-gram tables in force")
    rows = [row for row in target.by_method if row.name in tables]
    if not has_drafter(target):  # else it is the drafter that a table is set against
        losing = next((r for i, r in enumerate(rows) if _drafted(rows[i + 1 :]) and lost_pct(case, r)), None)
        if losing is not None:
            return _found(case, tables, rows, f"{losing.name} is slower than what it keeps from drafting", losing)
    if len(rows) == len(tables) and all(row.gain_pct is not None and row.gain_pct.low > 0 for row in rows):
        return ()
    idle = [row.name for row in rows if row.cycles == 0]
    if idle and _drafted(rows) >= MIN_DRAFTS:
        return _found(case, tables, rows, f"{' and '.join(idle)} has drafted nothing: the other tables find first")
    return _found(case, tables, rows, f"{' and '.join(tables)} compete: only the first that finds something drafts")


def _drafted(rows: list[MethodRow]) -> int:
    return sum(row.cycles or 0 for row in rows)


def _found(case: Case, tables: list[str], rows: list[MethodRow], summary: str, losing: MethodRow | None = None) -> Seen:
    each = [(row.name, method_words(row)) for row in rows] or [("what each gains", "not measured here (--trace auto)")]
    keep = [row for row in rows if row is not losing and row.cycles]
    best = max(keep, key=lambda row: row.cycles or 0).name if keep and (losing or rows) else "the one that gains most"
    return (
        RULE.found(
            case,
            summary,
            (("asked in this order", ", ".join(tables)), *each),
            f"keep one table in --spec-type ({best}), and compare",
            severity="warning" if losing is not None else "info",
            settled=losing is None and not rows,
            link=SPECULATION,
            cost_ms=displaced_ms(case.target, losing) if losing is not None else None,
        ),
    )


RULE = Rule("SPC125", "ngram_tables_compete", "warning", look)
