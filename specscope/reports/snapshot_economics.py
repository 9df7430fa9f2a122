"""The snapshot's parts that tell whether speculation pays: economics, regimes, prefill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specscope.session.economics.method_state import MethodRow
    from specscope.session.economics.state import CostPoint, Economics, Prefill, Regime, Span, WidthPoint
    from specscope.session.state import Target

Json = dict[str, Any]


def regimes_json(target: Target) -> list[Json] | None:
    """All requests, then the kinds of them; null before one has ended."""
    return [_regime(r) for r in target.regimes] or None


def methods_json(target: Target) -> list[Json] | None:
    """The drafting methods in the order of asking; null where neither a trace nor the log's statistics tell them."""
    return [_method(row) for row in target.by_method] or None


def _method(row: MethodRow) -> Json:
    return {
        "method": row.name,
        "cycles": row.cycles,
        "drafted_tokens": row.drafted,
        "accepted_tokens": row.accepted,
        "acceptance": row.acceptance,
        "tau_draft": row.tau_draft,
        "tau_draft_interval": _ends(row.tau),
        "calls_since_start": row.calls,
        "drafts_since_start": row.drafts,
        "draft_ms": row.draft_ms,
        "cycle_ms": _value(row.cycle_ms),
        "cycle_ms_interval": _ends(row.cycle_ms),
        "tok_s": _value(row.tok_s),
        "tok_s_interval": _ends(row.tok_s),
        "without_tok_s": _value(row.without_tok_s),
        "without_tok_s_interval": _ends(row.without_tok_s),
        "gain_pct": _value(row.gain_pct),
        "gain_interval_pct": _ends(row.gain_pct),
        "gain_at_most_pct": row.gain_at_most_pct,
        "share_time": row.share_time,
        "server_gain_pct": _value(row.server_gain_pct),
        "server_gain_interval_pct": _ends(row.server_gain_pct),
        "basis": row.basis or None,
        "collecting": row.collecting or None,
        "evidence": row.evidence,
    }


def _value(span: Span | None) -> float | None:
    return None if span is None else span.value


def throughput_json(target: Target) -> Json:
    """What ``throughput`` has beside the rates: prefill speed, plain decoding, speedup and its basis."""
    economics, plain = target.economics, target.economics.plain
    return {
        "prefill_tok_s": target.prefill.tok_s if target.prefill is not None else None,
        "plain_tok_s": 1000 / plain.ms if plain is not None else None,
        "speedup": economics.speedup.value if economics.speedup is not None else None,
        "speedup_low": economics.speedup.low if economics.speedup is not None else None,
        "speedup_high": economics.speedup.high if economics.speedup is not None else None,
        "speedup_at_least": economics.speedup_at_least,
        "speedup_at_most": economics.speedup_at_most,
        "basis": plain.basis if plain is not None else None,
    }


def economics_json(e: Economics) -> Json | None:
    """Null where nothing is known.

    Times are of one slot's step, at ``depth_tokens`` and with ``slots`` at work; intervals are at 95 %.
    """
    if not e.cycles and e.plain is None and e.floor_ms is None:
        return None
    plain, gain = e.plain, e.gain_pct
    return {
        "plain_ms": plain.ms if plain is not None else None,
        "plain_how": plain.how if plain is not None else None,
        "plain_interval_ms": [plain.low, plain.high] if plain is not None else None,
        "plain_floor_ms": e.floor_ms,
        "bandwidth_share": e.bound_share,
        "break_even_tau": e.break_even_tau.value if e.break_even_tau is not None else None,
        "break_even_interval": _ends(e.break_even_tau),
        "tau": e.tau.value if e.tau is not None else None,
        "tau_interval": _ends(e.tau),
        "cycle_ms": e.cycle_ms.value if e.cycle_ms is not None else None,
        "n_max": e.n_max,
        "slots": e.slots,
        "depth_tokens": e.depth,
        "cycles": e.cycles,
        "cycles_timed": e.timed,
        "costs": [_cost(p) for p in e.costs],
        "drafter": None
        if e.drafting is None
        else {"by": e.drafting.by, "ms": e.drafting.ms, "share": e.drafting.share, "basis": e.drafting.basis or None},
        "width_curve": [_point(p) for p in e.curve],
        "best_n_max": e.best_n_max,
        "gain_pct": gain.value if gain is not None else None,
        "interval_pct": _ends(gain),
        "sure": e.sure if e.best_n_max is not None else None,
        "hidden_by_width": e.hidden,
        "tau_at_most": e.tau_at_most,
        "basis": e.basis or None,
        "assumes": list(e.assumes),
        "try_next": None if e.try_next is None else {"n_max": e.try_next.n_max, "why": e.try_next.why},
        "collecting": e.collecting or None,
    }


def _ends(span: Span | None) -> list[float] | None:
    return None if span is None else [span.low, span.high]


def _cost(point: CostPoint) -> Json:
    return {
        "width": point.width,
        "ms": point.ms,
        "low": point.low,
        "high": point.high,
        "cycles": point.cycles,
        "evidence": point.how,
    }


def _point(point: WidthPoint) -> Json:
    speed, tau = point.tok_s, point.tau
    return {
        "n_max": point.n_max,
        "tok_s": speed.value if speed is not None else None,
        "low": speed.low if speed is not None else None,
        "high": speed.high if speed is not None else None,
        "tau": tau.value if tau is not None else None,
        "tau_low": tau.low if tau is not None else None,
        "tau_high": tau.high if tau is not None else None,
        "cycles": point.cycles,
        "evidence": point.how,
    }


def _regime(row: Regime) -> Json:
    return {
        "name": row.name,
        "how": row.how,
        "requests": row.requests,
        "generated_tokens": row.tokens,
        "share_tokens": row.share_tokens,
        "decode_s": row.time_s,
        "share_time": row.share_time,
        "tau": row.tau,
        "tau_se": row.tau_se,
        "tau_draft": row.tau_draft,
        "acceptance": row.acceptance,
        "drafted_share": row.drafted_share,
        "tok_s": row.tok_s,
        "speedup": row.speedup,
    }


def prefill_json(p: Prefill | None) -> Json | None:
    """Prompts apart from decoding."""
    if p is None:
        return None
    return {
        "requests": p.requests,
        "prompt_tokens": p.tokens,
        "cached_tokens": p.cached_tokens,
        "cache_share": p.cache_share,
        "tok_s": p.tok_s,
        "ttft_ms": {"p50": p.ttft_ms, "p95": p.ttft_p95_ms},
        "drafter_ms": p.drafter_ms,
        "drafter_share": p.drafter_share,
        "pays_back_tokens": p.pays_back_tokens,
        "basis": p.basis or None,
    }
