"""The drafters that read a target's hidden states: DFlash 1 and 2, DSpark and EAGLE-3.

None has an embedding or an output of its own: llama.cpp lends them the target's (src/models/dflash.cpp, eagle3.cpp).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from specscope.lab.layers import gain_of, put_feed_forward, put_layer, put_transformer_keys
from specscope.lab.shapes import BLOCK_SIZES
from specscope.lab.vocabulary import lab_vocabulary

if TYPE_CHECKING:
    from specscope.lab.gguf_writer import GgufFile
    from specscope.lab.shapes import Family, Shape

RANK = 32
"""Width of the tables that score pairs of tokens: DFlash 2's selector, DSpark's Markov head."""

TOP_K = 8
"""Candidates of a position among which DFlash 2 selects; k + k * k numbers must fit into an embedding's width."""

CONV_KERNEL, CONV_GROUP = 4, 32
CONFIDENCE_SPREAD = 2.0
"""Root mean square of the confidence head's logits, so that it is now sure and now not."""


def put_block_drafter(file: GgufFile, shape: Shape, family: Family) -> None:
    """A drafter that drafts a block of tokens in one pass.

    A DFlash drafter's layers outweigh the embedding of the mask, so that its positions differ. DSpark reads its first
    token where the last one stands, and little added to that agrees with the target sometimes.
    """
    wide = shape.embedding
    put_transformer_keys(file, shape, shape.dflash_layers)
    file.put("dflash.block_size", BLOCK_SIZES[family])
    _put_features(file, shape, shape.target_layers, 1.0)
    file.put_constant("enc.output_norm.weight", (wide,), 1.0)
    file.put_constant("output_norm.weight", (wide,), 1.0)
    for index in range(shape.dflash_layers):
        put_layer(file, shape, index, gain_of(shape.layers) if family == "dspark" else 1.0)
        file.put_constant(f"blk.{index}.attn_q_norm.weight", (shape.head,), 1.0)
        file.put_constant(f"blk.{index}.attn_k_norm.weight", (shape.head,), 1.0)
    if family == "dflash2":
        _put_selector(file, shape)
    elif family == "dspark":
        _put_markov_head(file, shape)


def put_eagle3(file: GgufFile, shape: Shape) -> None:
    """EAGLE-3: one layer that is given the target's features and the token after them, run once a token.

    Its attention hands on the token's embedding (each position mostly attends to itself), and the features count
    little, so that it agrees with the target sometimes.
    """
    shape = replace(shape, kv_heads=shape.heads)
    wide = shape.embedding
    put_transformer_keys(file, shape, 1)
    file.put("{arch}.target_hidden_size", wide)
    _put_features(file, shape, shape.three_layers, gain_of(shape.layers))
    file.put_constant("output_norm.weight", (wide,), 1.0)
    for norm in ("attn_norm", "attn_norm_2"):
        file.put_constant(f"blk.0.{norm}.weight", (wide,), 1.0)
    for part in ("q", "k", "v"):  # of the embedding and the features side by side, the embedding
        file.put_identity(f"blk.0.attn_{part}.weight", wide, 2 * wide)
    file.put_identity("blk.0.attn_output.weight", wide, wide)
    put_feed_forward(file, shape, 0, gain_of(shape.layers))


def _put_features(file: GgufFile, shape: Shape, layers: tuple[int, ...], rms: float) -> None:
    """What is read of the target, the inputs of ``layers``, and the matrix that makes one embedding of them."""
    inputs = len(layers) * shape.embedding
    file.put("{arch}.target_layers", layers)
    file.put_random("fc.weight", shape.embedding, inputs, rms * inputs**-0.5)


def _put_selector(file: GgufFile, shape: Shape) -> None:
    """DFlash 2: convolutions over the block around attention and feed-forward, and a selector of pairs of tokens.

    A convolution has a fixed part (the mean over its kernel, here) and one that is projected from the hidden state.
    """
    wide, tokens = shape.embedding, len(lab_vocabulary(shape.vocabulary).tokens)
    file.put_all(
        {
            "dflash.conv_kernel_size": CONV_KERNEL,
            "dflash.conv_group_size": CONV_GROUP,
            "dflash.selector_rank": RANK,
            "dflash.selector_top_k": TOP_K,
        }
    )
    file.put_random("selector_predecessor.weight", tokens, RANK, RANK**-0.25)
    file.put_random("selector_successor.weight", tokens, RANK, RANK**-0.25)
    file.put_random("selector_hidden.weight", RANK, wide, wide**-0.5)
    for index in range(shape.dflash_layers):
        for half in ("attn", "ffn"):
            projected = 2 * CONV_KERNEL * (wide // CONV_GROUP)  # before and after the half
            file.put_constant(f"blk.{index}.{half}_conv_base", (2, CONV_KERNEL, wide), 1 / CONV_KERNEL)
            file.put_random(f"blk.{index}.{half}_conv_proj.weight", projected, wide, 0.1 * wide**-0.5)


def _put_markov_head(file: GgufFile, shape: Shape) -> None:
    """DSpark: a bias from each drafted token to the next one, and a head that tells how sure a position is."""
    wide, tokens = shape.embedding, len(lab_vocabulary(shape.vocabulary).tokens)
    file.put_random("markov_w1.weight", tokens, RANK, 1.0)
    file.put_random("markov_w2.weight", tokens, RANK, RANK**-0.5)
    file.put_normal("conf_proj.weight", 1, wide + RANK, CONFIDENCE_SPREAD * (wide + RANK) ** -0.5)
