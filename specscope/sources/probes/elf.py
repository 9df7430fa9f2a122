"""Functions of an ELF file and where they lie in it, read from its own tables.

Read directly: the symbols of a Python extension that holds all of llama.cpp (106 MB, 17,000 exports) take 15-25 ms
here and 490 ms through pyelftools; the tests compare the two. Formats: the System V ABI, elf(5).
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_LOAD: Final = 1
_SYMTAB: Final = 2
_DYNSYM: Final = 11
_FUNCTION: Final = 2
_INDIRECT: Final = 10
_MACHINES: Final = {62: "x86_64", 183: "aarch64"}


class Function(NamedTuple):
    """A function of a file. ``offset`` counts from the file's first byte, as the kernel wants it for a uprobe."""

    name: str
    address: int
    offset: int


@dataclass(frozen=True)
class Elf:
    """What was read of a file. ``machine`` is empty for one whose argument registers are not known here."""

    machine: str
    functions: dict[str, Function]


class _Section(NamedTuple):
    kind: int
    offset: int
    size: int
    link: int


def read_elf(path: str, wanted: Callable[[str], bool], marks: tuple[bytes, ...] = (b"",)) -> Elf:
    """The functions of a file whose names are wanted, from both of its symbol tables.

    Args:
        path: the file.
        wanted: judges a name.
        marks: a table with none of these among its names is passed over, which is far quicker than reading it.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no 64-bit little-endian ELF file, or a damaged one.
    """
    with open(path, "rb") as file:  # noqa: PTH123  /proc/PID/map_files has names no Path is needed for
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise ValueError(f"{path} is empty") from None
        with data:
            try:
                return _read(data, wanted, marks)
            except (struct.error, OverflowError):
                raise ValueError(f"{path} is a damaged ELF file") from None


def _read(data: mmap.mmap, wanted: Callable[[str], bool], marks: tuple[bytes, ...]) -> Elf:
    ident, _, machine, _, _, phoff, shoff, _, _, phsize, phcount, shsize, shcount, _ = _HEADER.unpack_from(data)
    if ident[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    segments = [_SEGMENT.unpack_from(data, phoff + i * phsize) for i in range(phcount)]
    loads = [(s[3], s[2], s[5]) for s in segments if s[0] == _LOAD]
    sections = [_section(data, shoff + i * shsize) for i in range(shcount)]
    found: dict[str, Function] = {}
    for section in sections:
        if section.kind in (_SYMTAB, _DYNSYM) and section.link < len(sections):
            names = sections[section.link]
            texts = data[names.offset : names.offset + names.size]
            if any(mark in texts for mark in marks):
                _add(data, section, texts, loads, wanted, found)
    return Elf(_MACHINES.get(machine, ""), found)


def _section(data: mmap.mmap, at: int) -> _Section:
    _, kind, _, _, offset, size, link, _, _, _ = _SECTION.unpack_from(data, at)
    return _Section(kind, offset, size, link)


def _add(  # noqa: PLR0917  one table of a file, read once
    data: mmap.mmap,
    table: _Section,
    texts: bytes,
    loads: list[tuple[int, int, int]],
    wanted: Callable[[str], bool],
    found: dict[str, Function],
) -> None:
    """Take what is wanted from one symbol table; a version suffix (``name@VERSION``) is dropped."""
    symbols = data[table.offset : table.offset + table.size - table.size % _SYMBOL.size]
    for at, info, _, section, address, _ in _SYMBOL.iter_unpack(symbols):
        if info & 0xF not in (_FUNCTION, _INDIRECT) or not section or not address:
            continue
        end = texts.find(b"\0", at)
        name = texts[at:end].decode("ascii", "replace").partition("@")[0]
        if name in found or not wanted(name):
            continue
        offset = next(
            (address - start + place for start, place, size in loads if start <= address < start + size), None
        )
        if offset is not None:
            found[name] = Function(name, address, offset)
