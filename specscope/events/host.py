"""Facts of the machine: model files and the server's process."""

from __future__ import annotations

from typing import Literal

from specscope.events.fact import Fact, Json


class ModelRead(Fact, frozen=True, kw_only=True, tag="model"):
    """The header of a GGUF file in use. ``role``: ``target``, ``drafter`` or ``projector``.

    ``sampling`` are its ``general.sampling.*`` keys without that prefix. ``tensor_types`` counts tensors by type.
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
    has_markov_head: bool | None = None


class ProcessSeen(Fact, frozen=True, kw_only=True, tag="process"):
    """The server's process. ``env`` holds only LLAMA_*, GGML_* and CUDA_VISIBLE_DEVICES, keys and tokens left out."""

    pid: int
    argv: list[str] = []
    env: dict[str, str] | None = None
    exe: str | None = None
    started: float | None = None
    host: Literal["binary", "python"] = "binary"


class ProcessSampled(Fact, frozen=True, kw_only=True, tag="usage"):
    """CPU (percent of one core) and memory of the server's process, and its busiest threads as (name, percent)."""

    cpu_pct: float | None = None
    rss_bytes: int | None = None
    threads: list[tuple[str, float]] = []
