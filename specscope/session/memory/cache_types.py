"""The types that keys and values can be stored in (``--cache-type-k``, ``-v``), and what a row of them takes.

The list is ``kv_cache_types`` of common/arg.cpp, the sizes are those of ggml/src/ggml-common.h, llama.cpp b11434.
"""

from __future__ import annotations

from typing import Final

# values of a block, bytes of a block
_BLOCKS: Final = {
    "f32": (1, 4),
    "f16": (1, 2),
    "bf16": (1, 2),
    "q8_0": (32, 34),
    "q4_0": (32, 18),
    "q4_1": (32, 20),
    "iq4_nl": (32, 18),
    "q5_0": (32, 22),
    "q5_1": (32, 24),
}
CACHE_TYPES: Final = frozenset(_BLOCKS)
DEFAULT_TYPE: Final = "f16"
STATE_BYTES: Final = 4  # recurrent states are f32, whatever the flags say


def row_bytes(kind: str, values: int) -> int | None:
    """The bytes of a row of ``values``; None where a type is unknown or its blocks do not divide the row."""
    if kind not in _BLOCKS:
        return None
    per_block, n_bytes = _BLOCKS[kind]
    blocks, rest = divmod(values, per_block)
    return None if rest else blocks * n_bytes
