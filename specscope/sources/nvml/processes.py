"""Which processes hold memory of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from specscope.sources.nvml.asking import NOT_AVAILABLE

if TYPE_CHECKING:
    from specscope.sources.nvml.asking import Device

Held: TypeAlias = "dict[int, int | None]"
"""Bytes by process; None: not told."""

KINDS: Final = ("Compute", "MPSCompute", "Graphics")
"""NVML's lists. A server that computes with Vulkan is in the last one, and a client of MPS may be in the second alone;
a process that does both is in two of them, with the same bytes."""

VERSIONS: Final = ("_v3", "_v2")
"""Of the lists' functions: _v3 came with driver 510, _v2 with 450 (older ones run no CUDA that llama.cpp supports)."""


def processes(device: Device, *, mig: bool) -> list[tuple[int, int | None]] | None:
    """Processes and their bytes; None: not told.

    A device that is cut into instances lists its processes on them, each with what it holds there, and on itself at
    most their sum, for root alone (nvml.h, nvmlDeviceGetComputeRunningProcesses).
    """
    if not mig:
        held = _held(device)
        return None if held is None else sorted(held.items())
    total: Held = {}
    told = False
    for instance in device.instances():
        held = _held(instance)
        told = told or held is not None
        for pid, size in (held or {}).items():
            total[pid] = _sum(total[pid], size) if pid in total else size
    return sorted(total.items()) if told else processes(device, mig=False)


def _held(device: Device) -> Held | None:
    """All lists of a device, or of an instance, as one; None when not even what computes is told."""
    held = _list(device, KINDS[0])
    if held is None:
        return None
    for kind in KINDS[1:]:
        for pid, size in (_list(device, kind) or {}).items():
            held[pid] = _greater(held.get(pid), size)
    return held


def _list(device: Device, kind: str) -> Held | None:
    for version in VERSIONS:
        rows = device.ask(f"nvmlDeviceGet{kind}RunningProcesses{version}")
        if rows is not None:
            return {row.pid: None if row.usedGpuMemory in NOT_AVAILABLE else row.usedGpuMemory for row in rows}
    return None


def _greater(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
