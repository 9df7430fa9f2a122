"""How many bytes a tensor takes: ggml's block sizes by type.

From ggml/src/ggml.c (``type_traits``) and the size assertions of ggml/src/ggml-common.h of llama.cpp b11434.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# type | weights of a block | bytes of a block
_TABLE: Final = """
F32 1 4 | F16 1 2 | BF16 1 2 | F64 1 8 | I8 1 1 | I16 1 2 | I32 1 4 | I64 1 8
Q1_0 128 18 | Q2_0 64 18 | Q4_0 32 18 | Q4_1 32 20 | Q5_0 32 22 | Q5_1 32 24 | Q8_0 32 34 | Q8_1 32 36
Q2_K 256 84 | Q3_K 256 110 | Q4_K 256 144 | Q5_K 256 176 | Q6_K 256 210 | Q8_K 256 292
IQ1_S 256 50 | IQ1_M 256 56 | IQ2_XXS 256 66 | IQ2_XS 256 74 | IQ2_S 256 82 | IQ3_XXS 256 98 | IQ3_S 256 110
IQ4_NL 32 18 | IQ4_XS 256 136 | TQ1_0 256 54 | TQ2_0 256 66 | MXFP4 32 17 | NVFP4 64 36
"""


def _blocks() -> dict[str, tuple[int, int]]:
    rows = (entry.split() for line in _TABLE.strip().splitlines() for entry in line.split("|"))
    return {name: (int(weights), int(n_bytes)) for name, weights, n_bytes in rows}


BLOCKS: Final = _blocks()
"""Weights and bytes of one block, by the names of ``gguf_header.TENSOR_TYPES``. Removed types are not in it."""


def tensor_bytes(kind: str, shape: Sequence[int]) -> int | None:
    """The bytes of a tensor's data, without the padding behind it; None where type or shape is not known to ggml.

    Args:
        kind: the type's name, as in ``GgufTensor.type``.
        shape: its dimensions, the fastest first: rows are made of whole blocks (``ggml_row_size``).
    """
    if kind not in BLOCKS or not shape:
        return None
    weights, n_bytes = BLOCKS[kind]
    blocks, rest = divmod(shape[0], weights)
    return None if rest else blocks * n_bytes * prod(shape[1:])
