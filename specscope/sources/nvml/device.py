"""What is read of one device, as facts, by how dear it is to read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import psutil
from msgspec.structs import replace

from specscope.events import MACHINE, GpuFound, GpuLinkRead, GpuMemoryRead
from specscope.sources.nvml.asking import NOT_AVAILABLE
from specscope.sources.nvml.library import Code
from specscope.sources.nvml.processes import processes

if TYPE_CHECKING:
    from specscope.sources.nvml.asking import Device
    from specscope.sources.source import Clock

# Enumerators of nvml.h.
CLOCK_SM, CLOCK_MEMORY = 1, 2
SENSOR_GPU = 0
THRESHOLD_SLOWDOWN, THRESHOLD_GPU_MAX = 1, 3
PCIE_TX, PCIE_RX = 0, 1

MEMORY_V2: Final = 0x02000028
"""nvmlMemory_v2: tells the driver's reserve apart, from driver 510 on; before, it is part of what is used."""

WINDOWS: Final = Path("/dev/dxg")
"""The way to the host's graphics driver in WSL2 (drivers/hv/dxgkrnl of Microsoft's kernel), and nowhere else."""

VIRTUAL: Final[dict[int, Literal["passthrough", "vgpu", "host_vgpu", "host_vsga"]]] = {
    1: "passthrough",
    2: "vgpu",
    3: "host_vgpu",
    4: "host_vsga",
}
"""nvmlGpuVirtualizationMode_t; 0 is a bare device."""


class Memory(NamedTuple):
    """Bytes of a device's memory; ``total`` with the driver's reserve, ``used`` without where it is told apart."""

    total: int | None = None
    reserved: int | None = None
    used: int | None = None
    free: int | None = None
    unified: bool | None = None


def memory_of(device: Device, *, mig: bool = False) -> Memory:
    """Memory, of the system where the device has none of its own.

    The driver of such a device (GB10, Jetson) does not support the question at all. A device that is cut into
    instances answers root alone (nvml.h, nvmlDeviceGetMemoryInfo); what is seen of its instances stands in then.
    """
    told = device.ask("nvmlDeviceGetMemoryInfo", MEMORY_V2)
    if told is not None:
        return Memory(_known(told.total), _known(told.reserved), _known(told.used), _known(told.free), unified=False)
    told = device.ask("nvmlDeviceGetMemoryInfo")
    if told is not None:
        return Memory(_known(told.total), None, _known(told.used), _known(told.free), unified=False)
    if mig:
        return _sum([memory_of(instance) for instance in device.instances()])
    if device.never.get(("nvmlDeviceGetMemoryInfo",)) != Code.NOT_SUPPORTED:
        return Memory()
    system = psutil.virtual_memory()
    return Memory(system.total, None, system.total - system.available, system.available, unified=True)


def found(device: Device, index: int, clock: Clock) -> GpuFound:
    """All that does not change from second to second."""
    ask, positive = device.ask, device.positive
    mode = ask("nvmlDeviceGetMigMode")
    mig = None if mode is None else mode[0] == 1
    memory = memory_of(device, mig=bool(mig))
    pci = ask("nvmlDeviceGetPciInfo")
    constraints = ask("nvmlDeviceGetPowerManagementLimitConstraints")
    compute = ask("nvmlDeviceGetCudaComputeCapability")
    return GpuFound(
        at=clock.now(),
        target=MACHINE,
        index=index,
        uuid=ask("nvmlDeviceGetUUID") or None,
        name=ask("nvmlDeviceGetName") or None,
        bus_id=(pci.busId or None) if pci is not None else None,
        minor=ask("nvmlDeviceGetMinorNumber"),
        driver=device.library.driver,
        memory_bytes=memory.total - (memory.reserved or 0) if memory.total else None,
        reserved_bytes=memory.reserved,
        unified=memory.unified,
        power_limit_w=_watts(positive("nvmlDeviceGetEnforcedPowerLimit")),
        power_default_w=_watts(positive("nvmlDeviceGetPowerManagementDefaultLimit")),
        power_max_w=None if constraints is None else _watts(_known(constraints[1]) or None),
        sm_clock_max_mhz=positive("nvmlDeviceGetMaxClockInfo", CLOCK_SM),
        memory_clock_max_mhz=positive("nvmlDeviceGetMaxClockInfo", CLOCK_MEMORY),
        memory_bus_bits=positive("nvmlDeviceGetMemoryBusWidth"),
        slowdown_c=positive("nvmlDeviceGetTemperatureThreshold", THRESHOLD_SLOWDOWN),
        max_c=positive("nvmlDeviceGetTemperatureThreshold", THRESHOLD_GPU_MAX),
        link_gen_max=positive("nvmlDeviceGetMaxPcieLinkGeneration"),
        link_width_max=positive("nvmlDeviceGetMaxPcieLinkWidth"),
        mig=mig,
        virtual=VIRTUAL.get(ask("nvmlDeviceGetVirtualizationMode") or 0),
        compute=None if compute is None else f"{compute[0]}.{compute[1]}",
        wddm=True if WINDOWS.exists() else None,
    )


def found_again(device: Device, before: GpuFound, clock: Clock) -> GpuFound:
    """The same with what may change while it runs read again; ``before`` itself where nothing has."""
    mode = device.ask("nvmlDeviceGetMigMode")
    now = replace(
        before,
        power_limit_w=_watts(device.positive("nvmlDeviceGetEnforcedPowerLimit")),
        mig=None if mode is None else mode[0] == 1,
    )
    return before if now == before else replace(now, at=clock.now())


def memory_read(device: Device, of: GpuFound, clock: Clock) -> GpuMemoryRead | None:
    """Memory and who holds it, temperature, memory clock; None: nothing of it is told."""
    at, memory = clock.now(), memory_of(device, mig=bool(of.mig))
    fact = GpuMemoryRead(
        at=at,
        target=MACHINE,
        index=of.index,
        used_bytes=memory.used,
        free_bytes=memory.free,
        processes=processes(device, mig=bool(of.mig)),
        temperature_c=_temperature(device),
        memory_clock_mhz=device.ask("nvmlDeviceGetClockInfo", CLOCK_MEMORY),
    )
    return None if fact == GpuMemoryRead(at=at, target=MACHINE, index=of.index) else fact


def link_read(device: Device, index: int, clock: Clock, *, traffic: bool) -> GpuLinkRead | None:
    """Energy and link, and PCIe traffic if asked for, which takes the driver 20 ms for each direction (H200).

    The time is the energy's, which is of use in differences alone. Traffic is in KB of 1,000 bytes (nvml.h: KB/s).
    """
    energy_mj = device.positive("nvmlDeviceGetTotalEnergyConsumption")
    at = clock.now()
    tx = device.ask("nvmlDeviceGetPcieThroughput", PCIE_TX) if traffic else None
    rx = device.ask("nvmlDeviceGetPcieThroughput", PCIE_RX) if traffic else None
    fact = GpuLinkRead(
        at=at,
        target=MACHINE,
        index=index,
        energy_j=None if energy_mj is None else energy_mj / 1000,
        to_host_bytes_per_s=None if tx is None else tx * 1000,
        to_device_bytes_per_s=None if rx is None else rx * 1000,
        link_gen=device.positive("nvmlDeviceGetCurrPcieLinkGeneration"),
        link_width=device.positive("nvmlDeviceGetCurrPcieLinkWidth"),
    )
    return None if fact == GpuLinkRead(at=at, target=MACHINE, index=index) else fact


def _temperature(device: Device) -> int | None:
    """By the function that drivers before 570 know, or by the one that takes its place (pynvml: until CUDA 14)."""
    told = device.ask("nvmlDeviceGetTemperature", SENSOR_GPU)
    return told if told is not None else device.ask("nvmlDeviceGetTemperatureV", SENSOR_GPU)


def _known(value: int) -> int | None:
    return None if value in NOT_AVAILABLE else value


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000


def _sum(parts: list[Memory]) -> Memory:
    """Of instances; what one of them does not tell is unknown of all."""
    if not parts:
        return Memory()
    columns = zip(*((p.total, p.reserved, p.used, p.free) for p in parts), strict=True)
    total, reserved, used, free = (None if None in c else sum(x for x in c if x is not None) for c in columns)
    return Memory(total, reserved, used, free, unified=False)
