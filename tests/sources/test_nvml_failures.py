"""What the driver's library refuses: one call, one device, all of it; and calls that do not come back."""

from __future__ import annotations

import asyncio
import ctypes
from typing import TYPE_CHECKING

import msgspec
import pytest
from nvml_standin import (
    DRIVER_NOT_LOADED,
    GPU_IS_LOST,
    NO_PERMISSION,
    NOT_SUPPORTED,
    UNKNOWN,
    VERSION_MISMATCH,
    busy_h200,
    h200,
)
from nvml_watch import first, found, newest, of, told, until, watching_gpus

from specscope.events import (
    GpuFound,
    GpuLinkRead,
    GpuLost,
    GpuMemoryRead,
    GpuSampled,
    SourceAttached,
    SourceLost,
)
from specscope.sources.nvml import library, life, rounds

if TYPE_CHECKING:
    from nvml_standin import Gpus


FUNCTIONS = sorted({name.partition(":")[0] for name in busy_h200()} | {"DeviceGetMinorNumber"})

HIDES: dict[str, set[str]] = {
    "DeviceGetName": {"name"},
    "DeviceGetUUID": {"uuid"},
    "DeviceGetPciInfo_v3": {"bus_id"},
    "DeviceGetMinorNumber": {"minor"},
    "DeviceGetCudaComputeCapability": {"compute"},
    "DeviceGetMemoryBusWidth": {"memory_bus_bits"},
    "DeviceGetEnforcedPowerLimit": {"power_limit_w"},
    "DeviceGetPowerManagementDefaultLimit": {"power_default_w"},
    "DeviceGetPowerManagementLimitConstraints": {"power_max_w"},
    "DeviceGetMaxClockInfo": {"sm_clock_max_mhz", "memory_clock_max_mhz"},
    "DeviceGetTemperatureThreshold": {"slowdown_c", "max_c"},
    "DeviceGetMaxPcieLinkGeneration": {"link_gen_max"},
    "DeviceGetMaxPcieLinkWidth": {"link_width_max"},
    "DeviceGetMigMode": {"mig"},
    "DeviceGetMemoryInfo_v2": {"reserved_bytes"},
    "DeviceGetUtilizationRates": {"busy_pct", "memory_busy_pct"},
    "DeviceGetClockInfo": {"sm_clock_mhz", "memory_clock_mhz"},
    "DeviceGetTemperature": {"temperature_c"},
    "DeviceGetTotalEnergyConsumption": {"energy_j"},
    "DeviceGetPcieThroughput": {"to_host_bytes_per_s", "to_device_bytes_per_s"},
    "DeviceGetCurrPcieLinkGeneration": {"link_gen"},
    "DeviceGetCurrPcieLinkWidth": {"link_width"},
}
"""What is unknown when a function fails; nothing where another one stands in for it."""

NO_REASONS: dict[str, set[str]] = {"DeviceGetCurrentClocksEventReasons": {"reasons"}}
LEFT = {UNKNOWN: NO_REASONS, NO_PERMISSION: NO_REASONS}
"""What is unknown besides when a function fails with a code that may be another one the next time."""


@pytest.mark.parametrize("code", [NOT_SUPPORTED, UNKNOWN, NO_PERMISSION], ids=["not supported", "unknown", "denied"])
async def test_one_function_that_fails_hides_only_its_own(gpus: Gpus, code: int) -> None:
    for function in FUNCTIONS:  # one device for each
        index = gpus.add({k: v for k, v in busy_h200().items() if k.partition(":")[0] != function})
        gpus.set(index, function, ret=code)
    hidden: dict[str, set[str]] = {}
    async with watching_gpus() as facts:
        for i, function in enumerate(FUNCTIONS):
            read = [await first(facts, kind, i) for kind in (GpuFound, GpuMemoryRead, GpuLinkRead, GpuSampled)]
            last = await newest(facts, GpuSampled, lambda f, i=i: f.index == i, after=read[-1])  # older names by then
            told_of = {k: v for f in (*read[:-1], last) for k, v in msgspec.structs.asdict(f).items()}
            hidden[function] = {k for k, v in told_of.items() if v is None} - {"virtual", "wddm"}
    assert {f: names for f, names in hidden.items() if names} == HIDES | LEFT.get(code, {})
    assert of(facts, SourceLost) == of(facts, GpuLost) == []


async def test_everything_denied_is_a_device_without_figures(gpus: Gpus) -> None:
    gpus.add(h200())
    gpus.set("*", "*", ret=NO_PERMISSION)
    async with watching_gpus() as facts:
        device = await found(facts)
        await asyncio.sleep(1.2)
    assert device == GpuFound(at=device.at, target="machine", index=0, driver="580.159.04")
    assert of(facts, GpuSampled) == of(facts, GpuMemoryRead) == of(facts, GpuLinkRead) == []


async def test_a_device_that_may_not_be_asked_at_all(gpus: Gpus) -> None:
    gpus.add(h200())
    gpus.add(h200())
    gpus.set(0, "DeviceGetHandleByIndex_v2", ret=NO_PERMISSION)
    async with watching_gpus() as facts:
        await first(facts, GpuSampled, 1)
    assert [(f.index, f.reason) for f in of(facts, GpuLost)] == [(0, "this user may not ask it")]
    assert {f.index for f in of(facts, GpuFound)} == {1}


@pytest.mark.parametrize("function", ["*", "DeviceGetUtilizationRates", "DeviceGetTotalEnergyConsumption"])
async def test_a_device_is_lost_and_comes_back(gpus: Gpus, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "LOST_LOOK_S", 0.5)
    gpus.add(busy_h200())
    gpus.add(busy_h200())
    async with watching_gpus() as facts:
        await first(facts, GpuLinkRead, 1)
        gpus.set(0, function, ret=GPU_IS_LOST)
        lost = await first(facts, GpuLost)
        await newest(facts, GpuMemoryRead, lambda f: f.index == 1, after=lost)
        gpus.forget(0, function)
        if function != "*":
            gpus.set(0, function, 50, 50)
        back = await newest(facts, GpuFound, lambda f: f.index == 0, after=lost)
        await newest(facts, GpuSampled, lambda f: f.index == 0, after=back)
    assert lost.reason == "it has fallen off the bus or stopped answering"
    assert {f.index for f in of(facts, GpuLost)} == {0}
    assert told(facts) == ["2 devices, driver 580.159.04"]
    if function == "*":
        assert len(of(facts, GpuLost)) == 1
        assert not [f for f in of(facts, GpuSampled) if f.index == 0 and lost.at < f.at < back.at]


async def test_a_device_that_stays_lost_has_the_library_initialised_anew(
    gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "RENEW_S", 0.1)
    made: list[library.Library] = []

    class Counted(library.Library):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(life, "Library", Counted)
    gpus.add(busy_h200())
    gpus.add(busy_h200())
    gpus.set(0, "*", ret=GPU_IS_LOST)
    async with watching_gpus() as facts:
        await until(lambda: len(made) == 3)
        gpus.forget(0, "*")
        await newest(facts, GpuFound, lambda f: f.index == 0)
    assert len(of(facts, GpuLost)) == 1
    assert told(facts) == ["2 devices, driver 580.159.04"]
    assert ctypes.CDLL(str(gpus.library)).nvmlStandinInits() == 0


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (1, ("the NVIDIA driver has gone away", "")),
        (DRIVER_NOT_LOADED, ("the NVIDIA driver is not loaded", "modprobe nvidia")),
        (
            VERSION_MISMATCH,
            ("the NVIDIA driver and its library differ in version, as after an update", "restart the machine"),
        ),
    ],
)
@pytest.mark.parametrize("function", ["*", "DeviceGetTotalEnergyConsumption"], ids=["all", "the slow thread's"])
async def test_the_driver_goes_and_comes_back(
    gpus: Gpus, code: int, says: tuple[str, str], function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason, hint = says[0] + library.UNKNOWN_FIGURES, says[1]
    monkeypatch.setattr(life, "RETRY_S", 0.05)
    gpus.add(busy_h200())
    async with watching_gpus() as facts:
        await first(facts, GpuLinkRead)
        gpus.set("*", "InitWithFlags", ret=code)
        gpus.set("*", function, ret=code)
        lost = await first(facts, SourceLost)
        await asyncio.sleep(0.5)  # several tries
        gpus.forget("*", function)
        gpus.forget("*", "InitWithFlags")
        back = await newest(facts, SourceAttached, lambda _: True, after=lost)
        await newest(facts, GpuFound, lambda _: True, after=back)
        await newest(facts, GpuSampled, lambda _: True, after=back)
    assert lost.reason == reason
    assert hint in lost.hint
    assert told(facts) == ["1 device, driver 580.159.04", reason, "1 device, driver 580.159.04"]
    assert of(facts, GpuLost) == []
    assert ctypes.CDLL(str(gpus.library)).nvmlStandinInits() == 0


async def test_a_driver_without_devices(gpus: Gpus) -> None:
    async with watching_gpus() as facts:
        await first(facts, SourceLost)
    assert told(facts) == ["the NVIDIA driver shows no device: GPU figures are unknown"]


async def test_a_driver_that_cannot_be_initialised(gpus: Gpus) -> None:
    gpus.set("*", "InitWithFlags", ret=NO_PERMISSION)
    async with watching_gpus() as facts:
        lost = await first(facts, SourceLost)
    assert lost.reason.startswith("the NVIDIA driver cannot be asked (Insufficient Permissions)")
    assert "/dev/nvidiactl" in lost.hint


async def test_no_driver_is_one_line_and_looked_for_again(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "SONAME", "libnvidia-ml-that-is-not-here.so.1")
    monkeypatch.setattr(life, "ABSENT_RETRY_S", 0.02)
    gpus.add(h200())
    async with watching_gpus() as facts:
        await first(facts, SourceLost)
        await asyncio.sleep(0.3)
        assert told(facts) == ["no NVIDIA driver here: GPU figures are unknown"]
        assert of(facts, SourceLost)[0].hint == ""
        monkeypatch.undo()
        monkeypatch.setenv("NVML_STANDIN_SCRIPT", str(gpus.script))
        await first(facts, GpuSampled)


async def test_a_mistake_of_our_own_is_told(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(rounds, "memory_read", fails)
    gpus.add(h200())
    async with watching_gpus() as facts:
        lost = await first(facts, SourceLost)
    assert lost.reason == "specscope failed (KeyError: 'x'): GPU figures are unknown"
