"""Tokens that a server generated without ever making a draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specscope.session.state import Target


def has_drafted(target: Target) -> bool:
    """Whether it is known to have made a draft."""
    since = target.referee.since_start
    return bool(target.totals.cycles or target.totals.drafted or (since is not None and since.drafts))


def undrafted_tokens(target: Target) -> int | None:
    """How many, if it has never drafted; None: it has, or nothing counts drafts here.

    By the server's own totals, which count from its start; without them, by a log or a trace that shows each cycle.
    """
    since = target.referee.since_start
    if since is not None and since.drafts is not None:
        return since.generated if not since.drafts and not target.totals.drafted else None
    if target.tier in ("cycles", "trace") and not target.totals.cycles:
        return target.totals.generated or 0
    return None
