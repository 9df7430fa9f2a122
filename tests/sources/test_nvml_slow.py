"""Calls into the driver that take long or do not come back; and that what is spelled out here is nvidia-ml-py's."""

from __future__ import annotations

import asyncio
import ctypes
from typing import TYPE_CHECKING

import pynvml
import pytest
from nvml_standin import (
    FUNCTION_NOT_FOUND,
    busy_h200,
)
from nvml_watch import first, found, newest, of, threads, told, until, watching_gpus

from specscope.events import (
    GpuFound,
    GpuLinkRead,
    GpuMemoryRead,
    GpuSampled,
    SourceAttached,
    SourceLost,
)
from specscope.sources.nvml import device, life, quick
from specscope.sources.nvml.library import Code
from specscope.sources.nvml.quick import FieldValue
from specscope.sources.nvml.source import NvmlSource
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from nvml_standin import Gpus

    from specscope.events import Event


async def test_slow_calls_hold_nothing_up(gpus: Gpus) -> None:
    gpus.add(busy_h200())
    gpus.set(0, "DeviceGetTotalEnergyConsumption", 5_000, ms=2000)
    async with watching_gpus() as facts:
        await until(lambda: len(of(facts, GpuSampled)) > 5 and len(of(facts, GpuMemoryRead)) > 1)
        assert of(facts, GpuLinkRead) == []  # all that came while the first call was still under way
        link = await first(facts, GpuLinkRead)
    assert (link.energy_j, link.to_host_bytes_per_s) == (5.0, 1_352_000)
    assert told(facts) == ["1 device, driver 580.159.04"]


async def test_cancelling_does_not_wait_for_a_call(gpus: Gpus) -> None:
    gpus.add(busy_h200())
    gpus.set(0, "DeviceGetUtilizationRates", 1, 1, ms=1200)
    async with watching_gpus() as facts:
        await found(facts)
        await asyncio.sleep(0.3)
        count = len(facts)
    # the block has waited for the threads, one of which was in a call of 1.2 s when it was left
    assert len(facts) == count


async def test_run_ends_at_once_while_a_call_hangs(gpus: Gpus) -> None:
    gpus.add(busy_h200())
    gpus.set("*", "InitWithFlags", ms=2000)
    facts: list[Event] = []
    task = asyncio.create_task(NvmlSource(Clock()).run(facts.append))
    await until(threads)
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert threads()  # still in the call
    await until(lambda: not threads())
    assert facts == []


async def test_a_driver_that_hangs_is_lost_until_it_answers(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life, "HANGS_S", 0.8)
    monkeypatch.setattr("specscope.sources.nvml.source.LOOK_S", 0.05)
    gpus.add(busy_h200())
    async with watching_gpus() as facts:
        await first(facts, GpuMemoryRead)
        gpus.set(0, "DeviceGetUtilizationRates", 90, 40, ms=2000)
        lost = await first(facts, SourceLost)
        gpus.set(0, "DeviceGetUtilizationRates", 90, 40)
        attached = await newest(facts, SourceAttached, lambda _: True, after=lost)
        again = await newest(facts, GpuFound, lambda _: True, after=attached)
        await newest(facts, GpuSampled, lambda _: True, after=again)
    assert lost.reason == "the NVIDIA driver does not answer: GPU figures are unknown"
    assert lost.hint
    assert told(facts)[0] == told(facts)[2] == "1 device, driver 580.159.04"
    start, end = facts.index(lost), facts.index(attached)
    assert facts[start + 1 : end] == []


async def test_a_slow_thread_that_hangs_is_said_and_the_quick_one_goes_on(
    gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "HANGS_S", 0.8)
    monkeypatch.setattr("specscope.sources.nvml.source.LOOK_S", 0.05)
    gpus.add(busy_h200())
    gpus.set(0, "DeviceGetTotalEnergyConsumption", 1_000, ms=2500)
    async with watching_gpus() as facts:
        hinted = await newest(facts, SourceAttached, lambda f: f.hint)
        await newest(facts, GpuSampled, lambda _: True)
        gpus.set(0, "DeviceGetTotalEnergyConsumption", 2_000)
        await newest(facts, SourceAttached, lambda f: not f.hint)
        await newest(facts, GpuLinkRead, lambda f: f.energy_j == 2.0)
    assert "energy" in hinted.hint
    assert of(facts, SourceLost) == []


# --- against nvidia-ml-py -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", list(Code))
def test_the_codes_are_those_of_the_library(code: Code) -> None:
    assert getattr(pynvml, f"NVML_ERROR_{code.name}") == code


def test_the_layout_of_a_field_is_that_of_the_library() -> None:
    theirs, ours = pynvml.c_nvmlFieldValue_t, FieldValue
    assert ctypes.sizeof(ours) == ctypes.sizeof(theirs)
    names = [name for name, *_ in theirs._fields_]
    assert [getattr(ours, name).offset for name, _ in FieldValue._fields_] == [getattr(theirs, n).offset for n in names]


def test_the_enumerators_are_those_of_the_library() -> None:
    assert quick.POWER_INSTANT == pynvml.NVML_FI_DEV_POWER_INSTANT
    assert (device.CLOCK_SM, device.CLOCK_MEMORY) == (pynvml.NVML_CLOCK_SM, pynvml.NVML_CLOCK_MEM)
    assert pynvml.nvmlMemory_v2 == device.MEMORY_V2
    assert device.THRESHOLD_SLOWDOWN == pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
    assert device.THRESHOLD_GPU_MAX == pynvml.NVML_TEMPERATURE_THRESHOLD_GPU_MAX
    assert (device.PCIE_TX, device.PCIE_RX) == (pynvml.NVML_PCIE_UTIL_TX_BYTES, pynvml.NVML_PCIE_UTIL_RX_BYTES)
    assert set(device.VIRTUAL) == {
        pynvml.NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH,
        pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU,
        pynvml.NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU,
        pynvml.NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA,
    }
    assert FUNCTION_NOT_FOUND == pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
