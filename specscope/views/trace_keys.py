"""What pictures of a trace depend on, as values: the session makes the state anew for every view of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specscope.session.state import Target
    from specscope.session.turn_state import Anatomy, BackendPath, Stalls


def traced_key(target: Target) -> object:
    """All that a trace tells but its sources."""
    return (
        target.id,
        target.epoch,
        _anatomy_key(target.anatomy),
        _stalls_key(target.stalls),
        copies_key(target),
        path_key(target.backend_path),
    )


def copies_key(target: Target) -> object:
    """The copies."""
    in_turns = tuple((c.owner, c.bytes_each, c.per_turn, c.meaning) for c in target.copies)
    return in_turns, tuple((c.bytes_each, c.copies, c.meaning) for c in target.saved)


def path_key(path: BackendPath) -> object:
    """Where tokens are chosen, and why."""
    return path.draft, path.target, path.draft_why, path.target_why, path.evidence


def _anatomy_key(anatomy: Anatomy | None) -> object:
    """Turns only come: their number, their time and the last second tell whether the means can have changed."""
    if anatomy is None:
        return None
    last = anatomy.seconds[-1][:2] if anatomy.seconds else None
    means = (anatomy.parts.whole_ms, anatomy.parts.draft_ms, anatomy.parts.wait_ms)
    return anatomy.evidence, anatomy.basis, anatomy.turns, anatomy.span_s, len(anatomy.seconds), last, means


def _stalls_key(stalls: Stalls | None) -> object:
    if stalls is None or not stalls.bursts:
        return None
    return len(stalls.bursts), stalls.bursts[-1].at, stalls.burst_s, stalls.every_s
