"""GPUs, made by hand: an H200 as it was measured, a card at its power limit, and machines that tell less."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import facts
import memories
import traced
from feeds import DeviceFeed

from specscope import events as ev
from specscope.session.gpu_state import Energy, Gpu, GpuSecond, GpuUse, Limit, Machine
from specscope.session.memory.map_state import Memory
from specscope.session.state import SourceView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from specscope.findings.rule import Finding

MIB = memories.MIB
END = traced.END
PID = 4242
NVML = SourceView("nvml", "attached", "none", facts.T0, "1 device, driver 570.124.06")
NO_DRIVER = SourceView("nvml", "lost", "none", facts.T0, "no NVIDIA driver: libnvidia-ml.so.1 is not there")

H200 = ev.GpuFound(
    at=facts.T0,
    index=0,
    name="NVIDIA H200",
    minor=0,
    driver="570.124.06",
    memory_bytes=143_155 * MIB,
    reserved_bytes=616 * MIB,
    power_limit_w=700.0,
    power_default_w=700.0,
    power_max_w=700.0,
    sm_clock_max_mhz=1980,
    memory_clock_max_mhz=3201,
    memory_bus_bits=6144,
    slowdown_c=92,
    max_c=87,
    link_gen_max=5,
    link_width_max=16,
    mig=False,
)
SMALL = ev.GpuFound(
    at=facts.T0,
    index=0,
    name="NVIDIA RTX PRO 4000 Blackwell SFF Edition",
    minor=0,
    driver="580.95.05",
    memory_bytes=24_467 * MIB,
    power_limit_w=70.0,
    power_default_w=70.0,
    power_max_w=70.0,
    sm_clock_max_mhz=2617,
    memory_clock_max_mhz=9001,
    slowdown_c=97,
    max_c=89,
    link_gen_max=5,
    link_width_max=8,
)


def seconds(power_w: float, clock: float, limited: float | None, count: int = 120) -> tuple[GpuSecond, ...]:
    """The last two minutes, at rest for twenty seconds of them."""
    told: list[GpuSecond] = []
    for back in range(count, 0, -1):
        rest = 40 <= back < 60
        wave = 1 + 0.04 * math.sin(back / 3)
        told.append(
            GpuSecond(
                float(END - back + 1),
                power_w * (0.45 if rest else min(1.0, wave)),
                clock * (1.0 if rest else wave),
                0.0 if rest else 70.0 * wave,
                None if limited is None else (0.0 if rest else limited),
            )
        )
    return tuple(told)


def gpu(found: ev.GpuFound = H200, **fields: Any) -> Gpu:  # noqa: ANN401
    """An H200 that decodes with a drafter: nothing limits it, and a third of the time it has nothing to do."""
    known: dict[str, Any] = {
        "now": ev.GpuSampled(
            at=END + 0.9, index=found.index, power_w=247.4, instant=True, sm_clock_mhz=1980, busy_pct=62, reasons=0
        ),
        "memory": ev.GpuMemoryRead(
            at=END + 0.5,
            index=found.index,
            used_bytes=12_035 * MIB,
            free_bytes=131_120 * MIB,
            processes=[(PID, 11_412 * MIB)],
            temperature_c=42,
            memory_clock_mhz=3201,
        ),
        "link": ev.GpuLinkRead(
            at=END,
            index=found.index,
            energy_j=91_203.0,
            to_host_bytes_per_s=497_000_000,
            to_device_bytes_per_s=135_000_000,
            link_gen=5,
            link_width=16,
        ),
        "phase": "decode",
        "judged_s": 212.0,
        "reasons_known": True,
        "power_w": 241.0,
        "sm_clock_mhz": 1980.0,
        "busy_pct": 64.2,
        "live_power_w": 244.0,
        "to_host_bytes_per_s": 388_000_000.0,
        "to_host_readings": 24,
        "seconds": seconds(247.0, 1900.0, 0.0),
    }
    return Gpu(found, **{**known, **fields})


def limited(found: ev.GpuFound = SMALL, **fields: Any) -> Gpu:  # noqa: ANN401
    """A card at its power limit nearly all of the time."""
    known: dict[str, Any] = {
        "now": ev.GpuSampled(
            at=END + 0.9, index=found.index, power_w=69.6, instant=False, sm_clock_mhz=1410, busy_pct=98, reasons=4
        ),
        "memory": ev.GpuMemoryRead(
            at=END + 0.5,
            index=found.index,
            used_bytes=22_920 * MIB,
            free_bytes=1_547 * MIB,
            processes=[(PID, 22_610 * MIB), (977, 180 * MIB)],
            temperature_c=71,
            memory_clock_mhz=9001,
        ),
        "link": ev.GpuLinkRead(
            at=END,
            index=found.index,
            to_host_bytes_per_s=127_000_000,
            to_device_bytes_per_s=31_000_000,
            link_gen=4,
            link_width=8,
        ),
        "limits": (Limit("power cap", 0.96, 203.5, 1408.0, now=True), Limit("thermal", 0.12, 25.4, 1302.0, now=False)),
        "power_w": 69.4,
        "sm_clock_mhz": 1421.0,
        "busy_pct": 97.1,
        "to_host_bytes_per_s": 121_000_000.0,
        "seconds": seconds(69.4, 1420.0, 0.96),
    }
    return gpu(found, **{**known, **fields})


ENERGY = Energy(
    decode_j=9_204.0,
    prefill_j=311.0,
    tokens=11_120,
    accepted=7_940,
    counted=True,
    j_per_token=0.8277,
    j_per_accepted=1.1592,
    live_j_per_token=0.8121,
    rejected_share=0.55,
    rejected_j_per_token=0.4552,
)

Scene = dict[str, Any]


def feed(machine: Machine, findings: Sequence[Finding] = (), **fields: Any) -> DeviceFeed:  # noqa: ANN401
    """A traced watch on a machine."""
    return DeviceFeed(
        traced.WATCHED, findings, machine, **{**traced.traced().fields, "by_depth": memories.DEPTHS, **fields}
    )


def h200(findings: Sequence[Finding] = (), **fields: Any) -> DeviceFeed:  # noqa: ANN401
    """All is known."""
    one = gpu()
    known: Scene = {"gpus": (GpuUse(one, "processes", 11_412 * MIB),), "energy": ENERGY, "memory": memories.MEMORY}
    return feed(Machine((one,), (NVML,)), findings, **{**known, **fields})


def small(findings: Sequence[Finding] = (), **fields: Any) -> DeviceFeed:  # noqa: ANN401
    """A 24 GB card at its power limit, with another process on it, and a log that tells nothing of buffers."""
    one = limited()
    known: Scene = {"gpus": (GpuUse(one, "processes", 22_610 * MIB),), "energy": ENERGY, "memory": memories.COMPUTED}
    return feed(Machine((one,), (NVML,)), findings, **{**known, **fields})


def two(findings: Sequence[Finding] = (), *, lost: str | None = None, count: int = 2) -> DeviceFeed:
    """Layers split over several H200; the second one is at its limit now and then, or lost."""
    one = gpu()
    gpus = [one]
    for index in range(1, count):
        hot = Limit("thermal", 0.34, 72.1, 1685.0, now=True)
        found = ev.GpuFound(**{**{f: getattr(H200, f) for f in H200.__struct_fields__}, "index": index, "minor": index})
        gpus.append(gpu(found, limits=(hot,) if index == 1 else (), busy_pct=88.0, seconds=seconds(420.0, 1700.0, 0.4)))
    if lost is not None:
        gpus[1] = replace(gpus[1], lost=lost, now=None, memory=None, link=None, phase=None)
    uses = tuple(GpuUse(g, "processes", 11_412 * MIB) for g in gpus if g.lost is None)
    return feed(Machine(tuple(gpus), (NVML,)), findings, gpus=uses, energy=ENERGY, memory=memories.MEMORY)


def lost() -> DeviceFeed:
    """The only device fell off the bus."""
    gone = gpu(lost="GPU is lost: it has fallen off the bus", now=None, memory=None, link=None, phase=None)
    memory = Memory(None, memories.HOST_MAP, memories.KV)
    return feed(Machine((gone,), (NVML,)), gpus=(GpuUse(gone, "files"),), energy=ENERGY, memory=memory)


def unsure(count: int = 1) -> DeviceFeed:
    """Devices are there, and nothing says whether the server uses them."""
    return feed(Machine(two(count=count).machine.gpus if count > 1 else (gpu(),), (NVML,)), gpus=())


def no_driver() -> DeviceFeed:
    """There is no NVIDIA driver."""
    return feed(Machine((), (NO_DRIVER,)), gpus=(), by_depth=())


def by_cpu() -> DeviceFeed:
    """A server that computes on the CPU: only the host's memory is known."""
    return feed(Machine((), (NO_DRIVER,)), gpus=(), memory=memories.BY_CPU)


def jetson() -> DeviceFeed:
    """The driver answers, and tells nothing."""
    found = ev.GpuFound(at=facts.T0, index=0, name="Orin (nvgpu)", unified=True, minor=0)
    one = Gpu(found, now=ev.GpuSampled(at=END + 0.9, index=0), memory=ev.GpuMemoryRead(at=END + 0.5, index=0))
    return feed(Machine((one,), (NVML,)), gpus=(GpuUse(one, "only"),), energy=None, memory=Memory(kv=memories.KV))


def odd(**found: Any) -> DeviceFeed:  # noqa: ANN401
    """A device that says it is cut into instances, or virtual."""
    fields = {f: getattr(H200, f) for f in H200.__struct_fields__}
    one = gpu(ev.GpuFound(**{**fields, **found}))
    return h200(gpus=(GpuUse(one, "processes", 11_412 * MIB),))


SCENES: tuple[Callable[[], DeviceFeed], ...] = (h200, small, two, lost, unsure, no_driver, by_cpu, jetson)
"""Every kind of machine above."""
