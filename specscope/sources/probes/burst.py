"""The dear probes, armed for a moment: every wait for the device and every submit, as the kernel stamps them.

These fire hundreds of times a cycle (11 % of it on an H200), so that they must come and go quickly. bpftrace compiles
its program for one to five seconds of CPU at each start; perf_event_open arms the same uprobes in milliseconds, and
what it armed ends with its descriptors, however the process ends. Format: perf_event_open(2), linux/perf_event.h.
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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specscope.sources.probes.libraries import Place

SPAN_NS: Final = 20_000
"""Shorter waits are added up and not told one by one: a synchronize of an idle device takes 5-10 us when probed."""

_SYSCALL: Final = {"x86_64": 298, "aarch64": 241}
_UPROBE: Final = "/sys/bus/event_source/devices/uprobe/type"
_ATTRIBUTE: Final = struct.Struct("<IIQQQQQIIQQQQIiQIHH")
_RECORD: Final = struct.Struct("<IHH")
_SAMPLE: Final = struct.Struct("<QQ")
_POSITIONS: Final = struct.Struct("<QQ")
_POSITIONS_AT: Final = 1024
_PAGES: Final = 1024
_TIME_AND_ID: Final = 4 | 64
_DISABLED_WATERMARK_CLOCKID: Final = 1 | 1 << 14 | 1 << 25
_RECORD_LOST: Final = 2
_RECORD_SAMPLE: Final = 9
_ENABLE: Final = 0x2400
_DISABLE: Final = 0x2401
_SET_OUTPUT: Final = 0x2405
_GET_ID: Final = 0x80082407


class Hit(NamedTuple):
    """A probe fired: when, which role, and whether the function was left (else entered)."""

    at_ns: int
    role: str
    left: bool


class Span(NamedTuple):
    """``wait`` or ``submit``, from its start, for so long, in nanoseconds."""

    kind: str
    start_ns: int
    length_ns: int


@dataclass(frozen=True)
class Seen:
    """What one burst saw. ``spans`` are those of at least SPAN_NS, in order; ``lost``: hits that found no room."""

    begin_ns: int
    end_ns: int
    waits: int = 0
    wait_ns: int = 0
    submits: int = 0
    idle_ns: int = 0
    lost: int = 0
    spans: list[Span] = field(default_factory=list[Span])


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
        for ring in rings:
            more, missed = ring.read()
            hits += more
            lost += missed
    return judge(sorted(hits), begin, end, lost)


def probed_roles(roles: dict[str, list[Place]]) -> list[str]:
    """The dear roles to arm: the device's own wait is within every other, so that one of them is enough."""
    wait = "device_wait" if "device_wait" in roles else "wait"
    return [r for r in (wait, "submit", "launch") if r in roles]


def judge(hits: list[Hit], begin_ns: int, end_ns: int, lost: int = 0) -> Seen:
    """Add up waits, and the time the device had nothing to do: from the end of a wait to the next submit.

    A wait ends when all that was submitted has been done. The device gets work again when a graph is launched or,
    where none was captured, soon after the submit began.
    """
    spans: list[Span] = []
    waits = wait_ns = submits = idle_ns = 0
    entered: dict[str, int] = {}
    launched = False
    idle_since: int | None = None
    for hit in hits:
        if not hit.left:
            entered[hit.role] = hit.at_ns
            if hit.role == "launch":
                launched = True
                idle_ns, idle_since = idle_ns + hit.at_ns - (idle_since or hit.at_ns), None
            continue
        start = entered.pop(hit.role, None)
        if start is None or hit.role == "launch":
            continue
        if hit.role == "submit":
            submits += 1
            if not launched and idle_since is not None:
                idle_ns, idle_since = idle_ns + max(0, start - idle_since), None
            launched = False
            spans.append(Span("submit", start, hit.at_ns - start))
        else:
            waits, wait_ns = waits + 1, wait_ns + hit.at_ns - start
            if "submit" not in entered or idle_since is not None:
                idle_since = idle_since or hit.at_ns
            if hit.at_ns - start >= SPAN_NS:
                spans.append(Span("wait", start, hit.at_ns - start))
    return Seen(begin_ns, end_ns, waits, wait_ns, submits, idle_ns, lost, spans)


class _Ring:
    """The probes on one thread, writing into one ring."""

    def __init__(self, stack: contextlib.ExitStack, armed: list[tuple[str, Place]], thread: int) -> None:
        self._descriptors: list[int] = []
        self._kinds: dict[int, tuple[str, bool]] = {}
        for role, place in armed:
            for left in (False, True):
                if role == "launch" and left:
                    continue
                descriptor = _open(place, thread, left=left)
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

    def read(self) -> tuple[list[Hit], int]:
        """The hits in the ring, and how many found no room there."""
        size = _PAGES * mmap.PAGESIZE
        head, tail = _POSITIONS.unpack_from(self._map, _POSITIONS_AT)
        data = self._map[mmap.PAGESIZE :]
        if tail % size + head - tail > size:
            data += data
        data = data[tail % size : tail % size + head - tail]
        hits: list[Hit] = []
        lost = 0
        for kind, at in _records(data):
            first, second = _SAMPLE.unpack_from(data, at)
            if kind == _RECORD_SAMPLE and second in self._kinds:
                hits.append(Hit(first, *self._kinds[second]))
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


def _open(place: Place, thread: int, *, left: bool) -> int:
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
            _TIME_AND_ID,
            0,
            _DISABLED_WATERMARK_CLOCKID,
            _PAGES * mmap.PAGESIZE,
            0,
            ctypes.addressof(path),
            place.function.offset,
            0,
            0,
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
