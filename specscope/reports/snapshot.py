"""The JSON snapshot, schema version 1.

It grows only by addition; numbers carry their unit in the key; null is unknown.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from specscope import __version__
from specscope.reports.findings_json import diagnosis_json
from specscope.reports.snapshot_config import config_json, sampling_json
from specscope.reports.snapshot_economics import (
    economics_json,
    methods_json,
    prefill_json,
    regimes_json,
    throughput_json,
)
from specscope.reports.snapshot_gpu import energy_json, gpus_json, kv_json, memory_json, memory_map_json
from specscope.reports.snapshot_trace import trace_json
from specscope.reports.stacks import stacks_json

if TYPE_CHECKING:
    from specscope.events import ModelRead
    from specscope.findings.diagnosis import Diagnosis
    from specscope.session.referee_state import Referee
    from specscope.session.request_state import RequestRow
    from specscope.session.state import Session, SourceView, Target

SCHEMA_VERSION: Final = 1

Json = dict[str, Any]


def snapshot(session: Session, diagnosis: Diagnosis, target_id: str = "t0") -> Json:
    """The state of one target.

    Raises:
        KeyError: there is no such target.
    """
    target = next((t for t in session.targets if t.id == target_id), None)
    if target is None:
        raise KeyError(target_id)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": __version__,
        "at": datetime.fromtimestamp(session.at, UTC).isoformat(timespec="milliseconds"),
        "target": target_json(target),
        "model": {role: _model(target.models.get(role)) for role in ("target", "drafter", "projector")},
        "speculation": _speculation(target),
        "requests": [_request(r) for r in target.requests],
        "throughput": _throughput(target),
        "economics": economics_json(target.economics),
        **trace_json(target),
        "stacks": stacks_json(target.stacks),
        "kv": kv_json(target),
        "gpu": gpus_json(session, target),
        "energy": energy_json(target),
        "memory_map": memory_map_json(target),
        "memory": memory_json(target),
        "sampling": sampling_json(target),
        "config": config_json(target),
        **diagnosis_json(diagnosis.of(target.id)),
        "regimes": regimes_json(target),
        "prefill": prefill_json(target.prefill),
        "marks": [{"at": at, "label": label} for at, label in session.marks],
        "epochs": {"current": target.epoch, "restarts_at": list(target.restarts)},
        "sources": [*_sources(target.sources), *_sources(session.machine.sources)],
        "overhead": msgspec.to_builtins(_overhead(session)),
    }


def encode(value: Json) -> str:
    """The snapshot as indented JSON text."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def target_json(target: Target) -> Json:
    """Which server this is, and how it is."""
    return {
        "id": target.id,
        "url": target.url,
        "pid": target.pid,
        "kind": target.kind,
        "build": target.props.build if target.props else None,
        "state": target.server,
        "state_detail": target.server_detail,
        "evidence": target.tier,
    }


def _model(model: ModelRead | None) -> Json | None:
    if model is None:
        return None
    kept = (
        "path",
        "name",
        "arch",
        "file_bytes",
        "tensor_types",
        "n_vocab",
        "n_embd",
        "n_layer",
        "n_ctx_train",
        "block_size",
    )
    return {key: getattr(model, key) for key in kept}


def _speculation(target: Target) -> Json:
    totals, config = target.totals, target.config
    referee = target.referee
    return {
        "types": None if config.types is None else list(config.types),
        "types_from": config.types_from,
        "n_max_requested": config.n_max_requested,
        "n_max_effective": config.n_max_effective,
        "cycles": totals.cycles,
        "plain_steps": totals.plain_steps,
        "generated_tokens": totals.generated,
        "referee": _referee(referee, polled=totals.evidence == "counted"),
        "by_method": methods_json(target),
        "by_slot": [
            {"slot": s.id, "cycles": s.tally_cycles, "steps": s.tally_steps, "tau": s.tau}
            for s in target.slots
            if s.tally_steps
        ],
        "drafted_tokens": totals.drafted,
        "accepted_tokens": totals.accepted,
        "width_mean": totals.width_mean,
        "width_max": totals.width_max,
        "accepted_mean": totals.accepted / totals.cycles if totals.accepted is not None and totals.cycles else None,
        "acceptance": totals.acceptance,
        "tau": totals.tau,
        "tau_draft": totals.tau_draft,
        "per_position": [
            {"position": i, "share": p.share, "among_wide": p.among_wide} for i, p in enumerate(totals.survival)
        ],
        "accepted_histogram": list(totals.histogram),
        "by_width": [{"width": w, "accepted": a, "cycles": n} for w, a, n in totals.joint if w >= 0],
        "cycle_ms": {"p50": target.rates.cycle_ms, "p95": target.rates.cycle_ms_p95},
        "evidence": target.evidence,
        "cycle_evidence": target.cycle_evidence,
        "cycle_completeness": _completeness(target),
        "polls_per_cycle": target.poll.per_step,
    }


def _completeness(target: Target) -> float | None:
    """Share of the server's cycles that were captured; by polling, of the steps that its counters tell."""
    if target.poll.completeness is not None:
        return target.poll.completeness
    count = target.referee.count
    return count.captured_cycles / count.cycles if count is not None and count.cycles else None


def _referee(referee: Referee, *, polled: bool) -> Json:
    count = referee.count
    return {
        "cycles": count.cycles if count else None,
        "drafted_tokens": count.drafted if count else None,
        "accepted_tokens": count.accepted if count else None,
        "captured_cycles": count.captured_cycles if count else None,
        "captured_drafted_tokens": count.captured_drafted if count else None,
        "captured_accepted_tokens": count.captured_accepted if count else None,
        "agrees": count.agrees if count and not polled else None,
        "requests_checked": referee.requests_checked,
        "requests_parted": referee.requests_parted,
        "missed": referee.missed,
        "waiting": referee.waiting or None,
    }


def _request(row: RequestRow) -> Json:
    return {
        "slot": row.slot,
        "task": row.task,
        "label": row.label,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "prompt_tokens": row.prompt_tokens,
        "cached_tokens": row.cached_tokens,
        "generated_tokens": row.generated,
        "ttft_ms": row.ttft_ms,
        "tok_s": row.tok_s,
        "cycles": row.cycles,
        "drafted_tokens": row.drafted,
        "accepted_tokens": row.accepted,
        "tau": row.tau,
        "stop": row.stop,
        "seen_whole": row.whole,
        "agrees": row.agrees,
        "seen_by": row.seen_by,
    }


def _throughput(target: Target) -> Json:
    rates = target.rates
    return {
        "decode_tok_s": rates.tok_s,
        "tau": rates.tau,
        "busy_slots": rates.busy_slots,
        "window_s": rates.span_s or None,
        **throughput_json(target),
    }


def _sources(sources: tuple[SourceView, ...]) -> list[Json]:
    return [
        {
            "name": s.name,
            "state": s.state,
            "tier": s.tier,
            "detail": s.detail,
            "hint": s.hint or None,
            "lost_events": s.missed,
        }
        for s in sources
    ]


def _overhead(session: Session) -> Json:
    cost = session.own_cost
    return {"cpu_pct": cost.cpu_pct, "rss_bytes": cost.rss_bytes, "requests_per_s": cost.requests_per_s}
