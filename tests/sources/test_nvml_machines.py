"""The machines there are, as the driver's library shows each: what is told of them, and what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import pytest
from nvml_standin import (
    GIB,
    H200,
    NA64,
    NO_PERMISSION,
    busy_h200,
    gb10,
    h200,
    jetson,
    laptop,
)
from nvml_watch import first, found, newest, of, told, until, watching_gpus

from specscope.events import (
    MACHINE,
    GpuFound,
    GpuLinkRead,
    GpuMemoryRead,
    GpuSampled,
    SourceAttached,
)

if TYPE_CHECKING:
    from pathlib import Path

    from nvml_standin import Gpus

MIB = 1 << 20
RESERVED = 616 * MIB
TOTAL = 143771 * MIB


async def test_memory_that_windows_manages_is_told(gpus: Gpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus.add(busy_h200())
    monkeypatch.setattr("specscope.sources.nvml.device.WINDOWS", tmp_path)
    async with watching_gpus() as facts:
        assert (await found(facts)).wddm


async def test_a_healthy_h200_at_work(gpus: Gpus) -> None:
    gpus.add(busy_h200())
    async with watching_gpus() as facts:
        device = await found(facts)
        sample, memory, link = [await first(facts, kind) for kind in (GpuSampled, GpuMemoryRead, GpuLinkRead)]
    attached = facts[0]
    assert isinstance(attached, SourceAttached)
    assert (attached.source, attached.tier, attached.detail) == ("nvml", "none", "1 device, driver 580.159.04")
    assert {f.target for f in facts} == {MACHINE}
    assert device == GpuFound(
        at=device.at,
        target=MACHINE,
        index=0,
        uuid="GPU-00000000-0000-0000-0000-000000000200",
        name="NVIDIA H200",
        bus_id="00000000:19:00.0",
        minor=0,
        driver="580.159.04",
        memory_bytes=TOTAL - RESERVED,
        reserved_bytes=RESERVED,
        unified=False,
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
        virtual=None,
        compute="9.0",
    )
    assert isinstance(sample, GpuSampled)
    assert (sample.power_w, sample.instant, sample.sm_clock_mhz) == (450.148, True, 1980)
    assert (sample.busy_pct, sample.memory_busy_pct, sample.reasons) == (90, 40, 0)
    assert isinstance(memory, GpuMemoryRead)
    assert (memory.used_bytes, memory.free_bytes) == (10 * GIB, TOTAL - RESERVED - 10 * GIB)
    assert (memory.processes, memory.temperature_c, memory.memory_clock_mhz) == ([(474, 10 * GIB)], 37, 3201)
    assert isinstance(link, GpuLinkRead)
    assert (link.energy_j, link.link_gen, link.link_width) == (1234.567, 5, 16)
    assert (link.to_host_bytes_per_s, link.to_device_bytes_per_s) == (1_352_000, 576_000)


async def test_a_recorded_run_is_seen_again(gpus: Gpus) -> None:
    gpus.add(busy_h200())
    gpus.replay(0, H200, speed=10)
    async with watching_gpus() as facts:
        await newest(facts, GpuSampled, lambda f: (f.power_w or 0) > 300)
        await newest(facts, GpuSampled, lambda f: f.sm_clock_mhz == 345 and f.reasons == 1)
        held = await newest(facts, GpuMemoryRead, lambda f: f.processes and (f.processes[0][1] or 0) > 9 * GIB)
        await newest(facts, GpuLinkRead, lambda f: (f.to_device_bytes_per_s or 0) > 10_000_000)
    assert held.processes is not None
    assert [pid for pid, _ in held.processes] == [474]
    assert held.used_bytes == 10341 * MIB
    assert all(70 < (s.power_w or 0) < 460 for s in of(facts, GpuSampled))


@pytest.mark.parametrize(
    ("reasons", "limit_mw", "clock_mhz"),
    [(0x4, 300_000, 1200), (0x20, 700_000, 900), (0x40 | 0x8, 700_000, 345)],
    ids=["power cap", "thermal, by software", "thermal, by hardware"],
)
async def test_what_holds_the_clocks_down(gpus: Gpus, reasons: int, limit_mw: int, clock_mhz: int) -> None:
    gpus.add(
        busy_h200()
        | {
            "DeviceGetCurrentClocksEventReasons": (reasons,),
            "DeviceGetEnforcedPowerLimit": (limit_mw,),
            "DeviceGetClockInfo:1": (clock_mhz,),
        }
    )
    async with watching_gpus() as facts:
        device, sample = await found(facts), await first(facts, GpuSampled)
    assert (sample.reasons, sample.sm_clock_mhz) == (reasons, clock_mhz)
    assert (device.power_limit_w, device.power_default_w) == (limit_mw / 1000, 700.0)


async def test_a_laptop_has_no_power_limit(gpus: Gpus) -> None:
    gpus.add(laptop())
    async with watching_gpus() as facts:
        device, sample = await found(facts), await first(facts, GpuSampled)
    assert (device.power_limit_w, device.power_default_w, device.power_max_w, device.mig) == (None, None, None, None)
    assert (device.memory_bus_bits, device.link_width_max, device.compute) == (128, 8, "8.9")
    assert sample.power_w == 450.148


async def test_wsl2_does_not_tell_what_processes_hold(gpus: Gpus) -> None:
    rules = {k: v for k, v in busy_h200().items() if "Minor" not in k and "Energy" not in k}
    gpus.add(rules | {"DeviceGetComputeRunningProcesses_v3": (33, NA64, 12, NA64)})
    gpus.forget(0, "DeviceGetMinorNumber")
    async with watching_gpus() as facts:
        device, memory = await found(facts), await first(facts, GpuMemoryRead)
        link = await first(facts, GpuLinkRead)
    assert memory.processes == [(12, None), (33, None)]
    assert (device.minor, link.energy_j) == (None, None)


async def test_a_gb10_computes_in_the_systems_memory(gpus: Gpus) -> None:
    gpus.add(gb10())
    async with watching_gpus() as facts:
        device, memory = await found(facts), await first(facts, GpuMemoryRead)
    assert (device.unified, device.memory_bytes) == (True, psutil.virtual_memory().total)
    assert (device.reserved_bytes, device.memory_bus_bits, device.memory_clock_max_mhz) == (None, None, None)
    assert memory.used_bytes is not None
    assert memory.free_bytes is not None
    assert memory.used_bytes + memory.free_bytes == psutil.virtual_memory().total
    assert memory.processes == [(474, 10 * GIB)]


async def test_a_jetson_tells_its_name_and_no_figures(gpus: Gpus) -> None:
    gpus.add(jetson())
    async with watching_gpus() as facts:
        device = await found(facts)
        await until(lambda: len(of(facts, GpuMemoryRead)) == 2)
    assert (device.name, device.compute, device.unified) == ("Orin (nvgpu)", "8.7", True)
    assert (device.power_limit_w, device.sm_clock_max_mhz, device.bus_id, device.mig) == (None, None, None, None)
    memory = of(facts, GpuMemoryRead)[0]
    assert (memory.processes, memory.temperature_c, memory.memory_clock_mhz) == (None, None, None)
    assert of(facts, GpuSampled) == []
    assert of(facts, GpuLinkRead) == []
    assert told(facts) == ["1 device, driver 580.159.04"]


async def test_mig_processes_are_listed_on_the_instances(gpus: Gpus) -> None:
    gpus.add(busy_h200() | {"DeviceGetMigMode": (1, 1), "DeviceGetMaxMigDeviceCount": (7,)})
    gpus.forget(0, "DeviceGetUtilizationRates")
    gpus.set(0, "DeviceGetComputeRunningProcesses_v3", ret=NO_PERMISSION)
    gpus.set(0, "DeviceGetComputeRunningProcesses_v2", ret=NO_PERMISSION)
    for i in (0, 2):
        gpus.set(0, "DeviceGetMigDeviceHandleByIndex", arg=i)
    gpus.set("0/0", "DeviceGetComputeRunningProcesses_v3", 474, GIB, 475, 2 * GIB)
    gpus.set("0/2", "DeviceGetComputeRunningProcesses_v3", 474, 3 * GIB)
    async with watching_gpus() as facts:
        device, memory, sample = await found(facts), await first(facts, GpuMemoryRead), await first(facts, GpuSampled)
        again = await newest(facts, GpuMemoryRead, lambda _: True)
    assert device.mig is True
    assert memory.processes == again.processes == [(474, 4 * GIB), (475, 2 * GIB)]
    assert (sample.busy_pct, sample.memory_busy_pct, sample.power_w) == (None, None, 450.148)


async def test_mig_memory_that_root_alone_may_see_is_that_of_the_instances(gpus: Gpus) -> None:
    gpus.add(busy_h200() | {"DeviceGetMigMode": (1, 1), "DeviceGetMaxMigDeviceCount": (7,)})
    for function in ("DeviceGetMemoryInfo", "DeviceGetMemoryInfo_v2"):
        gpus.set(0, function, ret=NO_PERMISSION)
    for i in (0, 1):
        gpus.set(0, "DeviceGetMigDeviceHandleByIndex", arg=i)
        gpus.set(f"0/{i}", "DeviceGetMemoryInfo_v2", 18 * GIB, GIB, 2 * GIB)
    async with watching_gpus() as facts:
        device, memory = await found(facts), await first(facts, GpuMemoryRead)
    assert (device.memory_bytes, device.reserved_bytes, device.unified) == (34 * GIB, 2 * GIB, False)
    assert (memory.used_bytes, memory.free_bytes) == (4 * GIB, 30 * GIB)
    assert memory.processes == [(474, 10 * GIB)]  # no instance tells its own


async def test_mig_that_is_switched_on_is_seen(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specscope.sources.nvml.rounds.LIMITS_S", 0.2)
    gpus.add(busy_h200())
    async with watching_gpus() as facts:
        assert (await found(facts)).mig is False
        gpus.set(0, "DeviceGetMaxMigDeviceCount", 7)
        gpus.set(0, "DeviceGetMigDeviceHandleByIndex", arg=1)
        gpus.set("0/1", "DeviceGetComputeRunningProcesses_v3", 9, GIB)
        gpus.set(0, "DeviceGetMigMode", 1, 1)
        await newest(facts, GpuFound, lambda f: f.mig)
        await newest(facts, GpuMemoryRead, lambda f: f.processes == [(9, GIB)])


async def test_a_vgpu_has_no_power_and_no_limits(gpus: Gpus) -> None:
    rules = {k: v for k, v in busy_h200().items() if not any(w in k for w in ("Power", "Field", "Energy", "Threshold"))}
    gpus.add(rules | {"DeviceGetVirtualizationMode": (2,), "DeviceGetName": "GRID L40S-24Q"})
    async with watching_gpus() as facts:
        device, sample = await found(facts), await first(facts, GpuSampled)
        link = await first(facts, GpuLinkRead)
    assert device.virtual == "vgpu"
    assert (device.power_limit_w, device.power_max_w, device.slowdown_c, device.max_c) == (None, None, None, None)
    assert (sample.power_w, sample.instant, sample.busy_pct) == (None, None, 90)
    assert (link.energy_j, link.link_gen) == (None, 5)


async def test_two_devices_each_for_itself(gpus: Gpus) -> None:
    gpus.add(busy_h200())
    gpus.add(h200() | {"DeviceGetName": "NVIDIA T4", "DeviceGetFieldValues:186": (30_000,)})
    async with watching_gpus() as facts:
        names = [(await found(facts, i)).name for i in (0, 1)]
        minors = [(await found(facts, i)).minor for i in (0, 1)]
        await until(lambda: len([f for f in of(facts, GpuSampled) if f.index == 1]) == 3)
    assert names == ["NVIDIA H200", "NVIDIA T4"]
    assert minors == [0, 1]
    assert told(facts) == ["2 devices, driver 580.159.04"]
    samples = of(facts, GpuSampled)
    assert {f.power_w for f in samples if f.index == 1} == {30.0}
    # The one in use is sampled ten times a second, the other once.
    assert len([f for f in samples if f.index == 0]) > 5 * len([f for f in samples if f.index == 1]) / 2


async def test_the_devices_that_were_asked_for(gpus: Gpus) -> None:
    for _ in range(3):
        gpus.add(h200())
    async with watching_gpus(devices=frozenset({1})) as facts:
        await first(facts, GpuMemoryRead, 1)
    assert {f.index for f in facts if isinstance(f, GpuFound | GpuSampled | GpuMemoryRead)} == {1}
