"""What pictures of the economics depend on, as values: the session makes the state anew for every view of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specscope.views.frame import Frame


def economics_key(frame: Frame) -> object:
    """All that is told of the economics."""
    if frame.target is None:
        return None
    e = frame.target.economics
    return (
        frame.target.id,
        (e.n_max, e.slots, e.depth, e.cycles, e.timed, e.kernel_step, e.collecting, e.basis, e.assumes),
        (e.cycle_ms, e.tau, e.break_even_tau, e.speedup, e.speedup_at_least, e.bound_share, e.floor_ms),
        (e.plain, e.costs, e.curve, e.drafting),
        (e.best_n_max, e.gain_pct, e.sure, e.hidden, e.try_next, e.tau_at_most),
    )


def regimes_key(frame: Frame) -> object:
    """All that is told of the regimes; the session makes them anew only when a request or plain time has changed."""
    return None if frame.target is None else (frame.target.id, frame.target.regimes)


def prefill_key(frame: Frame) -> object:
    """All that is told of prompts."""
    p = frame.target.prefill if frame.target is not None else None
    if p is None:
        return None
    counts = (p.requests, p.tokens, p.cached_tokens, p.tok_s, p.ttft_ms, p.ttft_p95_ms)
    return counts, p.drafter_ms, p.pays_back_tokens, p.basis
