"""Next to no device memory is left: what the server takes later may not fit.

Looks at: the free memory of the server's devices after its first request, how many slots there are, whether tokens are
selected on the device, and how memory grew while the context filled.

Why it matters: weights and caches are taken at load, but work buffers, graphs and, where tokens are selected on the
device, buffers for each slot come with the first requests of each kind (llama.cpp issue 23903: out of memory with more
slots on b9426). A server that finds no memory then ends, or refuses.

What to do: leave some: a smaller ``--ctx-size``, fewer slots (``--parallel``), 8-bit caches (``--cache-type-k``), or a
larger ``--fit-target``, by which the server fits itself to the device (1,024 MiB are left by default).

Evidence: less than 2 % of the memory free after a request (the threshold of that report). It is a warning where a full
context is expected not to fit, or where several slots select on the device; else information.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.as_written import as_written
from specscope.findings.rule import Rule
from specscope.findings.unjudged import SHARED_MEMORY, no_gpu, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.gpu_state import Gpu, GpuUse
    from specscope.session.state import Target

LINK: Final = "https://github.com/ggml-org/llama.cpp/issues/23903"
NEARLY: Final = 0.02
"""Of the device's memory: 480 MiB of a 24 GB card."""
NOT_SO: Final = 0.03
"""Above it, a raised finding is cleared."""


def look(case: Case) -> Seen:
    """Judge the devices of one server, once it has served a request."""
    target = case.target
    none = no_gpu(target, case.session)
    if none is not None:
        return none
    if not any(_has_own_memory(use.gpu) for use in target.gpus):
        return SHARED_MEMORY
    if not any(request.ended_at is not None for request in target.requests):
        return wait(target, "a request that has ended")
    if not any(use.gpu.memory is not None and use.gpu.memory.free_bytes is not None for use in target.gpus):
        return wait(target, "a reading of the GPU's free memory")
    return tuple(finding for use in target.gpus if (finding := _look_at(case, use)) is not None)


def _has_own_memory(gpu: Gpu) -> bool:
    """Whether it is not memory of the system, nor of instances that are not told apart."""
    return gpu.lost is None and not gpu.found.unified and not gpu.found.mig and bool(gpu.found.memory_bytes)


def _look_at(case: Case, use: GpuUse) -> Finding | None:
    gpu, target = use.gpu, case.target
    free, total = gpu.memory.free_bytes if gpu.memory is not None else None, gpu.found.memory_bytes
    if not _has_own_memory(gpu) or free is None or not total:
        return None
    part = f"gpu {gpu.index}"
    if not case.holds(free / total, raise_at=NEARLY, clear_at=NOT_SO, part=part):
        return None
    evidence = [("free", f"{free / 2**20:,.0f} of {total / 2**20:,.0f} MiB ({free / total:.1%})")]
    if use.process_bytes is not None:
        evidence.append(("the server's own", f"{use.process_bytes / 2**20:,.0f} MiB"))
    at_full = target.memory.at_full
    bursts = at_full is not None and at_full.fits is False
    if at_full is not None and bursts:
        evidence.append(("with a full context", f"{at_full.bytes / 2**20:,.0f} MiB are expected: {at_full.basis}"))
    several = _selecting_slots(target)
    if several:
        evidence.append(("slots that select on the device", str(several)))
    return RULE.found(
        case,
        f"GPU {gpu.index} has {free / 2**20:,.0f} MiB of {total / 2**20:,.0f} MiB left",
        tuple(evidence),
        _advice(target, several),
        part=part,
        severity="warning" if bursts or several else None,
        link=LINK,
    )


def _selecting_slots(target: Target) -> int:
    """Slots, where there are several and tokens are selected on the device for each; 0 otherwise."""
    path, slots = target.backend_path, len(target.slots)
    drafts = any(t.startswith("draft-") for t in target.config.types or ())
    asked = target.provenance.setting("spec_draft_backend_sampling")
    by_setting = asked is not None and any(claim.won and claim.value is True for claim in asked.claims)
    of_drafts = path.draft == "device" or (path.draft == "unknown" and by_setting)
    return slots if slots > 1 and (path.target == "device" or (drafts and of_drafts)) else 0


def _advice(target: Target, several: int) -> str:
    less = f"leave some: a smaller {as_written(target, 'ctx', '--ctx-size')}, --cache-type-k q8_0 --cache-type-v q8_0"
    if not several:
        return f"{less}, fewer --parallel slots, or a larger --fit-target"
    return f"{less}, --no-spec-draft-backend-sampling, or {as_written(target, 'parallel', '--parallel', '1')}"


RULE = Rule("SPC402", "vram_nearly_full", "info", look)
