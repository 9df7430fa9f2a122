"""NVML, NVIDIA's management library, through nvidia-ml-py: where it lies, and what its refusals mean.

nvidia-ml-py is untyped, so nothing else touches it. It finds the library by its soname alone; some systems keep it
where the loader does not look, and a library that is loaded already is found by its soname wherever it lies.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Told: TypeAlias = Any
"""What nvidia-ml-py returns."""

SONAME: Final = "libnvidia-ml.so.1"

PLACES: Final = (
    "/usr/lib/wsl/lib",  # WSL2
    "/run/opengl-driver/lib",  # NixOS
    "/usr/lib/aarch64-linux-gnu/nvidia",  # Jetson, from JetPack 6 on
    "/usr/lib/aarch64-linux-gnu/tegra",  # Jetson before
    "/usr/local/nvidia/lib64",  # containers with the driver mounted there (Google's device plugin, GPU Operator)
)


class Code(IntEnum):
    """Return codes that mean more than "no answer this time" (nvml.h, nvmlReturn_t)."""

    UNINITIALIZED = 1
    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    DRIVER_NOT_LOADED = 9
    LIBRARY_NOT_FOUND = 12
    FUNCTION_NOT_FOUND = 13
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    LIB_RM_VERSION_MISMATCH = 18
    ARGUMENT_VERSION_MISMATCH = 25
    DEPRECATED = 26
    GPU_NOT_FOUND = 28
    UNKNOWN = 999


NEVER: Final = frozenset(
    {
        Code.INVALID_ARGUMENT,  # how drivers answer a field or an enumerator that is younger than they are
        Code.NOT_SUPPORTED,
        Code.FUNCTION_NOT_FOUND,
        Code.ARGUMENT_VERSION_MISMATCH,
        Code.DEPRECATED,
    }
)
"""A question refused with one of these is not asked again of this device."""

LOST: Final[dict[int, str]] = {
    Code.GPU_IS_LOST: "it has fallen off the bus or stopped answering",
    Code.RESET_REQUIRED: "it must be reset before it can be used again",
    Code.GPU_NOT_FOUND: "it is no longer there",
}

UNKNOWN_FIGURES: Final = ": GPU figures are unknown"

GONE: Final[dict[int, tuple[str, str]]] = {
    Code.UNINITIALIZED: ("the NVIDIA driver has gone away", ""),
    Code.DRIVER_NOT_LOADED: (
        "the NVIDIA driver is not loaded",
        "load it (sudo modprobe nvidia), or start the container with --gpus all",
    ),
    Code.LIBRARY_NOT_FOUND: ("no NVIDIA driver here", ""),
    Code.LIB_RM_VERSION_MISMATCH: (
        "the NVIDIA driver and its library differ in version, as after an update",
        "load the new driver or restart the machine, then start specscope again",
    ),
}
"""Codes of a driver that is not there or no longer there, as (reason, hint)."""


class DriverGoneError(Exception):
    """There is no driver, or no longer one. ``reason`` and ``hint`` are for the user."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason + UNKNOWN_FIGURES
        self.hint = hint


class DeviceLostError(Exception):
    """One device does not answer any more; ``str`` of it says why."""


class RefusedError(Exception):
    """The library refused a question; ``code`` says why."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


class Library:
    """The library, initialised.

    Raises:
        DriverGoneError: there is none, or it cannot be initialised.
    """

    def __init__(self) -> None:
        self._api = _load()
        try:
            self._api.nvmlInit()
        except self._api.NVMLError as error:
            raise gone(error.value, f"the NVIDIA driver cannot be asked ({str(error).rstrip('.')})") from error
        self.driver: str | None = None
        with contextlib.suppress(RefusedError):
            self.driver = self.call("nvmlSystemGetDriverVersion") or None

    def call(self, name: str, *arguments: object) -> Told:
        """Call a function of nvidia-ml-py.

        Raises:
            RefusedError: the library refused, or nvidia-ml-py or the library is too old to have the function.
        """
        function = getattr(self._api, name, None)
        if function is None:
            raise RefusedError(Code.FUNCTION_NOT_FOUND)
        try:
            return function(*arguments)
        except self._api.NVMLError as error:
            raise RefusedError(error.value) from error
        except self._api.NVMLLibraryMismatchError as error:
            raise RefusedError(Code.FUNCTION_NOT_FOUND) from error
        except ValueError as error:  # a text that is none
            raise RefusedError(Code.UNKNOWN) from error

    def function(self, name: str) -> Callable[..., int] | None:
        """The library's own function, for what is asked too often for nvidia-ml-py's wrapping; None: it has none."""
        try:
            return self._api.nvmlLib[name]
        except AttributeError:
            return None

    def count(self) -> int:
        """How many devices there are.

        Raises:
            DriverGoneError: that cannot be told.
        """
        try:
            return self.call("nvmlDeviceGetCount")
        except RefusedError as refused:
            raise gone(refused.code, f"the NVIDIA driver does not count its devices (code {refused.code})") from refused

    def handle(self, index: int) -> Told:
        """What a device is asked by.

        Raises:
            DeviceLostError: the device does not answer, or not to this user.
            DriverGoneError: the driver does not.
        """
        try:
            return self.call("nvmlDeviceGetHandleByIndex", index)
        except RefusedError as refused:
            raise_if_over(refused.code)
            denied = refused.code == Code.NO_PERMISSION
            why = "this user may not ask it" if denied else f"the driver refuses it (code {refused.code})"
            raise DeviceLostError(why) from refused

    def close(self) -> None:
        """Let go of the driver."""
        with contextlib.suppress(RefusedError):
            self.call("nvmlShutdown")


def gone(code: int, otherwise: str = "") -> DriverGoneError:
    """Why there is no driver, from a return code; ``otherwise`` for a code that does not say."""
    hint = "see who may open /dev/nvidiactl" if code == Code.NO_PERMISSION else ""
    return DriverGoneError(*GONE.get(code, (otherwise, hint)))


def raise_if_over(code: int) -> None:
    """Take in the code of a refusal.

    Raises:
        DeviceLostError: it is the device's end.
        DriverGoneError: it is the driver's.
    """
    if code in LOST:
        raise DeviceLostError(LOST[code])
    if code in GONE:
        raise gone(code)


def _load() -> Told:
    """nvidia-ml-py, with the library loaded. Costs nothing to speak of where there is none.

    Raises:
        DriverGoneError: there is no library, or nvidia-ml-py is missing.
    """
    for path in (SONAME, *(f"{place}/{SONAME}" for place in PLACES)):
        with contextlib.suppress(OSError):
            ctypes.CDLL(path)  # ctypes never unloads it
            break
    else:
        raise gone(Code.LIBRARY_NOT_FOUND)
    try:
        return importlib.import_module("pynvml")
    except ImportError as error:
        raise DriverGoneError("nvidia-ml-py is not installed", "install it: pip install nvidia-ml-py") from error
