"""The dear probes, armed for a moment: every wait for the device, every submit and every copy, stamped by the kernel.

These fire dozens to hundreds of times a cycle (11 % of it on an H200), so that they must come and go quickly. bpftrace
compiles its program for one to five seconds of CPU at each start. perf_event_open arms the same uprobes in
milliseconds, and what it armed ends with its descriptors, however the process ends. Format: perf_event_open(2),
linux/perf_event.h, asm/perf_regs.h; aarch64 by table and untested.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import platform
import struct
import time
from typing import TYPE_CHECKING, Final

from specscope.sources.probes.hits import COPIES, OWNERS, Hit, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specscope.sources.probes.hits import Seen
    from specscope.sources.probes.libraries import Place

ENTRY_ONLY: Final = (*COPIES, "launch", "forward")

_SYSCALL: Final = {"x86_64": 298, "aarch64": 241}
_UPROBE: Final = "/sys/bus/event_source/devices/uprobe/type"
_ATTRIBUTE: Final = struct.Struct("<IIQQQQQIIQQQQIiQIHH")
_RECORD: Final = struct.Struct("<IHH")
_SAMPLE: Final = struct.Struct("<QQ")
_POSITIONS: Final = struct.Struct("<QQ")
_POSITIONS_AT: Final = 1024
_PAGES: Final = 1024
_TIME_AND_ID: Final = 4 | 64
_REGISTERS: Final = 1 << 12
_ARGUMENTS: Final = {"x86_64": (5, 4, 3, 2, 16, 17), "aarch64": (0, 1, 2, 3, 4, 5)}
"""perf's numbers of the registers of a function's first six arguments, by machine."""

_DISABLED_WATERMARK_CLOCKID: Final = 1 | 1 << 14 | 1 << 25
_RECORD_LOST: Final = 2
_RECORD_SAMPLE: Final = 9
_ENABLE: Final = 0x2400
_DISABLE: Final = 0x2401
_SET_OUTPUT: Final = 0x2405
_GET_ID: Final = 0x80082407


def sample_burst(roles: dict[str, list[Place]], threads: list[int], seconds: float) -> Seen:
    """Arm the dear probes on some threads for so long.

    Raises:
        OSError: the kernel has no uprobes, or refuses them.
    """
    armed: list[tuple[str, Place]] = [(r, roles[r][0]) for r in probed_roles(roles)]
    hits: list[Hit] = []
    lost = 0
    with contextlib.ExitStack() as stack:
        rings = [_Ring(stack, armed, thread) for thread in threads]
        begin = time.monotonic_ns()
        for ring in rings:
            ring.set(enabled=True)
        time.sleep(seconds)
        for ring in rings:
            ring.set(enabled=False)
        end = time.monotonic_ns()
        written = [ring.written() for ring in rings]
    # Read when all are disarmed: until then every hit still costs the server its 5 us.
    for ring, data in zip(rings, written, strict=True):
        more, missed = ring.read(data)
        hits += more
        lost += missed
    return judge(sorted(hits), begin, end, lost)


def probed_roles(roles: dict[str, list[Place]]) -> list[str]:
    """The roles to arm, those that fire most often last: they are disarmed in the opposite order.

    The kernel takes 60-100 ms to disarm each, one after the other. Of waits, the device's own is within every
    other, so that one of them is enough.
    """
    wait = "device_wait" if "device_wait" in roles else "wait"
    hottest_last = ("forward", *OWNERS, "launch", "submit", "sample", *reversed(COPIES), wait)
    return [r for r in hottest_last if r in roles]


class _Ring:
    """The probes on one thread, writing into one ring."""

    def __init__(self, stack: contextlib.ExitStack, armed: list[tuple[str, Place]], thread: int) -> None:
        self._descriptors: list[int] = []
        self._kinds: dict[int, tuple[str, bool]] = {}
        for role, place in armed:
            for left in (False, True):
                if left and role in ENTRY_ONLY:
                    continue
                descriptor = _open(place, thread, left=left, arguments=role in COPIES)
                stack.callback(os.close, descriptor)
                if self._descriptors:
                    fcntl.ioctl(descriptor, _SET_OUTPUT, self._descriptors[0])
                else:
                    size = (1 + _PAGES) * mmap.PAGESIZE
                    self._map = stack.enter_context(mmap.mmap(descriptor, size, mmap.MAP_SHARED))
                self._descriptors.append(descriptor)
                number = fcntl.ioctl(descriptor, _GET_ID, b"\0" * 8)
                self._kinds[int.from_bytes(number, "little")] = (role, left)

    def set(self, *, enabled: bool) -> None:
        for descriptor in self._descriptors:
            fcntl.ioctl(descriptor, _ENABLE if enabled else _DISABLE, 0)

    def written(self) -> bytes:
        """All that lies in the ring."""
        size = _PAGES * mmap.PAGESIZE
        head, tail = _POSITIONS.unpack_from(self._map, _POSITIONS_AT)
        data = self._map[mmap.PAGESIZE :]
        start, length = tail % size, head - tail
        return (data + data if start + length > size else data)[start : start + length]

    def read(self, data: bytes) -> tuple[list[Hit], int]:
        """The hits in what was written, and how many found no room there."""
        hits: list[Hit] = []
        lost = 0
        for kind, at in _records(data):
            first, second = _SAMPLE.unpack_from(data, at)
            if kind == _RECORD_SAMPLE and second in self._kinds:
                role, left = self._kinds[second]
                arguments = _arguments(data, at + _SAMPLE.size) if role in COPIES else ()
                hits.append(Hit(first, role, left, arguments))
            elif kind == _RECORD_LOST:
                lost += second
        return hits, lost


def _records(data: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at + _RECORD.size + _SAMPLE.size <= len(data):
        kind, _, size = _RECORD.unpack_from(data, at)
        if size < _RECORD.size:
            return
        yield kind, at + _RECORD.size
        at += size


def _arguments(data: bytes, at: int) -> tuple[int, ...]:
    """The first six arguments out of a record's registers, which lie there in the order of their numbers."""
    numbers = _ARGUMENTS[platform.machine()]
    abi, *values = struct.unpack_from(f"<{1 + len(numbers)}Q", data, at)
    by_number = dict(zip(sorted(numbers), values, strict=True))
    return tuple(by_number[n] for n in numbers) if abi else ()


def _open(place: Place, thread: int, *, left: bool, arguments: bool) -> int:
    """One uprobe as a perf event; closed, it is gone."""
    with open(_UPROBE, encoding="ascii") as file:  # noqa: PTH123
        kind = int(file.read())
    path = ctypes.create_string_buffer(os.fsencode(place.path))
    attribute = ctypes.create_string_buffer(
        _ATTRIBUTE.pack(
            kind,
            _ATTRIBUTE.size,
            int(left),
            1,
            _TIME_AND_ID | (_REGISTERS if arguments else 0),
            0,
            _DISABLED_WATERMARK_CLOCKID,
            _PAGES * mmap.PAGESIZE,
            0,
            ctypes.addressof(path),
            place.function.offset,
            0,
            sum(1 << n for n in _ARGUMENTS[platform.machine()]) if arguments else 0,
            0,
            time.CLOCK_MONOTONIC,
            0,
            0,
            0,
            0,
        )
    )
    libc = ctypes.CDLL(None, use_errno=True)
    number = _SYSCALL[platform.machine()]
    cloexec = 8
    descriptor = libc.syscall(number, attribute, thread, -1, -1, cloexec)
    if descriptor < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return descriptor
