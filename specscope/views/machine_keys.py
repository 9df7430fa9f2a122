"""What pictures of devices and memory depend on, as values: the session makes the state anew for every view of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.views.gpu_words import age_words, devices_of

if TYPE_CHECKING:
    from specscope.session.gpu_state import Energy, Gpu
    from specscope.session.memory.map_state import Growth, Memory, MemoryMap
    from specscope.session.state import Target
    from specscope.views.frame import Frame


def devices_key(frame: Frame) -> object:
    """All that is told of the devices shown."""
    devices = tuple(
        (gpu_key(d.gpu), d.use and (d.use.how, d.use.process_bytes), age_words(d.gpu, frame.now))
        for d in devices_of(frame)
    )
    return devices, frame.target and energy_key(frame.target.energy), frame.target and frame.target.rates.cycle_ms


def gpu_key(gpu: Gpu) -> object:
    """One device; readings only come, so that their number and time tell whether means can have changed."""
    return gpu.found, gpu.lost, gpu.now, gpu.memory, gpu.link, gpu.phase, gpu.judged_s, gpu.to_host_readings


def seconds_key(gpu: Gpu) -> object:
    """The last whole second of a device."""
    return gpu.index, gpu.found, gpu.lost, len(gpu.seconds), gpu.seconds[-1].at if gpu.seconds else None


def energy_key(energy: Energy | None) -> object:
    """Joules and what they were spent for."""
    if energy is None:
        return None
    return energy.decode_j, energy.tokens, energy.accepted, energy.counted, energy.live_j_per_token


def map_key(known: MemoryMap | None) -> object:
    """The parts of a place and their sizes."""
    if known is None:
        return None
    parts = tuple((p.name, p.bytes, p.source, p.basis, p.filled_bytes) for p in known.parts)
    return parts, known.missing, known.total_bytes, known.used_bytes, known.free_bytes, known.process_bytes


def fill_key(memory: Memory) -> object:
    """The KV cache and how full it is."""
    kv = memory.kv
    tokens = kv.fill_tokens, kv.fill_max_tokens, kv.context_tokens, kv.cells
    return tokens, kv.bytes_per_token, kv.unknown_why, kv.reserved_bytes, kv.filled_bytes


def growth_key(growth: Growth | None) -> object:
    """Samples only come: their number and the latest tell whether the chart can have changed."""
    if growth is None:
        return None
    return len(growth.samples), growth.first, growth.latest, growth.most, growth.requests, growth.own


def memory_key(target: Target) -> object:
    """All that is known of a server's memory."""
    memory = target.memory
    full = memory.at_full and (memory.at_full.bytes, memory.at_full.basis, memory.at_full.fits)
    return (
        target.id,
        target.epoch,
        map_key(memory.device),
        map_key(memory.host),
        fill_key(memory),
        growth_key(memory.growth),
        full,
    )
