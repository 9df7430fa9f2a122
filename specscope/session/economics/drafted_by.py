"""How each drafting method works, as far as its cost depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.economics.method_book import TABLE
from specscope.session.economics.state import Drafting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.economics.state import DraftedBy
    from specscope.session.turn_state import Anatomy

BLOCK_DRAFTERS: Final = frozenset({"draft-dflash", "draft-dspark"})
"""Methods that draft a whole trained block in one pass (llama.cpp common/speculative.cpp, b11434)."""

ONE_PASS_EACH: Final = ("draft-simple", "draft-mtp", "draft-eagle3")
"""Methods that pay a forward of the drafter for each drafted token (llama.cpp common/speculative.cpp, b11434)."""

STOPS: Final = frozenset({"draft-simple"})
"""Drafters that stop at the width that is wanted (llama.cpp common/speculative.cpp, b11434: ``dp.n_max`` in the loop
of that one alone); all others draft as much as ever, and the server cuts it."""


def drafted_by(types: Sequence[str]) -> DraftedBy:
    """How the drafter's cost grows with width."""
    kinds: set[DraftedBy] = {_of(name) for name in types}
    return next(iter(kinds)) if len(kinds) == 1 else "unknown"


def drafting_of(types: Sequence[str], anatomy: Anatomy | None, draft_ms: float | None, width: int) -> Drafting | None:
    """What methods that draft so wide take of a turn, the features they are fed with included; None without one."""
    if not types:
        return None
    by = drafted_by(types)
    if anatomy is None or draft_ms is None:
        return Drafting(by)
    ms, whole = draft_ms + (anatomy.parts.features_ms or 0.0), anatomy.parts.whole_ms
    return Drafting(by, ms, width or None, ms / whole if whole else None, anatomy.basis)


def stops(types: Sequence[str]) -> bool:
    """Whether a draft that is cut was drafted no wider."""
    return bool(types) and STOPS.issuperset(types)


def feeds(types: Sequence[str] | None, *, drafts: bool) -> bool:
    """Whether a drafter is fed what the target computes, in steps without a draft as well; tables are not.

    ``drafts``: whether any draft was seen, where the methods are not known.
    """
    return drafts if types is None else any(_of(name) != "table" for name in types)


def widest_draft(types: Sequence[str], limit: int | None, seen: int, today: int) -> int:
    """The widest draft that could be asked for: the trained block's; of other methods, twice today's is judged."""
    widest = max(seen, today)
    if limit is not None:
        return max(widest, limit)
    if BLOCK_DRAFTERS.intersection(types):
        return widest
    return max(widest, 2 * today) if types else widest


def _of(method: str) -> DraftedBy:
    if method in BLOCK_DRAFTERS:
        return "block"
    if method.startswith(TABLE):
        return "table"
    return "token" if method in ONE_PASS_EACH else "unknown"
