"""NVML without a GPU: a ``libnvidia-ml.so.1`` that answers what a script says, for the real nvidia-ml-py.

In a test of this process, the fixture ``gpus`` (tests/conftest.py) gives an empty machine with the library in place:

    gpus.add(h200())                              # device 0, healthy, idle
    gpus.set(0, "DeviceGetPowerUsage", 77_343)    # milliwatts; numbers in the order of the function's results
    gpus.set(0, "DeviceGetClockInfo", 1980, arg=1)
    gpus.set(0, "DeviceGetTotalEnergyConsumption", ret=NOT_SUPPORTED)
    gpus.set("*", "*", ret=DRIVER_NOT_LOADED)     # whatever is asked of any device
    gpus.forget(0, "DeviceGetPowerUsage")
    gpus.replay(0, H200, speed=10)                # recorded frames

Changes are written at once and seen by the library within 10 ms. For a process of its own, ``gpus.env()`` is the
environment that puts the library in its way (LD_LIBRARY_PATH) and names the script (NVML_STANDIN_SCRIPT):

    subprocess.run([sys.executable, "-m", "specscope", "doctor", url], env=gpus.env() | {"SPECSCOPE_GPU": "on"})

What the lines of a script mean stands at the top of ``nvml.c``.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
H200 = HERE.parent / "fixtures" / "nvml" / "h200.jsonl"
"""An H200 at 10 Hz: at rest, a model loaded, a server decoding. Columns: time, power mW, use %, memory use %, used MiB,
PCIe KB/s to the host and from it, SM clock MHz, reasons, temperature, processes, how long the sample took in ms."""

SONAME = "libnvidia-ml.so.1"

INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
DRIVER_NOT_LOADED = 9
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
VERSION_MISMATCH = 18
UNKNOWN = 999

NA32 = 2**32 - 1
NA64 = 2**64 - 1
GIB = 1 << 30

Who = int | str
"""A device's number, ``*``, or ``0/1``: instance 1 of device 0."""

Rule = tuple[str, tuple[int, ...] | str]
"""Function (with ``:ARG``) and what it gives."""


def build(folder: Path, *, old: bool = False, look_s: float = 0.01) -> Path:
    """Compile the library into a folder.

    Args:
        folder: where to.
        old: without the functions that drivers before 510 lack.
        look_s: how often it looks at the script, which costs a system call.
    """
    if shutil.which("gcc") is None:
        raise RuntimeError("the tests of the GPU source compile a library: install gcc and libc6-dev")
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / SONAME
    flags = [
        "-O2",
        "-shared",
        "-fPIC",
        "-pthread",
        f"-Wl,-soname,{SONAME}",
        f"-DLOOK_S={look_s}",
        *(["-DOLD"] if old else []),
    ]
    subprocess.run(["gcc", *flags, "-o", str(library), str(HERE / "nvml.c"), "-lm"], check=True)
    return library


class Gpus:
    """A machine's GPUs, as a script.

    Args:
        library: the stand-in.
        script: where its script lies.
    """

    def __init__(self, library: Path, script: Path) -> None:
        self.library = library
        self.script = script
        self._devices = 0
        self._rules: dict[tuple[str, str], str] = {}
        self._replays: list[str] = []
        self._write()

    def load(self) -> None:
        """Put the library into this process, where it stays."""
        ctypes.CDLL(str(self.library))

    def env(self) -> dict[str, str]:
        """The environment of a process that is to meet these GPUs."""
        return {**os.environ, "LD_LIBRARY_PATH": str(self.library.parent), "NVML_STANDIN_SCRIPT": str(self.script)}

    def add(self, rules: Mapping[str, tuple[int, ...] | str]) -> int:
        """One more device; returns its number."""
        index = self._devices
        self._devices += 1
        for function, gives in rules.items():
            self._put(str(index), function, _gives(gives))
        self._put(str(index), "DeviceGetMinorNumber", f"v={index}")
        self._write()
        return index

    def remove_all(self) -> None:
        """No device, as if none had ever been there."""
        self._devices = 0
        self._rules.clear()
        self._write()

    def set(
        self, who: Who, function: str, *values: int, arg: int | None = None, ret: int = 0, ms: int = 0, text: str = ""
    ) -> None:
        """What a function gives from now on.

        Args:
            who: whom it is asked.
            function: its name without ``nvml``; ``*`` for all, of which only ``ret`` and ``ms`` count.
            values: its results.
            arg: the enumerator it is asked for; None: any.
            ret: its return code.
            ms: how long it takes.
            text: its result, if that is a text.
        """
        name = function if arg is None else f"{function}:{arg}"
        words = [f"ret={ret}", f"ms={ms}", *([f"v={','.join(map(str, values))}"] if values else []), f"s={text}"]
        self._put(str(who), name, " ".join(words))
        self._write()

    def forget(self, who: Who, function: str, arg: int | None = None) -> None:
        """Take such a rule back: not supported, unless a rule for ``*`` fits."""
        self._rules.pop((str(who), function if arg is None else f"{function}:{arg}"), None)
        self._write()

    def replay(self, index: int, frames: Path, speed: float = 1.0) -> None:
        """Play recorded frames on a device, over and over."""
        self._replays.append(f"replay {index} {frames} {speed}")
        self._write()

    def _put(self, who: str, function: str, rest: str) -> None:
        self._rules.pop((who, function), None)  # the last line counts
        self._rules[who, function] = rest

    def _write(self) -> None:
        rules = [f"{who} {function} {rest}" for (who, function), rest in self._rules.items()]
        made = self.script.with_suffix(".new")
        made.write_text("\n".join([f"devices {self._devices}", *self._replays, *rules]) + "\n", encoding="ascii")
        made.replace(self.script)


def _gives(gives: tuple[int, ...] | str) -> str:
    return f"s={gives}" if isinstance(gives, str) else f"v={','.join(map(str, gives))}"


def h200() -> dict[str, tuple[int, ...] | str]:
    """A healthy H200 at rest. Limits as nvidia-smi -q shows them; the other figures are those of the recording."""
    none: tuple[int, ...] = ()
    return {
        "DeviceGetName": "NVIDIA H200",
        "DeviceGetUUID": "GPU-00000000-0000-0000-0000-000000000200",
        "DeviceGetPciInfo_v3": "00000000:19:00.0",
        "DeviceGetCudaComputeCapability": (9, 0),
        "DeviceGetMemoryInfo": (143771 << 20, 616 << 20, 0),
        "DeviceGetMemoryInfo_v2": (143771 << 20, 616 << 20, 0),
        "DeviceGetMemoryBusWidth": (6144,),
        "DeviceGetEnforcedPowerLimit": (700_000,),
        "DeviceGetPowerManagementDefaultLimit": (700_000,),
        "DeviceGetPowerManagementLimitConstraints": (200_000, 700_000),
        "DeviceGetMaxClockInfo:1": (1980,),
        "DeviceGetMaxClockInfo:2": (3201,),
        "DeviceGetTemperatureThreshold:1": (92,),
        "DeviceGetTemperatureThreshold:3": (87,),
        "DeviceGetMaxPcieLinkGeneration": (5,),
        "DeviceGetMaxPcieLinkWidth": (16,),
        "DeviceGetCurrPcieLinkGeneration": (5,),
        "DeviceGetCurrPcieLinkWidth": (16,),
        "DeviceGetMigMode": (0, 0),
        "DeviceGetVirtualizationMode": (0,),
        "DeviceGetFieldValues:186": (77_343,),
        "DeviceGetPowerUsage": (77_500,),
        "DeviceGetUtilizationRates": (0, 0),
        "DeviceGetClockInfo:1": (345,),
        "DeviceGetClockInfo:2": (3201,),
        "DeviceGetCurrentClocksEventReasons": (1,),
        "DeviceGetCurrentClocksThrottleReasons": (1,),
        "DeviceGetTemperature:0": (37,),
        "DeviceGetComputeRunningProcesses_v3": none,
        "DeviceGetComputeRunningProcesses_v2": none,
        "DeviceGetMPSComputeRunningProcesses_v3": none,
        "DeviceGetGraphicsRunningProcesses_v3": none,
        "DeviceGetTotalEnergyConsumption": (1_234_567,),
        "DeviceGetPcieThroughput:0": (1352,),
        "DeviceGetPcieThroughput:1": (576,),
    }


def busy_h200(pid: int = 474) -> dict[str, tuple[int, ...] | str]:
    """The same at work for a process that holds 10 GiB."""
    return h200() | {
        "DeviceGetFieldValues:186": (450_148,),
        "DeviceGetUtilizationRates": (90, 40),
        "DeviceGetClockInfo:1": (1980,),
        "DeviceGetCurrentClocksEventReasons": (0,),
        "DeviceGetMemoryInfo": (143771 << 20, 616 << 20, 10 * GIB),
        "DeviceGetMemoryInfo_v2": (143771 << 20, 616 << 20, 10 * GIB),
        "DeviceGetComputeRunningProcesses_v3": (pid, 10 * GIB),
        "DeviceGetComputeRunningProcesses_v2": (pid, 10 * GIB),
    }


def laptop() -> dict[str, tuple[int, ...] | str]:
    """A GeForce in a laptop: no power limits, no energy counter of use, 8 lanes."""
    missing = ("EnforcedPowerLimit", "PowerManagementDefaultLimit", "PowerManagementLimitConstraints", "MigMode")
    rules = {k: v for k, v in busy_h200().items() if k.removeprefix("DeviceGet") not in missing}
    return rules | {
        "DeviceGetName": "NVIDIA GeForce RTX 4070 Laptop GPU",
        "DeviceGetCudaComputeCapability": (8, 9),
        "DeviceGetMemoryBusWidth": (128,),
        "DeviceGetMaxPcieLinkWidth": (8,),
    }


def gb10() -> dict[str, tuple[int, ...] | str]:
    """A DGX Spark: no memory of its own, and nothing of it is told."""
    missing = ("MemoryInfo", "MemoryInfo_v2", "MemoryBusWidth", "MaxClockInfo:2", "ClockInfo:2", "EnforcedPowerLimit")
    rules = {k: v for k, v in busy_h200().items() if k.removeprefix("DeviceGet") not in missing}
    return rules | {"DeviceGetName": "NVIDIA GB10", "DeviceGetCudaComputeCapability": (12, 1)}


def jetson() -> dict[str, tuple[int, ...] | str]:
    """An Orin: the library initialises, and answers next to nothing."""
    return {"DeviceGetName": "Orin (nvgpu)", "DeviceGetCudaComputeCapability": (8, 7)}
