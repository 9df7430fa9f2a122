"""Facts of the machine: model files and the server's process."""

from __future__ import annotations

from typing import Final, Literal

from specscope.events.fact import Amount, Fact, Json


class ModelRead(Fact, frozen=True, kw_only=True, tag="model"):
    """The header of a GGUF file in use. ``role``: ``target``, ``drafter`` or ``projector``.

    ``sampling`` are its ``general.sampling.*`` keys without that prefix, ``hparams`` those of its architecture,
    likewise without prefix: numbers, flags and per-layer lists. ``tensor_types`` counts tensors by type.
    ``base_models`` are the models that it was made from, by the addresses of their repositories, else by name.

    ``input_bytes``: the tensors that llama.cpp keeps with the input layer, on the host (token embeddings);
    ``embedding_bytes`` of them are the token embeddings, which an output that reuses them (``tied``) has a copy of on
    its device; ``output_bytes``: the output layer's own tensors, its norm at least;
    ``layer_bytes``: those of each repeating layer, and ``layer_expert_bytes`` what of it are experts' weights.
    None or empty where a split could not be read or a tensor's type is unknown.

    ``tokenizer`` is ``tokenizer.ggml.model``; ``bos``, ``eos`` are the ids of the tokens at a text's beginning and end,
    ``add_bos``, ``add_eos`` whether the server puts them there.
    """

    role: Literal["target", "drafter", "projector"]
    path: str
    arch: str | None = None
    name: str | None = None
    file_bytes: int | None = None
    n_vocab: int | None = None
    n_embd: int | None = None
    n_layer: int | None = None
    n_ctx_train: int | None = None
    block_size: int | None = None
    nextn_layers: int | None = None
    tensor_types: dict[str, int] = {}
    sampling: dict[str, Json] = {}
    base_models: list[str] = []
    has_markov_head: bool | None = None
    hparams: dict[str, Json] = {}
    input_bytes: int | None = None
    embedding_bytes: int | None = None
    output_bytes: int | None = None
    tied: bool | None = None
    layer_bytes: list[int] = []
    layer_expert_bytes: list[int] = []
    tokenizer: str | None = None
    bos: int | None = None
    eos: int | None = None
    add_bos: bool | None = None
    add_eos: bool | None = None


ROUTER: Final = "router"
EVERY_MODEL: Final = "[*]"
"""Where a preset names methods, beside the section of the model itself."""


class ProcessSeen(Fact, frozen=True, kw_only=True, tag="process"):
    """The server's process. ``env`` holds only LLAMA_*, GGML_* and CUDA_VISIBLE_DEVICES, keys and tokens left out.

    ``preset_spec_types``: each time that a router's preset names drafting methods for this server, as (where, value),
    in the order in which each replaces those before: EVERY_MODEL for lines that count for every model, this model's
    section in brackets, and ROUTER for the router's own command line.
    """

    pid: int
    argv: list[str] = []
    env: dict[str, str] | None = None
    exe: str | None = None
    started: Amount | None = None
    host: Literal["binary", "python"] = "binary"
    preset_spec_types: list[tuple[str, str]] = []


class ProcessSampled(Fact, frozen=True, kw_only=True, tag="usage"):
    """CPU (percent of one core) and memory of the server's process, and its busiest threads as (name, percent).

    ``gpu_minors``: N of each /dev/nvidiaN that it holds open; empty: it holds none; None: its files cannot be listed.
    ``accelerated``: it holds the device file of any accelerator open, of whatever make; False: its models are on the
    CPU.
    """

    cpu_pct: Amount | None = None
    rss_bytes: int | None = None
    threads: list[tuple[str, Amount]] = []
    gpu_minors: list[int] | None = None
    accelerated: bool | None = None
