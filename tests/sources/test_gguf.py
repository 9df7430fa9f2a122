"""GGUF headers: what is read from files made by the gguf package, and that damaged files only ever say so."""

from __future__ import annotations

import asyncio
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING
from unittest.mock import Mock

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specscope.events import ModelRead, SourceAttached, SourceLost
from specscope.flags import parse_flags
from specscope.sources import gguf as gguf_source
from specscope.sources.gguf import GgufError, GgufFile, GgufSource, files_in_use, model_read, read_header
from specscope.sources.gguf_header import TENSOR_TYPES
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from specscope.events import Event

N_BIG = 250_000


def write(path: Path, arch: str, fill: Callable[[gguf.GGUFWriter], None]) -> str:
    writer = gguf.GGUFWriter(path, arch)
    fill(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return str(path)


def drafter(writer: gguf.GGUFWriter) -> None:
    writer.add_name("Draft")
    writer.add_uint32("dflash.block_size", 16)
    writer.add_array("dflash.target_layers", [2, 4, 6])
    writer.add_uint32("dflash.embedding_length", 64)
    writer.add_uint32("dflash.block_count", 3)
    writer.add_uint32("dflash.context_length", 4096)
    writer.add_token_list([f"t{number}" for number in range(600)])
    writer.add_token_scores([0.5] * 600)
    writer.add_string("general.base_model.0.name", "Big")
    writer.add_string("general.base_model.0.repo_url", "https://huggingface.co/x/big")
    writer.add_string("general.base_model.1.name", "Small")
    writer.add_float32("general.sampling.temp", 0.5)
    writer.add_int32("general.sampling.top_k", 20)
    writer.add_tokenizer_model("gpt2")
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_bool("tokenizer.ggml.add_bos_token", val=True)
    writer.add_string("tokenizer.chat_template", "ü" * 1000)
    writer.add_tensor("fc.weight", np.zeros((4, 32), dtype=np.float32))
    writer.add_tensor("markov_w1.weight", np.zeros((2, 8), dtype=np.float16))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("gguf") / "small.gguf", "dflash", drafter)


@pytest.fixture(scope="module")
def small_bytes(small: str) -> bytes:
    with open(small, "rb") as file:  # noqa: PTH123 - a string is what the reader takes
        return file.read()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch") / "file.gguf"


def test_a_header_equals_what_the_gguf_package_reads(small: str) -> None:
    header = read_header(small)
    reference = gguf.GGUFReader(small)
    for key, field in reference.fields.items():
        if key.startswith("GGUF.") or key in ("tokenizer.ggml.tokens", "tokenizer.ggml.scores"):
            continue
        assert header.metadata[key] == field.contents(), key
    assert "tokenizer.ggml.tokens" not in header.metadata
    assert header.array_lengths == {
        "dflash.target_layers": 3,
        "tokenizer.ggml.tokens": 600,
        "tokenizer.ggml.scores": 600,
    }
    assert header.version == 3
    assert [(tensor.name, list(tensor.shape), tensor.type) for tensor in header.tensors] == [
        (tensor.name, tensor.shape.tolist(), tensor.tensor_type.name) for tensor in reference.tensors
    ]


def test_every_tensor_type_has_the_name_the_gguf_package_gives_it() -> None:
    assert {kind.value: kind.name for kind in gguf.GGMLQuantizationType}.items() <= TENSOR_TYPES.items()


def test_the_fact_of_a_drafter(small: str) -> None:
    fact = model_read(read_header(small), "drafter", "/models/d.gguf", 5.0, "t1")
    assert fact == ModelRead(
        at=5.0,
        target="t1",
        role="drafter",
        path="/models/d.gguf",
        arch="dflash",
        name="Draft",
        file_bytes=os.stat(small).st_size,  # noqa: PTH116 - a string is what the reader takes
        n_vocab=600,
        n_embd=64,
        n_layer=3,
        n_ctx_train=4096,
        block_size=16,
        nextn_layers=0,
        tensor_types={"F32": 1, "F16": 1},
        sampling={"temp": 0.5, "top_k": 20},
        base_models=["https://huggingface.co/x/big", "Small"],
        has_markov_head=True,
        hparams={
            "block_size": 16,
            "target_layers": [2, 4, 6],
            "embedding_length": 64,
            "block_count": 3,
            "context_length": 4096,
        },
        input_bytes=0,
        embedding_bytes=0,
        output_bytes=4 * 32 * 4 + 2 * 8 * 2,
        tied=False,
        layer_bytes=[0, 0, 0],
        layer_expert_bytes=[0, 0, 0],
        tokenizer="gpt2",
        bos=1,
        eos=2,
        add_bos=True,
    )


def test_a_vocabulary_of_250000_is_measured_and_not_kept(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        writer.add_token_list([f"token {number}" for number in range(N_BIG)])
        writer.add_token_scores([0.0] * N_BIG)
        writer.add_token_merges([f"a b{number}" for number in range(N_BIG)])
        writer.add_string("general.last", "seen")

    header = read_header(write(tmp_path / "big.gguf", "llama", fill))
    assert header.array_lengths["tokenizer.ggml.tokens"] == N_BIG
    assert header.array_lengths["tokenizer.ggml.scores"] == N_BIG
    assert header.metadata["general.last"] == "seen"
    assert len(header.metadata) == 2
    assert model_read(header, "target", "x", 0.0).n_vocab == N_BIG


def test_the_vocabulary_size_that_is_stated_comes_before_the_tokens(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        writer.add_vocab_size(32)
        writer.add_token_list(["a", "b"])

    assert model_read(read_header(write(tmp_path / "v.gguf", "llama", fill)), "target", "x", 0.0).n_vocab == 32


@pytest.mark.parametrize(
    ("key", "tensor", "layers"),
    [(2, "blk.1.nextn.eh_proj.weight", 2), (None, "blk.1.nextn.eh_proj.weight", 1), (2, "output.weight", 0)],
)
def test_prediction_layers_exist_only_with_their_tensors(
    tmp_path: Path, key: int | None, tensor: str, layers: int
) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        if key is not None:
            writer.add_uint32("llama.nextn_predict_layers", key)
        writer.add_tensor(tensor, np.zeros(4, dtype=np.float32))

    fact = model_read(read_header(write(tmp_path / "n.gguf", "llama", fill)), "target", "x", 0.0)
    assert fact.nextn_layers == layers
    assert fact.has_markov_head is False


def split_model(folder: Path) -> list[Path]:
    paths = [folder / f"m-0000{number}-of-00002.gguf" for number in (1, 2)]
    for number, path in enumerate(paths):

        def fill(writer: gguf.GGUFWriter, number: int = number) -> None:
            writer.add_uint16("split.no", number)
            writer.add_uint16("split.count", 2)
            writer.add_tensor(f"t{number}", np.zeros(4, dtype=np.float32))

        write(path, "llama", fill)
    return paths


def test_the_splits_of_a_model_are_one_model(tmp_path: Path) -> None:
    paths = split_model(tmp_path)
    header = read_header(str(paths[0]))
    assert header.file_bytes == sum(path.stat().st_size for path in paths)
    assert [tensor.name for tensor in header.tensors] == ["t0", "t1"]


def test_a_missing_split_leaves_sizes_and_counts_unknown(tmp_path: Path) -> None:
    paths = split_model(tmp_path)
    paths[1].unlink()
    fact = model_read(read_header(str(paths[0])), "target", "x", 0.0)
    assert (fact.file_bytes, fact.tensor_types, fact.has_markov_head, fact.nextn_layers) == (None, {}, None, None)
    assert fact.arch == "llama"


def header_bytes(version: int = 3, n_tensors: int = 0, n_keys: int = 0, rest: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, n_tensors, n_keys) + rest


def key(name: bytes, kind: int, rest: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + rest


HUGE = 1 << 60


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "file ends"),
        (b"GGU", "file ends"),
        (b"PK\3\4" + bytes(40), "not a GGUF file"),
        (header_bytes(1), "version 1"),
        (header_bytes(4), "version 4"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (header_bytes(n_keys=HUGE), f"{HUGE} keys"),
        (header_bytes(n_tensors=HUGE), f"{HUGE} tensors"),
        (header_bytes(n_keys=1, rest=struct.pack("<Q", HUGE) + bytes(20)), "a key needs"),
        (header_bytes(n_keys=1, rest=key(b"k", 8, struct.pack("<Q", 2**64 - 1))), "value of k"),
        (header_bytes(n_keys=1, rest=key(b"k", 9, struct.pack("<IQ", 8, HUGE))), f"array of {HUGE}"),
        (header_bytes(n_keys=1, rest=key(b"k", 9, struct.pack("<IQ", 6, HUGE))), f"array of {HUGE}"),
        (header_bytes(n_keys=1, rest=key(b"k", 9, struct.pack("<IQ", 9, 1))), "unknown type 9"),
        (header_bytes(n_keys=1, rest=key(b"k", 99, bytes(8))), "unknown type 99"),
        (
            header_bytes(n_keys=1, rest=key(b"k", 9, struct.pack("<IQQ", 8, 600, 2**64 - 1) + bytes(8000))),
            "array of 600 items in k",
        ),
        (header_bytes(n_tensors=1, rest=struct.pack("<Q", 1) + b"t" + struct.pack("<I", 9) + bytes(40)), "9 dim"),
    ],
)
def test_a_damaged_file_says_what_is_wrong(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(GgufError, match=says):
        read_header(str(path))


def test_version_2_and_an_unknown_tensor_type_are_read(tmp_path: Path) -> None:
    path = tmp_path / "two.gguf"
    info = struct.pack("<Q", 1) + b"t" + struct.pack("<IQIQ", 1, 7, 200, 0)
    path.write_bytes(header_bytes(2, n_tensors=1, rest=info))
    header = read_header(str(path))
    assert header.version == 2
    assert header.tensors[0] == ("t", (7,), "type 200", 0)


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(GgufError, match="not a regular file"):
        read_header(str(path))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_cut_anywhere_is_an_error_or_a_header(small_bytes: bytes, scratch: Path, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(small_bytes)))
    scratch.write_bytes(small_bytes[:end])
    with suppress(GgufError):
        assert len(read_header(str(scratch)).tensors) == 2


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_flipped_bytes_are_an_error_or_a_header(small_bytes: bytes, scratch: Path, data: st.DataObject) -> None:
    content = bytearray(small_bytes)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    scratch.write_bytes(bytes(content))
    with suppress(GgufError):
        assert model_read(read_header(str(scratch)), "target", "x", 0.0).file_bytes == len(content)


def test_a_file_is_found_inside_the_root_of_a_container(tmp_path: Path, small_bytes: bytes) -> None:
    root = tmp_path / "root"
    (root / "models/blobs").mkdir(parents=True)
    (root / "models/blobs/abc").write_bytes(small_bytes)
    (root / "models/absolute.gguf").symlink_to("/models/blobs/abc")
    (root / "models/relative.gguf").symlink_to("../models/./blobs/abc")
    (root / "models/loop.gguf").symlink_to("loop.gguf")
    for name in ("absolute", "relative"):
        assert read_header(f"/models/{name}.gguf", str(root)).version == 3
    with pytest.raises((GgufError, OSError)):
        read_header("/models/loop.gguf", str(root))


def run_source(files: list[GgufFile]) -> list[Event]:
    seen: list[Event] = []
    asyncio.run(GgufSource(files, Clock(), "t0").run(seen.append))
    return seen


def test_one_unreadable_file_does_not_hide_the_other(small: str) -> None:
    lost, read, attached = run_source([GgufFile("target", "/nowhere/m.gguf"), GgufFile("drafter", small)])
    assert isinstance(lost, SourceLost)
    assert lost.reason == "target /nowhere/m.gguf: no such file"
    assert isinstance(read, ModelRead)
    assert (read.role, read.path) == ("drafter", small)
    assert isinstance(attached, SourceAttached)
    assert attached.detail == "drafter"


def test_a_forbidden_file_says_who_may_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    denied = PermissionError(13, "Permission denied")
    monkeypatch.setattr(gguf_source, "read_header", Mock(side_effect=denied))
    (lost,) = run_source([GgufFile("target", "/m.gguf")])
    assert isinstance(lost, SourceLost)
    assert lost.reason == "target /m.gguf: Permission denied"
    assert "root" in lost.hint


def test_the_files_of_a_command_line(small: str) -> None:
    flags = parse_flags(["llama-server", "-m", small, "-md", "relative.gguf"])
    target, draft = files_in_use(os.getpid(), flags)
    assert (target.role, target.path) == ("target", small)
    assert (draft.role, draft.path) == ("drafter", os.path.join(os.getcwd(), "relative.gguf"))  # noqa: PTH109, PTH118
    assert read_header(target.path, target.root).version == 3
