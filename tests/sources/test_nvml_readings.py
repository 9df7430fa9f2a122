"""When a device is read, from what, and what is taken for no value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from nvml_standin import (
    FUNCTION_NOT_FOUND,
    GIB,
    NA32,
    NA64,
    NOT_SUPPORTED,
    busy_h200,
    h200,
)
from nvml_watch import first, found, newest, of, until, watching_gpus

from specscope.events import (
    MACHINE,
    GpuFound,
    GpuLinkRead,
    GpuMemoryRead,
    GpuSampled,
)

if TYPE_CHECKING:
    from nvml_standin import Gpus

MIB = 1 << 20
RESERVED = 616 * MIB
TOTAL = 143771 * MIB


async def test_a_device_that_nobody_uses_is_sampled_faster_once_somebody_does(gpus: Gpus) -> None:
    gpus.add(h200())
    async with watching_gpus() as facts:
        await until(lambda: len(of(facts, GpuMemoryRead)) == 2)
        assert len(of(facts, GpuSampled)) <= 3
        gpus.set(0, "DeviceGetComputeRunningProcesses_v3", 474, GIB)
        await newest(facts, GpuMemoryRead, lambda f: f.processes)
        seconds, samples = len(of(facts, GpuMemoryRead)), len(of(facts, GpuSampled))
        await until(lambda: len(of(facts, GpuMemoryRead)) == seconds + 1)
        assert len(of(facts, GpuSampled)) > samples + 3


async def test_a_limit_that_is_changed_is_told_again(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specscope.sources.nvml.rounds.LIMITS_S", 0.2)
    gpus.add(h200())
    async with watching_gpus() as facts:
        before = await found(facts)
        await until(lambda: len(of(facts, GpuLinkRead)) == 3)
        assert of(facts, GpuFound) == [before]
        gpus.set(0, "DeviceGetEnforcedPowerLimit", 450_000)
        now = await newest(facts, GpuFound, lambda _: True)
    assert (now.power_limit_w, now.power_default_w, now.name) == (450.0, 700.0, before.name)
    assert now.at > before.at


async def test_a_process_that_computes_and_draws_is_one_and_a_vulkan_server_is_seen(gpus: Gpus) -> None:
    gpus.add(busy_h200() | {"DeviceGetGraphicsRunningProcesses_v3": (474, 11 * GIB, 500, GIB)})
    gpus.set(0, "DeviceGetMPSComputeRunningProcesses_v3", 600, 2 * GIB)
    async with watching_gpus() as facts:
        memory = await first(facts, GpuMemoryRead)
    assert memory.processes == [(474, 11 * GIB), (500, GIB), (600, 2 * GIB)]


@pytest.mark.parametrize("code", [NOT_SUPPORTED, FUNCTION_NOT_FOUND], ids=["not supported", "not there"])
async def test_older_names_and_structs_stand_in(gpus: Gpus, code: int) -> None:
    gpus.add(busy_h200() | {"DeviceGetCurrentClocksThrottleReasons": (0x4,), "DeviceGetTemperatureV:0": (51,)})
    for function in (
        "DeviceGetFieldValues",
        "DeviceGetCurrentClocksEventReasons",
        "DeviceGetMemoryInfo_v2",
        "DeviceGetComputeRunningProcesses_v3",
        "DeviceGetTemperature",
    ):
        gpus.set(0, function, ret=code)
    gpus.forget(0, "DeviceGetTemperature", 0)
    gpus.forget(0, "DeviceGetFieldValues", 186)
    async with watching_gpus() as facts:
        device, memory = await found(facts), await first(facts, GpuMemoryRead)
        sample = await newest(facts, GpuSampled, lambda f: f.reasons is not None)
    assert (sample.power_w, sample.instant, sample.reasons) == (77.5, False, 0x4)
    # Without a reserve told apart, it is part of what is used.
    assert (device.memory_bytes, device.reserved_bytes) == (TOTAL, None)
    assert (memory.used_bytes, memory.free_bytes) == (10 * GIB + RESERVED, TOTAL - 10 * GIB - RESERVED)
    assert (memory.processes, memory.temperature_c) == ([(474, 10 * GIB)], 51)


async def test_what_is_written_for_no_value_is_none(gpus: Gpus) -> None:
    missing = {function: (NA32, NA32) for function, gives in busy_h200().items() if not isinstance(gives, str)}
    gpus.add(
        missing
        | {
            "DeviceGetName": "NVIDIA H200",
            "DeviceGetMigMode": (0, 0),
            "DeviceGetVirtualizationMode": (0,),
            "DeviceGetCudaComputeCapability": (9, 0),
            "DeviceGetMemoryInfo": (NA64, NA64, NA64),
            "DeviceGetMemoryInfo_v2": (NA64, NA64, NA64),
            "DeviceGetComputeRunningProcesses_v3": (474, NA64),
            "DeviceGetComputeRunningProcesses_v2": (474, NA64),
            "DeviceGetCurrentClocksEventReasons": (NA64,),
            "DeviceGetTotalEnergyConsumption": (NA64,),
            "DeviceGetMPSComputeRunningProcesses_v3": (),
            "DeviceGetGraphicsRunningProcesses_v3": (),
        }
    )
    gpus.set(0, "DeviceGetMinorNumber", NA32)
    async with watching_gpus() as facts:
        device, memory = await found(facts), await first(facts, GpuMemoryRead)
    assert device == GpuFound(
        at=device.at,
        target=MACHINE,
        index=0,
        name="NVIDIA H200",
        driver="580.159.04",
        unified=False,
        mig=False,
        compute="9.0",
    )
    assert memory == GpuMemoryRead(at=memory.at, target=MACHINE, index=0, processes=[(474, None)])
    assert of(facts, GpuSampled) == of(facts, GpuLinkRead) == []


async def test_zero_is_not_shown_for_what_cannot_be_zero(gpus: Gpus) -> None:
    gpus.add(h200() | {"DeviceGetEnforcedPowerLimit": (0,), "DeviceGetMemoryBusWidth": (0,)})
    gpus.set(0, "DeviceGetFieldValues", 0, arg=186)
    gpus.set(0, "DeviceGetPowerUsage", 0)
    gpus.set(0, "DeviceGetTotalEnergyConsumption", 0)
    async with watching_gpus() as facts:
        device, sample, link = await found(facts), await first(facts, GpuSampled), await first(facts, GpuLinkRead)
    assert (device.power_limit_w, device.memory_bus_bits) == (None, None)
    assert (sample.power_w, sample.instant, sample.busy_pct) == (None, None, 0)
    assert link.energy_j is None
