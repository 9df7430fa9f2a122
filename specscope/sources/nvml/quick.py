"""What takes the driver microseconds to tell of one device: power, clock, use, and why the clock is not higher.

Measured on an H200 (driver 580): power 10 µs, use 22 µs, reasons 14-260 µs.
"""

from __future__ import annotations

import ctypes
from ctypes import byref
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias

from specscope.events import MACHINE, GpuSampled
from specscope.sources.nvml.asking import NOT_AVAILABLE, Reading

if TYPE_CHECKING:
    from specscope.sources.nvml.asking import Device
    from specscope.sources.source import Clock

    _Kept: TypeAlias = tuple[float, int | None, bool, int | None, int | None, int | None, int | None]

POWER_INSTANT: Final = 186
"""NVML_FI_DEV_POWER_INSTANT, mW, from driver 530 on. nvmlDeviceGetPowerUsage is a second's average on most devices
since Ampere (nvml.h), too slow for what a request draws."""

CLOCK_SM: Final = 1  # NVML_CLOCK_SM

WIDTHS: Final = {1: 32, 2: 64, 3: 64, 5: 31}
"""Bits of a field's value by its type (nvml.h, nvmlValueType_t): unsigned int, long, long long, and int."""


class FieldValue(ctypes.Structure):
    """nvmlFieldValue_t of nvml.h, the union of its value as 64 bits."""

    _fields_ = [
        ("field", ctypes.c_uint32),
        ("scope", ctypes.c_uint32),
        ("timestamp", ctypes.c_int64),
        ("latency_us", ctypes.c_int64),
        ("type", ctypes.c_uint32),
        ("code", ctypes.c_uint32),
        ("value", ctypes.c_uint64),
    ]


class Quick:
    """Samples one device.

    Args:
        device: the device.
        index: its number.

    Attributes:
        busy: a kernel ran in the driver's latest period, by the last sample.
    """

    def __init__(self, device: Device, index: int) -> None:
        self._index = index
        self._kept: list[_Kept] = []
        self.busy = False
        self._field = FieldValue(POWER_INSTANT)
        self._power_mw = ctypes.c_uint()
        self._clock_mhz = ctypes.c_uint()
        self._reasons = ctypes.c_ulonglong()
        self._used = (ctypes.c_uint * 2)()  # nvmlUtilization_t: gpu, memory
        self._read_field = Reading(device, ("nvmlDeviceGetFieldValues",), ctypes.c_int(1), byref(self._field))
        self._read_power = Reading(device, ("nvmlDeviceGetPowerUsage",), byref(self._power_mw))
        self._read_use = Reading(device, ("nvmlDeviceGetUtilizationRates",), byref(self._used))
        self._read_clock = Reading(device, ("nvmlDeviceGetClockInfo",), ctypes.c_uint(CLOCK_SM), byref(self._clock_mhz))
        self._read_reasons = Reading(
            device,
            ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
            byref(self._reasons),
        )

    def sample(self) -> bool:
        """Read the device and keep what it told for ``told``.

        The fact is made later, of several samples at once: woken ten times a second, Python has forgotten all it
        needs, and making one costs as much as asking the driver (benchmarks/nvml_cost.py).

        Returns:
            Whether it told anything; ``busy`` is then up to date.

        Raises:
            DeviceLostError: the device is gone.
            DriverGoneError: the driver is.
        """
        power_mw, instant = self._instant_mw(), True
        if power_mw is None and self._read_power.ask():
            power_mw, instant = _told(self._power_mw.value) or None, False
        busy_pct = memory_busy_pct = clock_mhz = reasons = None
        if self._read_use.ask():
            busy_pct, memory_busy_pct = map(_told, self._used)
        if self._read_clock.ask():
            clock_mhz = _told(self._clock_mhz.value)
        if self._read_reasons.ask():
            reasons = _told(self._reasons.value)
        self.busy = bool(busy_pct)
        if power_mw is busy_pct is clock_mhz is reasons is None:
            return False
        self._kept.append((monotonic(), power_mw, instant, clock_mhz, busy_pct, memory_busy_pct, reasons))
        return True

    def told(self, clock: Clock) -> list[GpuSampled]:
        """The samples since the last call in which the device told something, oldest first."""
        kept, self._kept = self._kept, []
        return [
            GpuSampled(
                at=clock.at_monotonic(read_s),
                target=MACHINE,
                index=self._index,
                power_w=None if power_mw is None else power_mw / 1000,
                instant=None if power_mw is None else instant,
                sm_clock_mhz=clock_mhz,
                busy_pct=busy_pct,
                memory_busy_pct=memory_busy_pct,
                reasons=reasons,
            )
            for read_s, power_mw, instant, clock_mhz, busy_pct, memory_busy_pct, reasons in kept
        ]

    def _instant_mw(self) -> int | None:
        """Power now. Nothing that runs draws 0 W: a driver that says so does not measure it."""
        field = self._field
        if not self._read_field.ask():
            return None
        if field.code:
            self._read_field.refuse(field.code)
            return None
        bits = WIDTHS.get(field.type)
        return None if bits is None else _told(field.value & ((1 << bits) - 1)) or None


def _told(value: int) -> int | None:
    return None if value in NOT_AVAILABLE else value
