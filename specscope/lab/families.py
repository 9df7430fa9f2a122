"""The keys and tensors that llama.cpp wants for each family of the lab's models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.lab.drafters import put_block_drafter, put_eagle3
from specscope.lab.layers import gain_of, put_ends, put_layer, put_transformer_keys, put_vocabulary
from specscope.lab.shapes import CONTEXT, FILE_TYPES, HEADS, SHAPES

if TYPE_CHECKING:
    from specscope.lab.gguf_writer import GgufFile
    from specscope.lab.shapes import Family, Shape, Size

_ARCHITECTURES: dict[Family, str] = {
    "dflash": "dflash",
    "dflash2": "dflash",
    "dspark": "dflash",
    "eagle3": "eagle3",
    "mamba": "mamba",
    "mtp": "step35",
    "mtp3": "step35",
}


def fill(file: GgufFile, family: Family, size: Size) -> None:
    """Adds all keys and tensors of a model to ``file``, made for :func:`architecture` of the family."""
    shape = SHAPES[size]
    put_vocabulary(file, shape)
    file.put_all({"general.name": f"specscope lab {size} {family}", "general.file_type": FILE_TYPES[shape.weights]})
    match family:
        case "target":
            _put_llama(file, shape, shape.layers)
        case "draft":
            _put_llama(file, shape, shape.draft_layers)
        case "dflash" | "dflash2" | "dspark":
            put_block_drafter(file, shape, family)
        case "eagle3":
            put_eagle3(file, shape)
        case "mtp" | "mtp3":
            _put_predicting(file, shape, HEADS[family])
        case "mamba":
            _put_mamba(file, shape)


def architecture(family: Family) -> str:
    """Returns llama.cpp's name for the family's architecture."""
    return _ARCHITECTURES.get(family, "llama")


def _put_llama(file: GgufFile, shape: Shape, layers: int) -> None:
    """A llama model: the target's first ``layers`` layers, the target itself if those are all."""
    put_transformer_keys(file, shape, layers)
    put_ends(file, shape)
    for index in range(layers):
        put_layer(file, shape, index, gain_of(shape.layers))


def _put_predicting(file: GgufFile, shape: Shape, heads: int) -> None:
    """The target with layers that predict the tokens after the next one (MTP), as Step 3.5.

    Of the architectures with such layers this one allows several, needs no experts and has plain attention: a layer of
    it must have a sliding window, and this one's spans the context (src/models/step35.cpp, src/llama-model.cpp). A head
    is a layer that is given the hidden state and the token after it side by side; these mostly look at the token, and
    so agree with the target sometimes.
    """
    wide, layers = shape.embedding, shape.layers + heads
    put_transformer_keys(file, shape, layers)
    file.put_all(
        {
            "{arch}.nextn_predict_layers": heads,
            "{arch}.expert_feed_forward_length": shape.feed_forward,
            "{arch}.attention.sliding_window": CONTEXT,
            "{arch}.attention.sliding_window_pattern": [True] + [False] * (layers - 1),
        }
    )
    put_ends(file, shape)
    for index in range(layers):
        put_layer(file, shape, index, gain_of(shape.layers))
    for index in range(shape.layers, layers):
        file.put_identity(f"blk.{index}.nextn.eh_proj.weight", wide, 2 * wide)
        file.put_constant(f"blk.{index}.nextn.enorm.weight", (wide,), 1.0)
        file.put_constant(f"blk.{index}.nextn.hnorm.weight", (wide,), 1.0)


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
    put_ends(file, shape)
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
        file.put_random(f"{block}ssm_out.weight", wide, inner, gain_of(shape.layers) * 4 / inner**0.5)
