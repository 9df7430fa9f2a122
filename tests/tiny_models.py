"""The smallest models that llama.cpp loads for an architecture: its keys and tensors, every weight the same.

``fixtures/memory/tiny_models.json`` lists for each the keys (without the architecture's prefix) and the tensors: a name
and its dimensions, the fastest first, of the blocks that the entry's key names, or of none. They say nothing sensible,
but the server lays out its memory for them as for real ones.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from specscope.lab.vocabulary import BOS_ID, EOS_ID, MASK_ID, UNK_ID, lab_vocabulary

_LIST = Path(__file__).parent / "fixtures" / "memory" / "tiny_models.json"
_WEIGHT = 0.01


@cache
def _models() -> dict[str, Any]:
    return json.loads(_LIST.read_text())


def tiny_names() -> list[str]:
    """What models there are."""
    return list(_models())


def tiny_arch(name: str) -> str:
    """The architecture of a model."""
    return _models()[name]["arch"]


def write_tiny(name: str, folder: Path) -> Path:
    """Write a model and return its path."""
    model = _models()[name]
    path = folder / f"{name.replace(' ', '-')}.gguf"
    writer = gguf.GGUFWriter(path, model["arch"])
    for key, value in model["keys"].items():
        _put(writer, f"{model['arch']}.{key}", value)
    _put_vocabulary(writer)
    for full_name, shape in _tensors(model["tensors"]):
        writer.add_tensor(full_name, np.full(shape, _WEIGHT, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tensors(listed: dict[str, list[str]]) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes, block by block, as the converters of llama.cpp write them."""
    found: list[tuple[int, str, tuple[int, ...]]] = []
    for blocks, tensors in listed.items():
        for tensor in tensors:
            suffix, dimensions = tensor.split()
            shape = tuple(int(size) for size in reversed(dimensions.split("x")))
            found += [(int(block), f"blk.{block}.{suffix}", shape) for block in blocks.split()]
            found += [] if blocks else [(-1, suffix, shape)]
    found.sort(key=lambda entry: entry[0])
    return [(name, shape) for _, name, shape in found]


def _put(writer: gguf.GGUFWriter, key: str, value: Any) -> None:  # noqa: ANN401 - as JSON has it
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case _:
            writer.add_array(key, value)


def _put_vocabulary(writer: gguf.GGUFWriter) -> None:
    vocabulary = lab_vocabulary()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(list(vocabulary.tokens))
    writer.add_token_types(list(vocabulary.types))
    writer.add_token_merges(list(vocabulary.merges))
    for kind, token in (("unknown", UNK_ID), ("bos", BOS_ID), ("eos", EOS_ID), ("mask", MASK_ID)):
        writer.add_uint32(f"tokenizer.ggml.{kind}_token_id", token)
