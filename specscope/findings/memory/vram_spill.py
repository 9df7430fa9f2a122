"""Device memory is oversubscribed: parts of it lie in the system's memory and are fetched over the bus.

Looks at: whether memory can spill there at all (WSL2, where Windows manages it, or GGML_CUDA_ENABLE_UNIFIED_MEMORY);
then how full the device is, how busy it and its memory are while decoding, and what the bus carries to it, or, where
that is not told, how far a step is from the time in which the device's memory could be read.

Why it matters: the bus is 10 to 100 times slower than the device's memory. The device looks busy all the time while it
waits: in public reports its memory was used for 2 % of the time (atomic-llama-cpp-turboquant issue 77), and a 12 GB
card went from 66 to 25 tok/s by a context that no longer fitted (mesh-llm issue 1613).

What to do: take less memory: a smaller ``--ctx-size``, caches of 8 bits (``--cache-type-k``, ``--cache-type-v``),
fewer slots (``--parallel``), fewer layers on the device (``--gpu-layers``). On Windows, the driver's setting "Prefer
No Sysmem Fallback" makes the server fail instead of crawl.

Evidence: at least 10 s of decoding; 95 % of the memory used, the device busy for 90 % and its memory for at most 15 %
of the time (thresholds of those reports; an H200 that decodes: 89 % and 40 %, with a drafter 46 % and 11 %); and 2 GB/s
or more to the device, which a server with all layers there does not need (an H200: 0.03-0.3), or less than 0.4 of the
possible speed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import ENVIRONMENT, SHARED_MEMORY, no_gpu, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.gpu_state import Gpu
    from specscope.session.state import Target

LINK: Final = "https://github.com/Mesh-LLM/mesh-llm/issues/1613"
MANAGED: Final = "GGML_CUDA_ENABLE_UNIFIED_MEMORY"
"""Set to anything, it makes device memory managed memory (ggml/src/ggml-cuda/ggml-cuda.cu, llama.cpp b11434)."""

LEAST_S: Final = 10.0
"""Decoding time before it is judged: a hundred readings of how busy the device is, ten of the bus."""

FULL: Final = 0.95
BUSY_PCT: Final = 90.0
MEMORY_IDLE_PCT: Final = 15.0

PAGING: Final = 2e9
"""Bytes per second to the device."""
LESS_PAGING: Final = 1e9

SLOW: Final = 0.4
"""Of the speed at which the weights can be read from the device's memory."""
LESS_SLOW: Final = 0.5

LEAST_READINGS: Final = 5
"""Of the bus, each of 20 ms."""


def look(case: Case) -> Seen:
    """Judge the devices of one server."""
    managed = _managed(case.target)
    can = [use.gpu for use in case.target.gpus if _can_spill(use.gpu, managed=managed)]
    if not can:
        return _cannot_spill(case)
    if not any(gpu.memory is not None and gpu.memory.used_bytes is not None for gpu in can):
        return wait(case.target, "a reading of the GPU's memory")
    full = [gpu for gpu in can if _is_full(gpu)]
    judged = [gpu for gpu in full if gpu.decoding.seconds >= LEAST_S]
    if full and not judged:
        needs = f"{LEAST_S:.0f} s of decoding ({max(g.decoding.seconds for g in full):.0f} so far)"
        return wait(case.target, needs)
    if judged and not any(_is_told(gpu) for gpu in judged):
        return Inapplicable("the driver does not tell how busy the GPU and its memory are")
    return tuple(finding for gpu in judged if (finding := _look_at(case, gpu, managed=managed)) is not None)


def _managed(target: Target) -> bool:
    return bool(target.process and target.process.env and MANAGED in target.process.env)


def _can_spill(gpu: Gpu, *, managed: bool) -> bool:
    """A device that computes in the system's memory has nothing to spill from."""
    return not gpu.lost and not gpu.found.unified and not gpu.found.mig and (managed or bool(gpu.found.wddm))


def _cannot_spill(case: Case) -> Seen:
    """What is said where no device is known to spill."""
    target = case.target
    none = no_gpu(target, case.session)
    if none is not None:
        return none
    if all(use.gpu.found.unified or use.gpu.found.mig for use in target.gpus):
        return SHARED_MEMORY
    if target.process is None or target.process.env is None:
        return wait(target, ENVIRONMENT)
    return Inapplicable(f"device memory cannot spill here (no WSL2, no {MANAGED})")


def _is_told(gpu: Gpu) -> bool:
    return gpu.decoding.busy_pct is not None and gpu.decoding.memory_busy_pct is not None


def _is_full(gpu: Gpu) -> bool:
    used = gpu.memory.used_bytes if gpu.memory is not None else None
    return used is not None and bool(gpu.found.memory_bytes) and used >= FULL * (gpu.found.memory_bytes or 0)


def _look_at(case: Case, gpu: Gpu, *, managed: bool) -> Finding | None:
    decoding, part = gpu.decoding, f"gpu {gpu.index}"
    busy, memory_busy = decoding.busy_pct, decoding.memory_busy_pct
    if busy is None or memory_busy is None or busy < BUSY_PCT or memory_busy > MEMORY_IDLE_PCT:
        return None
    slow, bus = _speed(case.target), decoding.to_device_bytes_per_s
    if bus is not None and decoding.to_device_readings >= LEAST_READINGS:
        if not case.holds(bus, raise_at=PAGING, clear_at=LESS_PAGING, part=part):
            return None
    elif not case.holds(slow, raise_at=SLOW, clear_at=LESS_SLOW, part=part):
        return None
    used, total = (gpu.memory.used_bytes if gpu.memory else None) or 0, gpu.found.memory_bytes or 1
    evidence = [
        ("device memory", f"{used / 2**20:,.0f} of {total / 2**20:,.0f} MiB used ({used / total:.0%})"),
        ("while decoding", f"GPU busy {busy:.0f}%, its memory {memory_busy:.0f}% of {decoding.seconds:.0f} s"),
        ("spills because", MANAGED if managed else "Windows manages the memory (WSL2)"),
    ]
    if bus is not None:
        evidence.append(("bus to the device", f"{bus / 1e9:.1f} GB/s in {decoding.to_device_readings} readings"))
    if slow is not None:
        evidence.append(("speed", f"{slow:.0%} of what the device's memory allows"))
    return RULE.found(
        case,
        f"GPU {gpu.index} is out of memory: parts of the model or its caches are fetched over the bus",
        tuple(evidence),
        "take less device memory: a smaller --ctx-size, --cache-type-k q8_0 --cache-type-v q8_0, fewer --parallel "
        f"slots or --gpu-layers; {_fail_instead(managed=managed)}",
        part=part,
        link=LINK,
    )


def _speed(target: Target) -> float | None:
    """Of the speed at which the weights can be read, what a step reaches; None: not known."""
    known = target.economics
    step_ms = known.plain.ms if known.plain is not None else None
    if known.cycle_ms is not None:
        step_ms = known.cycle_ms.value
    return known.floor_ms / step_ms if known.floor_ms is not None and step_ms else None


def _fail_instead(*, managed: bool) -> str:
    if managed:
        return f"without {MANAGED} the server says what does not fit"
    return 'the NVIDIA driver\'s "Prefer No Sysmem Fallback" makes it fail instead'


RULE = Rule("SPC401", "vram_spill", "critical", look)
