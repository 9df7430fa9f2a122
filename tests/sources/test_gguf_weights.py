"""What tensors weigh, and where llama.cpp keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import pytest

from specscope.lab.models import ModelSpec, model_path
from specscope.session.memory.cache_types import CACHE_TYPES, row_bytes
from specscope.sources.ggml_types import BLOCKS, tensor_bytes
from specscope.sources.gguf import model_read, read_header
from specscope.sources.gguf_header import TENSOR_TYPES, GgufHeader, GgufTensor
from specscope.sources.gguf_weights import weigh

if TYPE_CHECKING:
    from pathlib import Path

    from specscope.lab.shapes import Family

Q8_1 = 36  # two float16 and 32 bytes (ggml-common.h); the gguf package counts two float32


def test_blocks_are_those_of_the_gguf_package() -> None:
    sizes = {kind.name: size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    assert sizes | {"Q8_1": (32, Q8_1)} == {name: size for name, size in BLOCKS.items() if name in sizes}
    assert set(BLOCKS) - set(sizes) == {"Q2_0"}
    assert set(BLOCKS) <= set(TENSOR_TYPES.values())


@pytest.mark.parametrize("kind", sorted(CACHE_TYPES))
def test_cache_types_are_those_of_tensors(kind: str) -> None:
    assert row_bytes(kind, 4096) == tensor_bytes(kind.upper(), (4096,))
    assert row_bytes(kind, 33) == tensor_bytes(kind.upper(), (33,))


def test_types_and_shapes_that_ggml_does_not_know() -> None:
    assert tensor_bytes("F32", (3, 5, 7)) == 3 * 5 * 7 * 4
    assert tensor_bytes("Q4_0", (64, 2)) == 2 * 2 * 18
    assert tensor_bytes("Q4_0", (63, 2)) is None
    assert tensor_bytes("Q4_2", (64,)) is None
    assert tensor_bytes("type 99", (64,)) is None
    assert tensor_bytes("F32", ()) is None


@pytest.mark.parametrize("family", ["target", "draft", "dflash", "mamba"])
def test_all_bytes_of_a_file_are_somewhere(family: Family) -> None:
    path = str(model_path(ModelSpec(family)))
    read = model_read(read_header(path), "target", path, 0.0)
    assert read.input_bytes is not None
    assert read.output_bytes is not None
    tensors = gguf.GGUFReader(path).tensors
    assert read.input_bytes + read.output_bytes + sum(read.layer_bytes) == sum(int(t.n_bytes) for t in tensors)
    assert len(read.layer_bytes) == read.n_layer
    assert read.tied is False
    assert read.hparams["embedding_length"] == 256
    assert read.layer_expert_bytes == [0] * len(read.layer_bytes)
    if family == "dflash":
        assert (read.input_bytes, read.hparams["target_layers"]) == (0, [1, 4, 6])


def header(*tensors: tuple[str, tuple[int, ...], str], file_bytes: int | None = 10**6) -> GgufHeader:
    infos = [GgufTensor(name, shape, kind, 0) for name, shape, kind in tensors]
    return GgufHeader(3, {}, {}, infos, file_bytes)


MOE = (
    ("token_embd.weight", (32, 10), "F32"),
    ("per_layer_token_embd.weight", (32, 1), "F16"),
    ("output_norm.weight", (32,), "F32"),
    ("rope_freqs.weight", (16,), "F32"),
    ("blk.0.attn_q.weight", (32, 32), "Q8_0"),
    ("blk.1.ffn_gate_exps.weight", (32, 32, 4), "Q4_0"),
    ("blk.1.ffn_gate_shexp.weight", (32, 32), "Q4_0"),
    ("blk.1.ffn_gate_inp.weight", (32, 4), "F32"),
    ("blk.2.score.weight", (32,), "F32"),
)


def test_layers_experts_and_ends() -> None:
    weights = weigh(header(*MOE), "qwen3moe", 2)
    assert weights is not None
    assert weights.input_bytes == 32 * 10 * 4 + 64
    assert weights.output_bytes == 128 + 128  # the norm, and a block that is beyond the model's layers
    assert weights.layers == [16 * 4 + 32 * 34, 4 * 32 * 18 + 32 * 18 + 32 * 4 * 4]
    assert weights.experts == [0, 4 * 32 * 18]
    assert weights.tied


def test_an_output_of_its_own_is_not_tied_nor_is_one_that_is_borrowed() -> None:
    tensors = (*MOE, ("output.weight", (32, 10), "F32"))
    assert not (weigh(header(*tensors), "llama", 2) or pytest.fail("known")).tied
    assert not (weigh(header(*MOE), "eagle3", 2) or pytest.fail("known")).tied
    norm = ("token_embd_norm.weight", (32,), "F32")
    assert (weigh(header(*MOE, norm), "lfm2", 2) or pytest.fail("known")).output_bytes == 128 * 3
    assert (weigh(header(*MOE, norm), "bloom", 2) or pytest.fail("known")).output_bytes == 128 * 2


@pytest.mark.parametrize(
    ("given", "n_layer"),
    [
        (header(*MOE, file_bytes=None), 2),
        (header(*MOE, ("blk.0.x.weight", (32,), "type 99")), 2),
        (header(*MOE, ("blk.0.x.weight", (2**62, 2**62), "F32")), 2),
        (header(*MOE), None),
        (header(*MOE), 0),
        (header(*MOE), 10**9),
        (header(), 2),
    ],
    ids=["a split is missing", "unknown type", "damaged", "no layers told", "no layers", "too many", "no tensors"],
)
def test_a_sum_that_would_be_wrong_is_not_made(given: GgufHeader, n_layer: int | None) -> None:
    assert weigh(given, "qwen3moe", n_layer) is None


def test_hparams_leave_out_prose_and_names(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_block_count(1)
    writer.add_string("llama.note", "x" * 65)
    writer.add_string("llama.rope.scaling.type", "yarn")
    writer.add_array("llama.labels", ["a", "b"])
    writer.add_array("llama.attention.head_count_kv", [1, 2])
    writer.add_float32("llama.rope.freq_base", 1.5)
    writer.add_bool("llama.attention.causal", val=False)
    writer.add_uint32("qwen3.block_count", 5)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    read = model_read(read_header(str(tmp_path / "a.gguf")), "target", "a", 0.0)
    assert read.hparams == {
        "block_count": 1,
        "rope.scaling.type": "yarn",
        "attention.head_count_kv": [1, 2],
        "rope.freq_base": 1.5,
        "attention.causal": False,
    }
    assert (read.input_bytes, read.layer_bytes, read.tied) == (None, [], None)
