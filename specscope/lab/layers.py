"""What the lab's models have in common: the vocabulary, a transformer's keys, its two ends and its layers.

Weights are scaled so that a random model behaves like a model: each layer adds little beside the embedding,
so the next token depends mostly on the last one and somewhat on the context. Greedy text then falls into
near-loops (which n-gram drafting finds), sampled text varies, and a draft model made of the target's first
layers agrees with it often but not always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.lab.shapes import CONTEXT
from specscope.lab.vocabulary import BOS_ID, EOS_ID, MASK_ID, SILENT_IDS, UNK_ID, lab_vocabulary

if TYPE_CHECKING:
    from specscope.lab.gguf_writer import GgufFile
    from specscope.lab.shapes import Shape

EMBEDDING_RMS = 1.0
LOGIT_RMS = 3.0  # of 300 logits at a spread of 3, the likeliest token gets about a fifth at temperature 1
LAYERS_SHARE = 0.6  # variance that all layers of a target together add to an embedding's variance of 1


def put_vocabulary(file: GgufFile, shape: Shape) -> None:
    """The lab's vocabulary."""
    vocabulary = lab_vocabulary(shape.vocabulary)
    file.put_all(
        {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "gpt-2",
            "tokenizer.ggml.tokens": vocabulary.tokens,
            "tokenizer.ggml.token_type": vocabulary.types,
            "tokenizer.ggml.merges": vocabulary.merges,
            "tokenizer.ggml.unknown_token_id": UNK_ID,
            "tokenizer.ggml.bos_token_id": BOS_ID,
            "tokenizer.ggml.eos_token_id": EOS_ID,
            "tokenizer.ggml.mask_token_id": MASK_ID,
            "tokenizer.ggml.add_bos_token": True,
            "{arch}.vocab_size": len(vocabulary.tokens),
        }
    )


def put_transformer_keys(file: GgufFile, shape: Shape, layers: int) -> None:
    """The keys of any transformer of ``layers`` layers."""
    file.put_all(
        {
            "{arch}.context_length": CONTEXT,
            "{arch}.embedding_length": shape.embedding,
            "{arch}.block_count": layers,
            "{arch}.feed_forward_length": shape.feed_forward,
            "{arch}.attention.head_count": shape.heads,
            "{arch}.attention.head_count_kv": shape.kv_heads,
            "{arch}.attention.key_length": shape.head,
            "{arch}.attention.value_length": shape.head,
            "{arch}.attention.layer_norm_rms_epsilon": 1e-5,
            "{arch}.rope.dimension_count": shape.head,
            "{arch}.rope.freq_base": 10_000.0,
        }
    )


def put_ends(file: GgufFile, shape: Shape) -> None:
    """The embedding and an output matrix of its own: a tied one would mostly repeat the last token."""
    tokens, embedding = len(lab_vocabulary(shape.vocabulary).tokens), shape.embedding
    file.put_random("token_embd.weight", tokens, embedding, EMBEDDING_RMS)
    file.put_constant("output_norm.weight", (embedding,), 1.0)
    file.put_random("output.weight", tokens, embedding, LOGIT_RMS / embedding**0.5, zero_rows=SILENT_IDS)


def put_layer(file: GgufFile, shape: Shape, index: int, gain: float) -> None:
    """One layer, whose two halves each add about ``gain`` (root mean square) to the residual stream."""
    block, wide = f"blk.{index}.", shape.embedding
    unit = wide**-0.5
    file.put_constant(f"{block}attn_norm.weight", (wide,), 1.0)
    file.put_random(f"{block}attn_q.weight", wide, wide, unit)
    file.put_random(f"{block}attn_k.weight", shape.head * shape.kv_heads, wide, unit)
    file.put_random(f"{block}attn_v.weight", shape.head * shape.kv_heads, wide, unit)
    file.put_random(f"{block}attn_output.weight", wide, wide, unit * gain)
    put_feed_forward(file, shape, index, gain)


def put_feed_forward(file: GgufFile, shape: Shape, index: int, gain: float) -> None:
    """The second half of a layer."""
    block, wide = f"blk.{index}.", shape.embedding
    unit = wide**-0.5
    file.put_constant(f"{block}ffn_norm.weight", (wide,), 1.0)
    file.put_random(f"{block}ffn_gate.weight", shape.feed_forward, wide, unit)
    file.put_random(f"{block}ffn_up.weight", shape.feed_forward, wide, unit)
    # silu(gate) * up has a root mean square of 0.6
    file.put_random(f"{block}ffn_down.weight", wide, shape.feed_forward, gain / 0.6 / shape.feed_forward**0.5)


def gain_of(layers: int) -> float:
    """What each half of a layer adds, so that all layers together add ``LAYERS_SHARE`` of variance."""
    return (LAYERS_SHARE / (2 * layers)) ** 0.5
