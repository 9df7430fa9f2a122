"""Small ELF files, written byte by byte."""

from __future__ import annotations

import struct
from typing import NamedTuple

LOAD_AT = 0x400000
"""Where the file's bytes from :data:`LOAD_FROM` on are loaded."""

LOAD_FROM = 0x1000
LOAD_SIZE = 0x1000
FUNCTION, OBJECT, INDIRECT = 2, 1, 10
DYNSYM, SYMTAB, STRTAB = 11, 2, 3


class Symbol(NamedTuple):
    """One entry of a table. ``section`` 0 means that another file defines it."""

    name: str
    address: int
    kind: int = FUNCTION
    section: int = 1


def elf(*tables: tuple[int, list[Symbol]], machine: int = 62, ident: bytes = b"\x7fELF\x02\x01\x01") -> bytes:
    """A 64-bit file with one loaded segment, and symbol tables, each with its names behind it."""
    body = b""
    sections = [struct.pack("<IIQQQQIIQQ", *[0] * 10)]
    start = LOAD_FROM + LOAD_SIZE
    for kind, symbols in tables:
        texts, entries = b"\0", struct.pack("<IBBHQQ", *[0] * 6)
        for symbol in symbols:
            entries += struct.pack("<IBBHQQ", len(texts), symbol.kind, 0, symbol.section, symbol.address, 0)
            texts += symbol.name.encode() + b"\0"
        link = len(sections) + 1
        sections += [
            struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, start + len(body), len(entries), link, 0, 8, 24),
            struct.pack("<IIQQQQIIQQ", 0, STRTAB, 0, 0, start + len(body) + len(entries), len(texts), 0, 0, 1, 0),
        ]
        body += entries + texts
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        ident,
        3,
        machine,
        1,
        LOAD_AT,
        64,
        start + len(body),
        0,
        64,
        56,
        1,
        64,
        len(sections),
        0,
    )
    segment = struct.pack("<IIQQQQQQ", 1, 5, LOAD_FROM, LOAD_AT, LOAD_AT, LOAD_SIZE, LOAD_SIZE, 0x1000)
    return (header + segment).ljust(start, b"\0") + body + b"".join(sections)
