"""The dear probes, armed for a moment: every wait for the device, every submit and every copy, stamped by the kernel.

These fire dozens to hundreds of times a cycle (11 % of it on an H200), so that they must come and go quickly. bpftrace
compiles
its program for one to five seconds of CPU at each start; perf_event_open arms the same uprobes in milliseconds, and
what it armed ends with its descriptors, however the process ends. Format: perf_event_open(2), linux/perf_event.h,
asm/perf_regs.h; aarch64 by table and untested.
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
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specscope.sources.probes.libraries import Place

SPAN_NS: Final = 20_000
"""Shorter waits are added up and not told one by one: a synchronize of an idle device takes 5-10 us when probed."""

COPIES: Final = ("copy_async", "copy_2d_async", "copy")
OWNERS: Final = ("draft", "features")
WITHIN_TURN: Final = (*COPIES, *OWNERS, "forward", "sample")
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


class Hit(NamedTuple):
    """A probe fired: when, which role, and whether the function was left (else entered).

    ``arguments`` are those of a copy, in order; empty for other roles.
    """

    at_ns: int
    role: str
    left: bool
    arguments: tuple[int, ...] = ()


class Span(NamedTuple):
    """``wait`` or ``submit``, from its start, for so long, in nanoseconds."""

    kind: str
    start_ns: int
    length_ns: int


@dataclass(frozen=True)
class Seen:
    """What one burst saw.

    ``spans`` are those of at least SPAN_NS, in order; ``lost``: hits that found no room.

    ``copies``: by (whose tensor, bytes), how many copies to host memory. ``forwards`` and ``samples`` are the target's,
    in whole turns, as are the copies.
    """

    begin_ns: int
    end_ns: int
    waits: int = 0
    wait_ns: int = 0
    submits: int = 0
    idle_ns: int = 0
    lost: int = 0
    forwards: int = 0
    samples: int = 0
    sampling_ns: int = 0
    draft_sampling_ns: int = 0
    spans: list[Span] = field(default_factory=list[Span])
    copies: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])


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


def judge(hits: list[Hit], begin_ns: int, end_ns: int, lost: int = 0) -> Seen:
    """Add up waits, copies, and the time the device had nothing to do: from the end of a wait to the next submit."""
    stalls, copies = _Stalls(), _Owned()
    first = next((hit for hit in hits if hit.role in OWNERS), None)
    if first is not None and first.left:
        copies.within.add(first.role)
    for hit in hits:
        if hit.role in WITHIN_TURN:
            copies.take(hit)
        else:
            stalls.take(hit)
    return Seen(
        begin_ns=begin_ns,
        end_ns=end_ns,
        waits=stalls.waits,
        wait_ns=stalls.wait_ns,
        submits=stalls.submits,
        idle_ns=stalls.idle_ns,
        lost=lost,
        forwards=copies.forwards,
        samples=copies.samples,
        sampling_ns=copies.sampling_ns["target"],
        draft_sampling_ns=copies.sampling_ns["drafter"],
        spans=stalls.spans,
        copies=copies.count,
    )


@dataclass
class _Stalls:
    """Adds up waits and idle time.

    A wait ends when all that was submitted has been done. The device gets work again when a graph is launched or,
    where none was captured, soon after the submit began.
    """

    waits: int = 0
    wait_ns: int = 0
    submits: int = 0
    idle_ns: int = 0
    spans: list[Span] = field(default_factory=list[Span])
    _entered: dict[str, int] = field(default_factory=dict[str, int])
    _launched: bool = False
    _idle_since: int | None = None

    def take(self, hit: Hit) -> None:
        """One hit, in the order of time."""
        if not hit.left:
            self._entered[hit.role] = hit.at_ns
            if hit.role == "launch":
                self._launched = True
                self._work(hit.at_ns)
            return
        start = self._entered.pop(hit.role, None)
        if start is None or hit.role == "launch":
            return
        length = hit.at_ns - start
        if hit.role == "submit":
            self.submits += 1
            if not self._launched:
                self._work(start)
            self._launched = False
            self.spans.append(Span("submit", start, length))
            return
        self.waits += 1
        self.wait_ns += length
        if self._idle_since is None and "submit" not in self._entered:
            self._idle_since = hit.at_ns
        if length >= SPAN_NS:
            self.spans.append(Span("wait", start, length))

    def _work(self, at: int) -> None:
        """The device has work from now on."""
        if self._idle_since is not None:
            self.idle_ns += max(0, at - self._idle_since)
        self._idle_since = None


@dataclass
class _Owned:
    """Counts copies and sampling by the model they are for, over whole turns: from forward to forward of the target.

    What happens while the drafter is at work, or is handed features, is its; all else is the target's.

    An asynchronous copy that the backend cannot do falls into the plain one, with the same tensor: counted once.
    """

    forwards: int = 0
    samples: int = 0
    sampling_ns: Counter[str] = field(default_factory=Counter[str])
    count: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    within: set[str] = field(default_factory=set[str])
    _turn: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    _turn_samples: int = 0
    _turn_ns: Counter[str] = field(default_factory=Counter[str])
    _begun: bool = False
    _same: int | None = None
    _sampling_since: int | None = None

    def take(self, hit: Hit) -> None:
        """One hit, in the order of time."""
        owner = "drafter" if self.within else "target"
        match hit.role, hit.arguments:
            case "copy_async", (_, tensor, _, _, size, _):
                self._turn[owner, size] += 1
                self._same = tensor
            case "copy_2d_async", (_, tensor, _, _, size, times):
                self._turn[owner, size * times] += 1
                self._same = tensor
            case "copy", (tensor, _, _, size, _, _):
                if tensor != self._same:
                    self._turn[owner, size] += 1
                self._same = None
            case "forward", _:
                if not self.within and not hit.left:
                    self._next_turn()
            case "sample", _:
                self._sample(hit, owner)
            case _ if hit.left:
                self.within.discard(hit.role)
            case _:
                self.within.add(hit.role)

    def _sample(self, hit: Hit, owner: str) -> None:
        if hit.left and self._sampling_since is not None:
            self._turn_ns[owner] += hit.at_ns - self._sampling_since
            self._turn_samples += owner == "target"
        self._sampling_since = None if hit.left else hit.at_ns

    def _next_turn(self) -> None:
        """A turn has ended: count what was in it, if its begin was seen."""
        if self._begun:
            self.forwards += 1
            self.samples += self._turn_samples
            self.count += self._turn
            self.sampling_ns += self._turn_ns
        self._begun = True
        self._turn, self._turn_ns, self._turn_samples = Counter(), Counter(), 0


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
