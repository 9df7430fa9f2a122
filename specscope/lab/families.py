"""The lab's models: their sizes, and the keys and tensors llama.cpp wants for each family.

Weights are scaled so that a random model behaves like a model: each layer adds little beside the embedding,
so the next token depends mostly on the last one and somewhat on the context. Greedy text then falls into
near-loops (which n-gram drafting finds), sampled text varies, and a draft model made of the target's first
layers agrees with it often but not always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from specscope.lab.vocabulary import BOS_ID, EOS_ID, MASK_ID, SILENT_IDS, UNK_ID, lab_vocabulary

if TYPE_CHECKING:
    from specscope.lab.gguf_writer import GgufFile, WeightType

Family: TypeAlias = Literal["target", "dflash", "draft", "mamba"]
Size: TypeAlias = Literal["quick", "paying", "gpu"]

FILE_TYPES: dict[WeightType, int] = {"f32": 0, "q4_0": 2}  # llama_ftype
BLOCK_SIZE = 16
CONTEXT = 32_768
EMBEDDING_RMS = 1.0
LOGIT_RMS = 3.0  # of 300 logits at a spread of 3, the likeliest token gets about a fifth at temperature 1
LAYERS_SHARE = 0.6  # variance that all layers of a target together add to an embedding's variance of 1


@dataclass(frozen=True)
class Shape:
    """Sizes of a target and of its two drafters, the draft model (``draft_layers``) and DFlash."""

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


SHAPES: dict[Size, Shape] = {
    "quick": Shape(256, 8, 768, 4, 2, 1, 1, (1, 4, 6), "q4_0"),
    # With weights of full precision a token costs a pass over memory, and a few more tokens in the same pass are
    # cheap, as on a GPU. Quantized ones are bound by arithmetic on a CPU, and drafting then hardly pays.
    "paying": Shape(512, 6, 1536, 8, 4, 1, 1, (1, 3, 4), "f32"),
    # 2.7 GB: as many layers and as wide as a model of 7 billion parameters, with a vocabulary of real size.
    "gpu": Shape(4096, 32, 8192, 32, 8, 4, 5, (1, 8, 16, 23, 30), "q4_0", vocabulary=49_152),
}


def fill(file: GgufFile, family: Family, size: Size) -> None:
    """Adds all keys and tensors of a model to ``file``, made for :func:`architecture` of the family."""
    shape = SHAPES[size]
    _put_vocabulary(file, shape)
    file.put_all({"general.name": f"specscope lab {size} {family}", "general.file_type": FILE_TYPES[shape.weights]})
    match family:
        case "target":
            _put_llama(file, shape, shape.layers)
        case "draft":
            _put_llama(file, shape, shape.draft_layers)
        case "dflash":
            _put_dflash(file, shape)
        case "mamba":
            _put_mamba(file, shape)


def architecture(family: Family) -> str:
    """Returns llama.cpp's name for the family's architecture."""
    return family if family in {"dflash", "mamba"} else "llama"


def _put_vocabulary(file: GgufFile, shape: Shape) -> None:
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


def _put_transformer_keys(file: GgufFile, shape: Shape, layers: int) -> None:
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


def _put_ends(file: GgufFile, shape: Shape) -> None:
    """The embedding and an output matrix of its own: a tied one would mostly repeat the last token."""
    tokens, embedding = len(lab_vocabulary(shape.vocabulary).tokens), shape.embedding
    file.put_random("token_embd.weight", tokens, embedding, EMBEDDING_RMS)
    file.put_constant("output_norm.weight", (embedding,), 1.0)
    file.put_random("output.weight", tokens, embedding, LOGIT_RMS / embedding**0.5, zero_rows=SILENT_IDS)


def _put_block(file: GgufFile, shape: Shape, index: int, gain: float) -> None:
    """One layer, whose two halves each add about ``gain`` (root mean square) to the residual stream."""
    block, wide = f"blk.{index}.", shape.embedding
    unit = wide**-0.5
    file.put_constant(f"{block}attn_norm.weight", (wide,), 1.0)
    file.put_random(f"{block}attn_q.weight", wide, wide, unit)
    file.put_random(f"{block}attn_k.weight", shape.head * shape.kv_heads, wide, unit)
    file.put_random(f"{block}attn_v.weight", shape.head * shape.kv_heads, wide, unit)
    file.put_random(f"{block}attn_output.weight", wide, wide, unit * gain)
    file.put_constant(f"{block}ffn_norm.weight", (wide,), 1.0)
    file.put_random(f"{block}ffn_gate.weight", shape.feed_forward, wide, unit)
    file.put_random(f"{block}ffn_up.weight", shape.feed_forward, wide, unit)
    # silu(gate) * up has a root mean square of 0.6
    file.put_random(f"{block}ffn_down.weight", wide, shape.feed_forward, gain / 0.6 / shape.feed_forward**0.5)


def _gain(layers: int) -> float:
    """What each half of a layer adds, so that all layers together add ``LAYERS_SHARE`` of variance."""
    return (LAYERS_SHARE / (2 * layers)) ** 0.5


def _put_llama(file: GgufFile, shape: Shape, layers: int) -> None:
    """A llama model: the target's first ``layers`` layers, the target itself if those are all."""
    _put_transformer_keys(file, shape, layers)
    _put_ends(file, shape)
    for index in range(layers):
        _put_block(file, shape, index, _gain(shape.layers))


def _put_dflash(file: GgufFile, shape: Shape) -> None:
    """A DFlash drafter: it borrows the target's embedding and output, and reads inputs of its layers."""
    wide = shape.embedding
    _put_transformer_keys(file, shape, shape.dflash_layers)
    file.put("dflash.block_size", BLOCK_SIZE)
    file.put("dflash.target_layers", shape.target_layers)
    inputs = len(shape.target_layers) * wide
    file.put_random("fc.weight", wide, inputs, inputs**-0.5)
    file.put_constant("enc.output_norm.weight", (wide,), 1.0)
    file.put_constant("output_norm.weight", (wide,), 1.0)
    for index in range(shape.dflash_layers):
        _put_block(file, shape, index, 1.0)
        file.put_constant(f"blk.{index}.attn_q_norm.weight", (shape.head,), 1.0)
        file.put_constant(f"blk.{index}.attn_k_norm.weight", (shape.head,), 1.0)


def _put_mamba(file: GgufFile, shape: Shape) -> None:
    """A Mamba model: recurrent, so the server cannot drop part of a sequence and verifies drafts again."""
    wide, inner, state, kernel, rank = shape.embedding, 2 * shape.embedding, 16, 4, 8
    file.put_all(
        {
            "{arch}.context_length": CONTEXT,
            "{arch}.embedding_length": wide,
            "{arch}.block_count": shape.layers,
            "{arch}.feed_forward_length": 0,
            "{arch}.attention.head_count": 0,
            "{arch}.attention.layer_norm_rms_epsilon": 1e-5,
            "{arch}.ssm.conv_kernel": kernel,
            "{arch}.ssm.inner_size": inner,
            "{arch}.ssm.state_size": state,
            "{arch}.ssm.time_step_rank": rank,
        }
    )
    _put_ends(file, shape)
    for index in range(shape.layers):
        block = f"blk.{index}."
        file.put_constant(f"{block}attn_norm.weight", (wide,), 1.0)
        file.put_random(f"{block}ssm_in.weight", 2 * inner, wide, wide**-0.5)
        file.put_normal(f"{block}ssm_conv1d.weight", inner, kernel, kernel**-0.5)
        file.put_constant(f"{block}ssm_conv1d.bias", (inner,), 0.0)
        file.put_random(f"{block}ssm_x.weight", rank + 2 * state, inner, inner**-0.5)
        file.put_normal(f"{block}ssm_dt.weight", inner, rank, rank**-0.5)
        file.put_constant(f"{block}ssm_dt.bias", (inner,), -2.0)
        file.put_rows(f"{block}ssm_a", inner, [-float(step) for step in range(1, state + 1)])
        file.put_constant(f"{block}ssm_d", (inner,), 1.0)
        file.put_random(f"{block}ssm_out.weight", wide, inner, _gain(shape.layers) * 4 / inner**0.5)
