"""Where a process has the server's functions: by what name its files can be opened, and at which addresses they lie."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from elves import DYNSYM, LOAD_AT, LOAD_FROM, Symbol, elf
from mapping import mapping
from test_probed_functions import ACCEPT, BEGIN, DFLASH, DRAFT, MOD, SAMPLE

from specscope.sources.probes import libraries
from specscope.sources.probes.elf import read_elf
from specscope.sources.probes.libraries import NotFoundError, find_functions, has_device, mapped_files, open_path

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: /proc/PID/map_files and mounts")
CODE = b"the code"


def library(path: Path, *names: str) -> Path:
    """A file that exports functions, 32 bytes apart, the first of which begins with :data:`CODE`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = bytearray(elf((DYNSYM, [Symbol(name, LOAD_AT + 32 * i) for i, name in enumerate(names)])))
    data[LOAD_FROM : LOAD_FROM + len(CODE)] = CODE
    path.write_bytes(data)
    return path


def opened(pid: int, name: str) -> str:
    """The name under which the file that a process calls ``name`` is opened from here."""
    return open_path(pid, mapped_files(pid)[name][0])


def code_at(pid: int, address: int) -> bytes:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(len(CODE))


# --- names of files -----------------------------------------------------------------------------------------------


def test_a_plain_name_is_used_as_it_is(tmp_path: Path) -> None:
    file = library(tmp_path / "libllama.so", "llama_decode")
    with mapping(file) as pid:
        assert opened(pid, str(file)) == str(file)


ODD = ["with a space", "a,b", "a:b", "a*b", "a;b", "a{b}", 'a"b', "a'b", "a$(b)", "a`b`", "a\\b", "é", "a\tb"]
"""Names that would be read as something else in a bpftrace program."""


@as_root
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("part", ["folder", "file"])
def test_a_name_with_an_odd_character_never_gets_into_the_program(name: str, part: str, tmp_path: Path) -> None:
    path = tmp_path / name / "libllama.so" if part == "folder" else tmp_path / f"libllama{name}.so"
    file = library(path, "llama_decode")
    with mapping(file) as pid:
        (place,) = find_functions(pid).roles["forward"]
        assert place.path.startswith(f"/proc/{pid}/map_files/")
        assert Path(place.path).read_bytes() == file.read_bytes()
        assert code_at(pid, place.address) == CODE


@as_root
def test_a_file_that_was_deleted_is_still_opened(tmp_path: Path) -> None:
    file = library(tmp_path / "libllama.so", "llama_decode")
    data = file.read_bytes()
    with mapping(file) as pid:
        file.unlink()
        path = opened(pid, f"{file} (deleted)")
        assert Path(path).read_bytes() == data
        assert list(read_elf(path, lambda _: True).functions) == ["llama_decode"]


@as_root
def test_a_file_that_was_replaced_is_not_taken_for_the_new_one(tmp_path: Path) -> None:
    file = library(tmp_path / "libllama.so", "llama_decode")
    with mapping(file) as pid:
        library(tmp_path / "new", "llama_decode", "llama_process").replace(file)
        found = find_functions(pid)
        assert [p.function.name for p in found.roles["forward"]] == ["llama_decode"]


@as_root
@pytest.mark.parametrize("same_name_here", [True, False])
def test_a_file_in_a_container_is_reached_through_its_root(tmp_path: Path, *, same_name_here: bool) -> None:
    folder, away = tmp_path / "inside", tmp_path / "away"
    inside = library(away / "libllama.so", "llama_decode", "llama_process")
    folder.mkdir()
    if same_name_here:
        library(folder / "libllama.so", "llama_decode")
    script = f'mount --bind {away} {folder} && exec "$@"'
    before = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
    if shutil.which("unshare") is None or subprocess.run([*before, "true"], check=False).returncode:
        pytest.skip("no mount namespace can be made here")
    with mapping(folder / "libllama.so", before=before) as pid:
        path = opened(pid, str(folder / "libllama.so"))
        assert path == f"/proc/{pid}/root{folder}/libllama.so"
        assert Path(path).read_bytes() == inside.read_bytes()
        assert [p.function.name for p in find_functions(pid).roles["forward"]] == ["llama_process"]


def test_files_that_are_mapped_and_no_code_are_passed_over(tmp_path: Path) -> None:
    file = library(tmp_path / "libllama.so", "llama_decode")
    with mapping(file) as pid:
        files = mapped_files(pid)
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    code = {line.split(maxsplit=5)[5] for line in lines if "xp " in line and " /" in line}
    assert set(files) == code
    assert str(file) in files
    everything = {line.split(maxsplit=5)[5] for line in lines if " /" in line}
    assert everything > set(files)


# --- functions ----------------------------------------------------------------------------------------------------


def test_an_address_is_where_the_process_has_the_function(tmp_path: Path) -> None:
    file = library(tmp_path / "libllama.so", "llama_decode", "llama_state_seq_set_data_ext")
    with mapping(file) as pid:
        found = find_functions(pid)
        (place,) = found.roles["forward"]
        assert place.path == str(file)
        assert code_at(pid, place.address) == CODE == file.read_bytes()[place.function.offset :][: len(CODE)]
        (restore,) = found.roles["restore"]
        assert restore.address == place.address + 32
    assert found.machine == "x86_64"


def test_roles_come_from_all_files_and_each_from_the_first_that_has_it(tmp_path: Path) -> None:
    common = library(tmp_path / "libllama-common.so", BEGIN, DRAFT, ACCEPT, SAMPLE, DFLASH, MOD)
    llama = library(tmp_path / "libllama.so", "llama_decode", "llama_process")
    with mapping(common, llama) as pid:
        roles = find_functions(pid).roles
    assert {r: [p.function.name for p in places] for r, places in roles.items()} == {
        "begin": [BEGIN],
        "draft": [DRAFT],
        "accept": [ACCEPT],
        "sample": [SAMPLE],
        "method": sorted([DFLASH, MOD]),
        "forward": ["llama_process"],
    }
    assert {p.path for p in roles["method"]} == {str(common)}


def test_a_file_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    damaged = tmp_path / "libggml.so"
    damaged.write_bytes(elf((DYNSYM, [Symbol("llama_decode", LOAD_AT)]))[:-1])
    sound = library(tmp_path / "libllama.so", "llama_decode")
    with mapping(damaged, sound) as pid:
        (place,) = find_functions(pid).roles["forward"]
    assert place.path == str(sound)


def test_another_program_is_said_to_be_one() -> None:
    with (
        mapping() as pid,
        pytest.raises(NotFoundError, match=r"^python\S* has no llama.cpp functions with names: a static"),
    ):
        find_functions(pid)


def test_libraries_without_names_are_said_to_have_none(tmp_path: Path) -> None:
    with (
        mapping(library(tmp_path / "libllama.so", "f1")) as pid,
        pytest.raises(NotFoundError, match="libraries of this process have no symbols"),
    ):
        find_functions(pid)


def test_a_process_that_is_gone() -> None:
    with mapping() as pid:
        pass
    with pytest.raises(OSError, match="No such"):
        find_functions(pid)
    assert has_device(pid) is None


def test_a_process_that_has_a_gpu_open_works_asynchronously(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = library(tmp_path / "libllama.so", "llama_decode")
    device = tmp_path / "device0"
    device.touch()
    monkeypatch.setattr(libraries, "_DEVICES", (str(tmp_path / "device"),))
    with mapping(file) as pid:
        assert find_functions(pid).asynchronous is False
    with device.open("rb"):
        assert has_device(os.getpid()) is True
    assert has_device(os.getpid()) is False
