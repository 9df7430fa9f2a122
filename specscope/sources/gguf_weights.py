"""What the tensors of a model weigh, by where llama.cpp keeps them: input layer, repeating layers, output layer.

Which tensor belongs to which layer: ``LLM_TENSOR_INFOS`` of src/llama-arch.cpp, llama.cpp b11434. What is not in a
block belongs to the output layer, except the embeddings (input) and a few that are used with the first block.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.sources.ggml_types import tensor_bytes

if TYPE_CHECKING:
    from specscope.sources.gguf_header import GgufHeader

_BLOCK = re.compile(r"(?:enc\.|dec\.)?blk\.(\d+)\.")
_EXPERTS = re.compile(r"\.ffn_(?:up|down|gate|gate_up)_(?:ch)?exps")  # LLM_FFN_EXPS_REGEX of common/common.h
_INPUT: Final = ("token_embd.", "position_embd.", "token_types.", "per_layer_token_embd.")
_WITH_THE_FIRST_BLOCK: Final = (
    *("rope_freqs.", "rope_factors_long.", "rope_factors_short.", "token_embd_norm."),
    *("per_layer_model_proj.", "per_layer_proj_norm.", "nextn.pre_projection."),
)
_NORMS_ITS_OUTPUT: Final = frozenset({"lfm2", "lfm2moe"})  # whose token_embd_norm is the norm of the output
_MAX_LAYERS: Final = 512  # LLAMA_MAX_LAYERS of src/llama-hparams.h
_BORROWS_ITS_OUTPUT: Final = frozenset({"eagle3"})  # an output that is missing is the target's, not its embeddings


class Weighed(NamedTuple):
    """Bytes by layer. ``layers`` and ``experts`` have one entry for each block; experts are part of the layers."""

    input_bytes: int
    embedding_bytes: int
    output_bytes: int
    tied: bool
    layers: list[int]
    experts: list[int]


def weigh(header: GgufHeader, arch: str | None, n_layer: int | None) -> Weighed | None:
    """Add up a model's tensors; None where a split was not read, a tensor is of an unknown type, or all is damaged.

    Args:
        header: what was read of the file.
        arch: its ``general.architecture``.
        n_layer: its ``block_count``. A block beyond it goes with the output (``create_tensor`` of llama-model.cpp).
    """
    if header.file_bytes is None or n_layer is None or not 0 < n_layer <= _MAX_LAYERS or not header.tensors:
        return None
    ends = {"input": 0, "output": 0}
    embedding_bytes = 0
    layers, experts = [0] * n_layer, [0] * n_layer
    for name, shape, kind, _ in header.tensors:
        n_bytes = tensor_bytes(kind, shape)
        if n_bytes is None:
            return None
        place = _place(name, arch, n_layer)
        if isinstance(place, str):
            ends[place] += n_bytes
            embedding_bytes += n_bytes if name == "token_embd.weight" else 0
            continue
        layers[place] += n_bytes
        experts[place] += n_bytes if _EXPERTS.search(name) else 0
    if sum(ends.values()) + sum(layers) > header.file_bytes:
        return None  # the header is damaged
    names = {tensor.name for tensor in header.tensors}
    tied = "token_embd.weight" in names and "output.weight" not in names and arch not in _BORROWS_ITS_OUTPUT
    return Weighed(ends["input"], embedding_bytes, ends["output"], tied, layers, experts)


def _place(name: str, arch: str | None, n_layer: int) -> int | str:
    """The block of a tensor, or ``input`` or ``output``."""
    block = _BLOCK.match(name)
    if block is not None:
        return int(block[1]) if int(block[1]) < n_layer else "output"
    if name.startswith(_INPUT):
        return "input"
    normed = arch in _NORMS_ITS_OUTPUT and name.startswith("token_embd_norm.")
    return 0 if name.startswith(_WITH_THE_FIRST_BLOCK) and n_layer and not normed else "output"
