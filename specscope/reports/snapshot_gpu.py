"""The parts of the JSON snapshot about GPUs, memory and the KV cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specscope.events import Json
    from specscope.session.gpu_state import Gpu
    from specscope.session.memory.map_state import MemoryMap
    from specscope.session.state import Session, Target


def gpus_json(session: Session, target: Target) -> list[Json] | None:
    """The machine's devices; ``used_by_server`` says how it is known that this server uses one, None: it is not.

    None where nothing tells of devices at all.
    """
    if not session.machine.gpus:
        return None
    uses = {use.gpu.index: use for use in target.gpus}
    energy = target.energy
    alone = len(uses) == 1 and len(session.machine.gpus) == 1
    return [
        {
            **_device(gpu),
            "used_by_server": uses[gpu.index].how if gpu.index in uses else None,
            "process_memory_bytes": uses[gpu.index].process_bytes if gpu.index in uses else None,
            "energy_j_per_token": uses[gpu.index].j_per_token if gpu.index in uses else None,
            "energy_j_per_accepted_token": energy.j_per_accepted if energy is not None and alone else None,
        }
        for gpu in session.machine.gpus
    ]


def _device(gpu: Gpu) -> dict[str, Json]:
    found, now, memory, link = gpu.found, gpu.now, gpu.memory, gpu.link
    return {
        "index": gpu.index,
        "uuid": found.uuid,
        "name": found.name,
        "driver": found.driver,
        "lost": gpu.lost,
        "memory_used_bytes": memory.used_bytes if memory is not None else None,
        "memory_free_bytes": memory.free_bytes if memory is not None else None,
        "memory_total_bytes": found.memory_bytes,
        "memory_reserved_bytes": found.reserved_bytes,
        "unified_memory": found.unified,
        "power_w": now.power_w if now is not None else None,
        "power_limit_w": found.power_limit_w,
        "power_busy_w": gpu.power_w,
        "temperature_c": memory.temperature_c if memory is not None else None,
        "slowdown_c": found.slowdown_c,
        "utilization_pct": now.busy_pct if now is not None else None,
        "utilization_busy_pct": gpu.busy_pct,
        "sm_clock_mhz": now.sm_clock_mhz if now is not None else None,
        "sm_clock_busy_mhz": gpu.sm_clock_mhz,
        "sm_clock_max_mhz": found.sm_clock_max_mhz,
        "memory_clock_mhz": memory.memory_clock_mhz if memory is not None else None,
        "limits": [
            {"name": limit.name, "busy_share": limit.share, "sm_clock_mhz": limit.sm_clock_mhz, "now": limit.now}
            for limit in gpu.limits
        ]
        if gpu.reasons_known
        else None,
        "judged_s": gpu.judged_s,
        "pcie_tx_bytes_per_s": link.to_host_bytes_per_s if link is not None else None,
        "pcie_rx_bytes_per_s": link.to_device_bytes_per_s if link is not None else None,
        "pcie_gen": link.link_gen if link is not None else None,
        "pcie_gen_max": found.link_gen_max,
        "pcie_width": link.link_width if link is not None else None,
        "pcie_width_max": found.link_width_max,
        "mig": found.mig,
        "virtual": found.virtual,
    }


def energy_json(target: Target) -> Json | None:
    """Energy of the devices that the server uses, while it worked."""
    energy = target.energy
    if energy is None:
        return None
    return {
        "decode_j": energy.decode_j,
        "prefill_j": energy.prefill_j,
        "generated_tokens": energy.tokens,
        "accepted_tokens": energy.accepted,
        "j_per_token": energy.j_per_token,
        "j_per_accepted_token": energy.j_per_accepted,
        "live_j_per_token": energy.live_j_per_token,
        "rejected_share": energy.rejected_share,
        "rejected_j_per_token_at_most": energy.rejected_j_per_token,
        "evidence": "counted" if energy.counted else "estimated",
    }


def memory_map_json(target: Target) -> list[Json] | None:
    """The parts of the memory map, those of the devices first."""
    maps = [m for m in (target.memory.device, target.memory.host) if m is not None]
    return [part for memory in maps for part in _parts(memory)] or None


def _parts(memory: MemoryMap) -> list[Json]:
    return [
        {
            "place": memory.place,
            "part": part.name,
            "bytes": part.bytes,
            "filled_bytes": part.filled_bytes,
            "evidence": part.source,
            "basis": part.basis or None,
        }
        for part in memory.parts
    ]


def memory_json(target: Target) -> Json:
    """How the maps add up, how memory grew, and what a full context would take."""
    memory = target.memory
    growth, full = memory.growth, memory.at_full
    return {
        "maps": [
            {
                "place": m.place,
                "total_bytes": m.total_bytes,
                "used_bytes": m.used_bytes,
                "free_bytes": m.free_bytes,
                "process_bytes": m.process_bytes,
                "explained_share": m.explained,
                "missing": list(m.missing),
            }
            for m in (memory.device, memory.host)
            if m is not None
        ],
        "growth": None
        if growth is None
        else {
            "of": "process" if growth.own else "device",
            "bytes": growth.bytes,
            "first_bytes": growth.first.bytes,
            "most_bytes": growth.most.bytes,
            "first_fill_tokens": growth.first.fill_tokens,
            "fill_tokens": growth.latest.fill_tokens,
            "requests": growth.requests,
        },
        "at_full_context": None if full is None else {"bytes": full.bytes, "basis": full.basis, "fits": full.fits},
    }


def kv_json(target: Target) -> Json:
    """The KV cache: context, fill and bytes; speed and tau by depth, of one slot."""
    kv = target.memory.kv
    most = [s.fill_max_tokens for s in target.slots if s.fill_max_tokens is not None]
    return {
        "n_ctx": target.props.n_ctx if target.props else None,
        "slots": [
            {
                "id": s.id,
                "n_ctx": s.n_ctx,
                "fill_tokens": s.fill_tokens,
                "fill_max_tokens": s.fill_max_tokens,
                "busy": s.busy,
            }
            for s in target.slots
        ],
        "context_tokens": kv.context_tokens,
        "fill_tokens": kv.fill_tokens,
        "fill_max_tokens": max(most, default=None),
        "fill_max_together_tokens": kv.fill_max_tokens,
        "bytes_per_token": kv.bytes_per_token,
        "unknown_why": kv.unknown_why or None,
        "reserved_bytes": kv.reserved_bytes,
        "filled_bytes": kv.filled_bytes,
        "by_depth": [
            {"tokens": row.tokens, "to_tokens": row.to_tokens, "tok_s": row.tok_s, "tau": row.tau, "steps": row.steps}
            for row in target.by_depth
        ]
        or None,
    }
