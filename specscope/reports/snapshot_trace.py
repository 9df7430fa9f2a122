"""The snapshot's parts that tell of turns, copies, the backend path and stalls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specscope.session.state import Target
    from specscope.session.turn_state import Anatomy, BackendPath, CopyRow, SavedRow, Stalls, TraceView

Json = dict[str, Any]


def trace_json(target: Target) -> Json:
    """``anatomy_ms``, ``copies``, ``saved``, ``backend_path``, ``stalls``, ``trace``; null where nothing is known.

    ``saved``: what is copied in no turn, as a slot's state to the prompt cache, in the turns looked at.
    """
    return {
        "anatomy_ms": _anatomy(target.anatomy, target.stalls),
        "copies": [_copy(row, _cycles_per_turn(target.anatomy)) for row in target.copies] or None,
        "saved": [_saved(row) for row in target.saved] or None,
        "backend_path": _path(target.backend_path),
        "stalls": _stalls(target.stalls),
        "trace": _trace(target.trace),
    }


def _anatomy(anatomy: Anatomy | None, stalls: Stalls | None) -> Json | None:
    """Means per turn in milliseconds.

    ``verify`` is the time waited for the target's forward. ``sync`` is all waiting for the device, the drafter's
    too, as the bursts saw it: it lies across the other parts and is no part of their sum. ``copies`` are queued on
    the device and waited for with the rest, so that no time of theirs is seen.
    """
    if anatomy is None:
        return None
    parts = anatomy.parts
    return {
        "draft": parts.draft_ms,
        "submit": parts.submit_ms,
        "verify": parts.wait_ms,
        "features": parts.features_ms,
        "sampling": parts.sampling_ms,
        "copies": None,
        "sync": stalls.waiting * parts.whole_ms if stalls is not None and anatomy.turns else None,
        "other": parts.other_ms,
        "whole": parts.whole_ms,
        "turns": anatomy.turns or None,
        "cycles": anatomy.cycles,
        "evidence": anatomy.evidence,
        "basis": anatomy.basis,
        "draft_sampling": parts.draft_sampling_ms,
    }


def _cycles_per_turn(anatomy: Anatomy | None) -> float:
    """One turn serves a cycle of each busy slot; on a server that does not draft a plain step counts as one."""
    return anatomy.cycles / anatomy.turns if anatomy is not None and anatomy.turns and anatomy.cycles else 1.0


def _copy(row: CopyRow, cycles_per_turn: float) -> Json:
    return {
        "owner": row.owner,
        "bytes": row.bytes_each,
        "per_cycle": row.per_turn / cycles_per_turn,
        "meaning": row.meaning or None,
    }


def _saved(row: SavedRow) -> Json:
    return {"bytes": row.bytes_each, "copies": row.copies, "meaning": row.meaning or None}


def _path(path: BackendPath) -> Json | None:
    if path.evidence == "unknown" and not (path.draft_why or path.target_why):
        return None
    return {
        "draft": path.draft,
        "target": path.target,
        "evidence": path.evidence,
        "draft_why": path.draft_why or None,
        "target_why": path.target_why or None,
    }


def _stalls(stalls: Stalls | None) -> Json | None:
    if stalls is None:
        return None
    return {
        "waiting_pct": 100 * stalls.waiting,
        "idle_pct": 100 * stalls.idle,
        "burst_s": stalls.burst_s,
        "every_s": stalls.every_s,
        "bursts": len(stalls.bursts),
    }


def _trace(trace: TraceView | None) -> Json | None:
    return None if trace is None else {"mode": trace.mode, "missing": list(trace.missing)}
