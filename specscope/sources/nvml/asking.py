"""One device as one thread asks it: an answer or None, and what is never answered is not asked again."""

from __future__ import annotations

import ctypes
from time import monotonic
from typing import TYPE_CHECKING, Final

from specscope.sources.nvml.library import NEVER, RefusedError, raise_if_over

if TYPE_CHECKING:
    from specscope.sources.nvml.library import Library, Told

NOT_AVAILABLE: Final = frozenset({2**32 - 1, 2**64 - 1})
"""What the library writes where it has no value (nvml.h, NVML_VALUE_NOT_AVAILABLE), unsigned."""


class Pulse:
    """Since when a thread has been waiting for the driver (time.monotonic); None: it is not."""

    def __init__(self) -> None:
        self.since: float | None = None

    def waits(self, now_s: float) -> float:
        """For how many seconds."""
        since = self.since
        return 0.0 if since is None else now_s - since


class Device:
    """One device.

    Args:
        library: the library.
        handle: what it is asked by.
        pulse: of the thread that asks.

    Every question may raise DeviceLostError (this device is gone) and DriverGoneError (all are).
    """

    def __init__(self, library: Library, handle: Told, pulse: Pulse) -> None:
        self.library = library
        self.handle = handle
        self.pulse = pulse
        self.never: dict[tuple[object, ...], int] = {}
        self._instances: dict[int, Device] = {}

    def ask(self, name: str, *arguments: object) -> Told:
        """What a function of nvidia-ml-py says of the device; None where it says nothing, for whatever reason."""
        key = (name, *arguments)
        if key in self.never:
            return None
        self.pulse.since = monotonic()
        try:
            value = self.library.call(name, self.handle, *arguments)
        except RefusedError as refused:
            if refused.code in NEVER:
                self.never[key] = refused.code
            else:
                raise_if_over(refused.code)
            return None
        return None if isinstance(value, int) and value in NOT_AVAILABLE else value

    def positive(self, name: str, *arguments: object) -> int | None:
        """The same for what cannot be 0: a limit, a width, a greatest clock. A driver's 0 means that it knows none."""
        return self.ask(name, *arguments) or None

    def instances(self) -> list[Device]:
        """The MIG instances of the device that are seen here."""
        found: list[Device] = []
        for i in range(self.ask("nvmlDeviceGetMaxMigDeviceCount") or 0):
            handle = self.ask("nvmlDeviceGetMigDeviceHandleByIndex", i)
            if handle is not None:
                place = ctypes.cast(handle, ctypes.c_void_p).value or 0
                found.append(self._instances.setdefault(place, Device(self.library, handle, self.pulse)))
        return found


class Reading:
    """A question that is asked many times a second: the library's own function, with its arguments kept ready.

    Args:
        device: whom to ask.
        names: names of the function, the preferred one first; the next one's turn comes when it is never answered.
        arguments: C values, pointers to the places of the answer among them.
    """

    def __init__(self, device: Device, names: tuple[str, ...], *arguments: object) -> None:
        self._pulse = device.pulse
        self._functions = [f for name in names if (f := device.library.function(name)) is not None]
        self._arguments = (device.handle, *arguments)

    @property
    def tells(self) -> bool:
        """Whether it may be answered."""
        return bool(self._functions)

    def ask(self) -> bool:
        """Whether it was answered: the answer is in its place."""
        if not self._functions:
            return False
        self._pulse.since = monotonic()
        code = self._functions[0](*self._arguments)
        if code:
            self.refuse(code)
            return False
        return True

    def refuse(self, code: int) -> None:
        """Take in the code of a refusal."""
        if code in NEVER:
            del self._functions[0]
        else:
            raise_if_over(code)
