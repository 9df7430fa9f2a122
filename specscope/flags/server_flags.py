"""What a server was told by its flags, with the place each value came from."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import msgspec

Origin: TypeAlias = Literal["environment", "command line"]

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | tuple[float, ...]

VERBOSITY_ALL = 2**31 - 1  # what -v sets: INT_MAX


class Given(msgspec.Struct, frozen=True):
    """A value that was set explicitly, and where."""

    value: Value
    origin: Origin


class Told(NamedTuple):
    """One time that a setting was given.

    ``field`` is the field of :class:`ServerFlags`, or the key in its ``sampling``; ``name`` the flag or variable as
    it was written.
    """

    field: str
    value: Value
    origin: Origin
    name: str


class ServerFlags(msgspec.Struct, frozen=True, kw_only=True):
    """What a server was told. None means that it was not told, never that it is off.

    ``spec_types`` are the types in the order the server applies them, ``spec_types_environment`` those of
    them that came from the environment. ``sampling`` is keyed by the names the server's /props and /slots use.
    ``origins`` says for every field that was set where its value came from, ``told`` every time that anything was
    given, in the order in which the server applies it: of a field's, the last one counts. ``removed`` has old names
    that today's builds refuse or ignore, with their values; ``equals_form`` the names given as ``--flag=value``,
    which a server refuses; ``malformed`` the known flags whose value is missing or unreadable; ``unknown`` the
    names that no build known here has. ``has_api_key`` False says only that no key was seen: one in the
    environment is left out of what is reported of a process.
    """

    model: str | None = None
    model_repo: str | None = None
    draft_model: str | None = None
    draft_repo: str | None = None
    mmproj: str | None = None
    mmproj_auto: bool | None = None
    spec_types: tuple[str, ...] = ()
    spec_types_environment: tuple[str, ...] = ()
    spec_draft_n_max: int | None = None
    spec_draft_n_min: int | None = None
    spec_draft_p_min: float | None = None
    spec_draft_p_split: float | None = None
    spec_draft_sampling: str | None = None
    spec_draft_backend_sampling: bool | None = None
    spec_ngram_mod_n_min: int | None = None
    spec_ngram_mod_n_max: int | None = None
    spec_ngram_mod_n_match: int | None = None
    spec_ngram_simple_size_n: int | None = None
    spec_ngram_simple_size_m: int | None = None
    spec_ngram_simple_min_hits: int | None = None
    spec_ngram_map_k_size_n: int | None = None
    spec_ngram_map_k_size_m: int | None = None
    spec_ngram_map_k_min_hits: int | None = None
    spec_ngram_map_k4v_size_n: int | None = None
    spec_ngram_map_k4v_size_m: int | None = None
    spec_ngram_map_k4v_min_hits: int | None = None
    spec_synth_rates: tuple[float, ...] | None = None
    spec_synth_len: float | None = None
    backend_sampling: bool | None = None
    host: str | None = None
    port: int | None = None
    api_prefix: str | None = None
    ssl_cert_file: str | None = None
    alias: str | None = None
    log_file: str | None = None
    log_disabled: bool | None = None
    log_jsonl: bool | None = None
    verbosity: int | None = None
    ctx: int | None = None
    parallel: int | None = None
    kv_unified: bool | None = None
    kv_unified_per_slot: int | None = None
    kv_offload: bool | None = None
    swa_full: bool | None = None
    context_shift: bool | None = None
    keep: int | None = None
    n_predict: int | None = None
    ctx_checkpoints: int | None = None
    cache_ram_mib: int | None = None
    cache_prompt: bool | None = None
    cache_reuse: int | None = None
    batch: int | None = None
    ubatch: int | None = None
    threads: int | None = None
    threads_batch: int | None = None
    cont_batching: bool | None = None
    flash_attn: str | None = None
    cache_type_k: str | None = None
    cache_type_v: str | None = None
    draft_cache_type_k: str | None = None
    draft_cache_type_v: str | None = None
    gpu_layers: str | None = None
    draft_gpu_layers: str | None = None
    cpu_moe: bool | None = None
    n_cpu_moe: int | None = None
    n_cpu_ffn: int | None = None
    override_tensor: str | None = None
    draft_cpu_moe: bool | None = None
    draft_n_cpu_moe: int | None = None
    draft_override_tensor: str | None = None
    split_mode: str | None = None
    tensor_split: str | None = None
    main_gpu: int | None = None
    fit: str | None = None
    fit_target: str | None = None
    fit_ctx: int | None = None
    load_mode: str | None = None
    mmap: bool | None = None
    device: str | None = None
    draft_device: str | None = None
    metrics: bool | None = None
    slots: bool | None = None
    sleep_idle_s: int | None = None
    has_api_key: bool = False
    api_key_file: str | None = None
    models_dir: str | None = None
    models_preset: str | None = None
    sampling: dict[str, Given] = {}
    origins: dict[str, Origin] = {}
    told: tuple[Told, ...] = ()
    removed: dict[str, str] = {}
    equals_form: tuple[str, ...] = ()
    malformed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
