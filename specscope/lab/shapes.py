"""The sizes of the lab's models, and what their families are.

A *family* is a target or a drafter of one method; two have a variant (``dflash2``, ``mtp3``) because what the server
makes of them differs though it calls the method the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from specscope.lab.gguf_writer import WeightType

Family: TypeAlias = Literal["target", "dflash", "dflash2", "dspark", "eagle3", "draft", "mamba", "mtp", "mtp3"]
Size: TypeAlias = Literal["quick", "wordy", "paying", "gpu"]

FILE_TYPES: dict[WeightType, int] = {"f32": 0, "q4_0": 2}  # llama_ftype
CONTEXT = 32_768

BLOCK_SIZES: Final[dict[Family, int]] = {"dflash": 16, "dflash2": 8, "dspark": 8}
"""Tokens that a block drafter's block holds (``dflash.block_size``)."""

HEADS: Final[dict[Family, int]] = {"mtp": 1, "mtp3": 3}
"""How many prediction layers a target has (``nextn_predict_layers``)."""

WIDEST: Final[dict[Family, int]] = {
    # the block's first slot holds the token that is known already (llama.cpp common/speculative.cpp)
    "dflash": BLOCK_SIZES["dflash"] - 1,
    "dflash2": BLOCK_SIZES["dflash2"] - 1,
    # anchor-first: its first slot predicts too (the same)
    "dspark": BLOCK_SIZES["dspark"],
    # several heads draft one token each; a single one is run as often as asked (the same)
    "mtp3": HEADS["mtp3"],
}
"""The most that a drafter drafts, whatever is asked for; the others have no limit."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a target and of its drafters: the draft model (``draft_layers``) and the block drafters."""

    embedding: int
    layers: int
    feed_forward: int
    heads: int
    kv_heads: int
    draft_layers: int
    dflash_layers: int
    target_layers: tuple[int, ...]
    weights: WeightType
    vocabulary: int = 0

    @property
    def head(self) -> int:
        """Width of one attention head."""
        return self.embedding // self.heads

    @property
    def three_layers(self) -> tuple[int, int, int]:
        """A low, a middle and a high one of ``target_layers``: EAGLE-3 reads exactly three (src/models/eagle3.cpp)."""
        return self.target_layers[0], self.target_layers[len(self.target_layers) // 2], self.target_layers[-1]


SHAPES: dict[Size, Shape] = {
    "quick": Shape(256, 8, 768, 4, 2, 1, 1, (1, 4, 6), "q4_0"),
    # The same with a vocabulary of real size: what is done for each entry of it, such as sampling, takes its time.
    "wordy": Shape(256, 8, 768, 4, 2, 1, 1, (1, 4, 6), "q4_0", vocabulary=49_152),
    # With weights of full precision a token costs a pass over memory, and a few more tokens in the same pass are
    # cheap, as on a GPU. Quantized ones are bound by arithmetic on a CPU, and drafting then hardly pays.
    "paying": Shape(512, 6, 1536, 8, 4, 1, 1, (1, 3, 4), "f32"),
    # 2.7 GB: as many layers and as wide as a model of 7 billion parameters, with a vocabulary of real size.
    "gpu": Shape(4096, 32, 8192, 32, 8, 4, 5, (1, 8, 16, 23, 30), "q4_0", vocabulary=49_152),
}
