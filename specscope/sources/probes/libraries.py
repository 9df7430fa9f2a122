"""Where a process has the server's functions: its own program, shared libraries, or a Python extension."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.sources.probes.elf import read_elf
from specscope.sources.probes.functions import MARKS, by_role, wanted

if TYPE_CHECKING:
    from specscope.sources.probes.elf import Function

_MAPPING: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) \S+ (\d+)\s+(/.*)")
_PLAIN: Final = re.compile(r"[A-Za-z0-9._/+@-]+")
"""All that a name may hold to be written into a bpftrace program."""

_DEVICES: Final = ("/dev/nvidia", "/dev/dri/render", "/dev/kfd", "/dev/dxg")
"""What a process with a GPU holds open: NVIDIA's driver, a DRM render node, AMD's compute driver, WSL2's GPU."""


class NotFoundError(Exception):
    """The functions cannot be found; the message says why in one sentence."""


class Place(NamedTuple):
    """A function in a file that can be opened from here. ``address`` is where the process has it in memory."""

    path: str
    function: Function
    address: int


@dataclass(frozen=True)
class Found:
    """Functions by role, and what was noticed on the way.

    Attributes:
        asynchronous: the process has a GPU open, so that graphs run there on their own; None: not ours to look at.
    """

    machine: str = ""
    roles: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    asynchronous: bool | None = None


class _Mapped(NamedTuple):
    start: int
    end: int
    offset: int
    path: str


def mapped_files(pid: int) -> dict[str, list[_Mapped]]:
    """The executable mappings of a process by file name, as it names them itself.

    Raises:
        OSError: the process is gone, or not ours to look at.
    """
    out: dict[str, list[_Mapped]] = {}
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as lines:  # noqa: PTH123
        for line in lines:
            match = _MAPPING.match(line)
            if match is not None and "x" in match[3]:
                path = match[6]
                out.setdefault(path, []).append(_Mapped(int(match[1], 16), int(match[2], 16), int(match[4], 16), path))
    return out


def open_path(pid: int, mapped: _Mapped) -> str:
    """A name under which a mapped file can be opened from here: also in a container, also deleted since.

    A name is written into a program that runs as root: one with any but the plainest characters never gets there.
    The plain path is best, then the one through the process's root, then the mapping's own.
    """
    if not mapped.path.endswith(" (deleted)") and _PLAIN.fullmatch(mapped.path):
        inside = f"/proc/{pid}/root{mapped.path}"
        try:
            theirs = os.stat(inside)  # noqa: PTH116
        except OSError:
            theirs = None
        if theirs is not None:
            try:
                ours = os.stat(mapped.path)  # noqa: PTH116
            except OSError:
                ours = None
            same = ours is not None and (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
            return mapped.path if same else inside
    return f"/proc/{pid}/map_files/{mapped.start:x}-{mapped.end:x}"


def find_functions(pid: int) -> Found:
    """All functions with a role that a process has mapped.

    Raises:
        OSError: the process is gone, or not ours to look at.
        NotFoundError: none of its files has a function with a role.
    """
    files = mapped_files(pid)
    roles: dict[str, list[Place]] = {}
    machine = ""
    for mappings in files.values():
        here = open_path(pid, mappings[0])
        try:
            elf = read_elf(here, wanted, MARKS)
        except (OSError, ValueError):
            continue
        machine = elf.machine or machine
        for role, names in by_role(list(elf.functions)).items():
            if role not in roles:
                roles[role] = [_place(here, elf.functions[n], mappings) for n in names]
    if "forward" not in roles:
        raise NotFoundError(_why_none(pid, files))
    return Found(machine, roles, has_device(pid))


def has_device(pid: int) -> bool | None:
    """Whether a process has a GPU open; None when its descriptors cannot be seen."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return None
    for name in names:
        try:
            if os.readlink(f"{folder}/{name}").startswith(_DEVICES):  # noqa: PTH115
                return True
        except OSError:
            continue
    return False


def _place(path: str, function: Function, mappings: list[_Mapped]) -> Place:
    at = function.offset
    address = next((m.start + at - m.offset for m in mappings if m.offset <= at < m.offset + m.end - m.start), 0)
    return Place(path, function, address)


def _why_none(pid: int, files: dict[str, list[_Mapped]]) -> str:
    program = os.readlink(f"/proc/{pid}/exe").rpartition("/")[2]  # noqa: PTH115
    if any("libllama" in path or "xllamacpp" in path for path in files):
        return "the llama.cpp libraries of this process have no symbols that tell its functions apart"
    return (
        f"{program} has no llama.cpp functions with names: a static build without symbols (strip), or another program"
    )
