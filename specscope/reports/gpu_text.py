"""GPUs, memory and KV depth as plain text: the lines of a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.economics.words import of_slots
from specscope.session.gpu_state import JUDGED_LEAST_S

if TYPE_CHECKING:
    from specscope.session.gpu_state import GpuUse
    from specscope.session.memory.map_state import MemoryMap
    from specscope.session.state import Target

MIB: Final = 1 << 20
UNKNOWN: Final = "—"

THREE_DIGITS: Final = 100


def gpu_lines(target: Target) -> list[str]:
    """The devices that the server uses, its memory and its KV cache, as far as they are known."""
    lines = [f"  {_device(use)}" for use in target.gpus]
    energy = target.energy
    if energy is not None and energy.j_per_token is not None:
        by = "the driver's counter" if energy.counted else "power readings"
        each = _joules(energy.j_per_token)
        accepted = f", {_joules(energy.j_per_accepted)} per accepted one" if energy.j_per_accepted is not None else ""
        lines.append(f"  {each} per generated token{accepted}, over {energy.tokens:,} tokens, by {by}")
    lines += [f"  {_map(m)}" for m in (target.memory.device, target.memory.host) if m is not None]
    lines += _cache(target)
    return lines


def _device(use: GpuUse) -> str:
    gpu = use.gpu
    name = f"GPU {gpu.index}" + (f" {gpu.found.name}" if gpu.found.name else "")
    if gpu.lost is not None:
        return f"{name}: lost: {gpu.lost}"
    if gpu.judged_s < JUDGED_LEAST_S:
        return f"{name}: at work for {gpu.judged_s:.0f} s, too short to judge"
    limits = ", ".join(f"{limit.name} {limit.share:.0%} of the time" for limit in gpu.limits)
    limited = (limits or "nothing limits its clocks") if gpu.reasons_known else "limits not known"
    return (
        f"{name}, {gpu.judged_s:.0f} s at work: {_of(gpu.power_w, gpu.found.power_limit_w)} W,"
        f" {_of(gpu.sm_clock_mhz, gpu.found.sm_clock_max_mhz)} MHz, {_whole(gpu.busy_pct)} % busy; {limited}"
    )


def _joules(value: float) -> str:
    return f"{value:,.0f} J" if value >= THREE_DIGITS else f"{value:.3g} J"


def _of(value: float | None, most: float | None) -> str:
    return _whole(value) if most is None else f"{_whole(value)} of {_whole(most)}"


def _whole(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def _map(memory: MemoryMap) -> str:
    parts = ", ".join(f"{part.name} {_mib(part.bytes)}" for part in memory.parts)
    share = "" if memory.explained is None else f"; {memory.explained:.1%} of the process's explained"
    missing = f"; not told: {', '.join(memory.missing)}" if memory.missing else ""
    return f"{memory.place} memory, MiB: {parts or UNKNOWN}{share}{missing}"


def _mib(size: int) -> str:
    return "<1" if 0 < size < MIB / 2 else f"{size / MIB:,.0f}"


def _cache(target: Target) -> list[str]:
    kv = target.memory.kv
    lines: list[str] = []
    if kv.fill_tokens is not None and kv.context_tokens:
        each = f", {kv.bytes_per_token:,} bytes a token" if kv.bytes_per_token is not None else ""
        most = f", at most {kv.fill_max_tokens:,}" if kv.fill_max_tokens is not None else ""
        share = kv.fill_tokens / kv.context_tokens
        lines.append(f"  context {kv.fill_tokens:,} of {kv.context_tokens:,} tokens ({share:.0%}){most}{each}")
    if len(target.by_depth) > 1:
        unit = of_slots(len(target.slots))
        rows = (f"{row.tokens:,} {row.tok_s:.1f} {unit} tau {row.tau:.2f}" for row in target.by_depth)
        lines.append(f"  by KV depth: {'; '.join(rows)}")
    return lines
