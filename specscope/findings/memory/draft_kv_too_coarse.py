"""The drafter's KV cache is stored in 4 bits, and its drafts are often rejected.

Looks at: the types of the drafter's caches (flags, the log at -lv 4), the acceptance rate and that of the first draft
position, and what the cache takes.

Why it matters: a drafter that reads its own past through 4 bits predicts worse. In a public report acceptance was 0.37
with ``-ctkd q4_0 -ctvd q4_0`` and about double with q5_1 or q8_0 (llama.cpp issue 15039). A drafter has few layers, so
that there is little to save: 32 MiB between f16 and q4 in a published 262,144-token setup.

What to do: store it in q8_0 or f16 and compare the acceptance.

Evidence: a 4-bit type, and less than half of 200 or more draft tokens accepted in 50 or more cycles (below that, the
rate is chance). It is a warning where already the first position fails in 30 % or more of the cycles; where it holds,
the drafts may only be too wide, and it is information.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.as_written import as_written
from specscope.findings.rule import Rule
from specscope.findings.unjudged import COMMAND_LINE, TABLES_ALONE, no_method, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

LINK: Final = "https://github.com/ggml-org/llama.cpp/issues/15039"
COARSE: Final = frozenset({"q4_0", "q4_1", "iq4_nl"})

LOW: Final = 0.5
NOT_LOW: Final = 0.55
"""Above it, a raised finding is cleared."""

HOLDS: Final = 0.7
"""Of the cycles, those whose first draft token is accepted where drafter and target fit each other."""

LEAST_CYCLES: Final = 50
LEAST_DRAFTED: Final = 200

CACHES: Final = (
    ("type_k", "draft_cache_type_k", "--spec-draft-type-k"),
    ("type_v", "draft_cache_type_v", "--spec-draft-type-v"),
)
"""As the log, the flags' fields and the flags themselves call them."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target, totals = case.target, case.target.totals
    coarse = _coarse(target)
    if not any(t.startswith("draft-") for t in target.config.types or ()):
        return no_method(target) or TABLES_ALONE
    if not coarse:
        known = target.flags is not None or "draft_kv_cache" in target.log_said
        return () if known else wait(target, COMMAND_LINE)
    if totals.acceptance is None or (totals.cycles or 0) < LEAST_CYCLES or (totals.drafted or 0) < LEAST_DRAFTED:
        return wait(target, f"{LEAST_CYCLES} cycles with {LEAST_DRAFTED} draft tokens ({totals.cycles or 0} so far)")
    if not case.holds(totals.acceptance, raise_at=LOW, clear_at=NOT_LOW):
        return ()
    first = totals.survival[0].share if totals.survival else None
    evidence = [
        ("drafter's cache", ", ".join(f"{kind} ({name})" for name, kind in coarse.items())),
        ("acceptance", f"{totals.acceptance:.1%} of {totals.drafted:,} draft tokens"),
    ]
    if first is not None:
        evidence.append(("first position accepted", f"{first:.0%} of {totals.cycles:,} cycles"))
    size = _bytes(target)
    if size is not None:
        evidence.append(("it takes", f"{size / 2**20:,.0f} MiB"))
    finer = " ".join(as_written(target, field, flag, "q8_0") for _, field, flag in CACHES if flag in coarse)
    return (
        RULE.found(
            case,
            f"the drafter's KV cache has 4 bits, and {1 - totals.acceptance:.0%} of its tokens are rejected",
            tuple(evidence),
            f"try {finer} (or f16) and compare the acceptance: the cache is small",
            severity="info" if first is not None and first >= HOLDS else None,
            link=LINK,
        ),
    )


def _coarse(target: Target) -> dict[str, str]:
    """The 4-bit types in force, by the flag that sets them."""
    said, found = target.log_said.get("draft_kv_cache", {}), dict[str, str]()
    for logged, field, flag in CACHES:
        given = getattr(target.flags, field) if target.flags is not None else None
        kind = said.get(logged, given)
        if isinstance(kind, str) and kind.lower() in COARSE:
            found[flag] = kind.lower()
    return found


def _bytes(target: Target) -> int | None:
    maps = [told for told in (target.memory.device, target.memory.host) if told is not None]
    return next((part.bytes for told in maps for part in told.parts if part.name == "drafter KV"), None)


RULE = Rule("SPC408", "draft_kv_too_coarse", "warning", look)
