"""Facts about the machine's GPUs, as the driver's library (NVML) tells them.

They are the machine's and not a server's: ``target`` is ``machine``. Which server uses which device follows from the
processes of :class:`GpuMemoryRead` and from the device files that a server holds (``ProcessSampled.gpu_minors``).
Every field is optional: a field that the driver does not tell is None.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from specscope.events.fact import Amount, Fact

MACHINE = "machine"
"""The ``target`` of facts that are the machine's."""

Index: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1023)]
"""NVML's number of a device: the order of PCI addresses, as nvidia-smi counts."""


class GpuFound(Fact, frozen=True, kw_only=True, tag="gpu"):
    """A device, its limits and its greatest figures; told once, and again whenever one of them changes.

    Attributes:
        minor: N of /dev/nvidiaN.
        memory_bytes: what CUDA can allocate from, the driver's own reserve left out where it is told apart.
        unified: the device computes in the system's memory (GB10, Jetson): ``memory_bytes`` is the system's then.
        power_limit_w: in force now; power_max_w: the highest that can be set.
        slowdown_c, max_c: temperatures at which the clocks are cut by hardware, and which software keeps to.
        memory_bus_bits: with the memory clock it gives the memory's bandwidth.
        mig: whether the device is cut into instances.
        virtual: how the machine has the device, where it is no bare one: ``passthrough``, ``vgpu``, ``host_vgpu``.
        compute: CUDA compute capability.
        wddm: Windows manages its memory (WSL2) and moves it to the system's when it runs out; None: not known to.
    """

    index: Index
    uuid: str | None = None
    name: str | None = None
    bus_id: str | None = None
    minor: int | None = None
    driver: str | None = None
    memory_bytes: int | None = None
    reserved_bytes: int | None = None
    unified: bool | None = None
    power_limit_w: Amount | None = None
    power_default_w: Amount | None = None
    power_max_w: Amount | None = None
    sm_clock_max_mhz: int | None = None
    memory_clock_max_mhz: int | None = None
    memory_bus_bits: int | None = None
    slowdown_c: int | None = None
    max_c: int | None = None
    link_gen_max: int | None = None
    link_width_max: int | None = None
    mig: bool | None = None
    virtual: Literal["passthrough", "vgpu", "host_vgpu", "host_vsga"] | None = None
    compute: str | None = None
    wddm: bool | None = None


class GpuSampled(Fact, frozen=True, kw_only=True, tag="gpu_now"):
    """What takes microseconds to read, ten times a second on a device in use.

    Attributes:
        power_w: the driver's instant reading where there is one, else its average (a second, on most devices).
        instant: which of the two it is.
        busy_pct: share of the driver's last period in which a kernel ran; memory_busy_pct: in which memory was
            read or written. Neither is a capacity.
        reasons: bits of clocks event reasons (nvml.h, nvmlClocksEventReason*): why clocks are not higher.
    """

    index: Index
    power_w: Amount | None = None
    instant: bool | None = None
    sm_clock_mhz: int | None = None
    busy_pct: int | None = None
    memory_busy_pct: int | None = None
    reasons: int | None = None


class GpuMemoryRead(Fact, frozen=True, kw_only=True, tag="gpu_memory"):
    """Memory and temperature, once a second.

    ``processes``: (pid, bytes or None) of what computes or draws on the device (a server on Vulkan is listed as
    drawing), pids as the driver's host counts them; None: not told.
    """

    index: Index
    used_bytes: int | None = None
    free_bytes: int | None = None
    processes: list[tuple[int, int | None]] | None = None
    temperature_c: int | None = None
    memory_clock_mhz: int | None = None


class GpuLinkRead(Fact, frozen=True, kw_only=True, tag="gpu_link"):
    """What takes milliseconds to read: the energy counter, the PCIe link and its traffic.

    Attributes:
        energy_j: consumed since the driver was loaded.
        to_host_bytes_per_s, to_device_bytes_per_s: PCIe traffic of a window of about 20 ms.
        link_gen, link_width: as negotiated now; both fall at rest.
    """

    index: Index
    energy_j: Amount | None = None
    to_host_bytes_per_s: int | None = None
    to_device_bytes_per_s: int | None = None
    link_gen: int | None = None
    link_width: int | None = None


class GpuLost(Fact, frozen=True, kw_only=True, tag="gpu_lost"):
    """One device stopped answering (fallen off the bus, a reset) while others may go on; a GpuFound brings it back."""

    index: Index
    reason: str
