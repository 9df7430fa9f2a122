"""The settings that are told of: their group, their flag, and the server's own default.

Defaults are those of common/common.h of llama.cpp b11434, equal to what ``llama-server --help`` of b10434 and
``CommonParams`` of xllamacpp (b11549) say. What others have instead is in :data:`IK_LLAMA` and :data:`P_MIN_FELL`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from specscope.flags import Value
    from specscope.session.provenance.state import Group

AUTO: Final = "auto"
"""A default that leaves the choice to the server: -1 or nothing on its command line."""


class Known(NamedTuple):
    """A setting.

    Attributes:
        flag: the flag that sets it, by its present name.
        default: the server's own value; None: it has none (nothing is loaded, nothing is limited).
        field: of :class:`~specscope.flags.ServerFlags`; of a sampling setting the key in its ``sampling``.
        gguf: its key behind ``general.sampling.``; llama.cpp reads no others (common/common.cpp,
            ``common_init_sampler_from_model``).
        rare: not worth a row while nobody sets it and nothing shows another value than the default.
        method: the drafting method that it belongs to; not told of while another is in force.
    """

    name: str
    group: Group
    flag: str
    default: Value | None
    field: str = ""
    gguf: str = ""
    rare: bool = False
    method: str = ""

    @property
    def told_as(self) -> str:
        """Where its flags are found."""
        return self.field or self.name


SAMPLERS: Final = ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature")

_SAMPLING: Final = (
    Known("temperature", "sampling", "--temp", 0.8, gguf="temp"),
    Known("top_k", "sampling", "--top-k", 40, gguf="top_k"),
    Known("top_p", "sampling", "--top-p", 0.95, gguf="top_p"),
    Known("min_p", "sampling", "--min-p", 0.05, gguf="min_p"),
    Known("typical_p", "sampling", "--typical", 1.0),
    Known("top_n_sigma", "sampling", "--top-nsigma", -1.0, rare=True),
    Known("repeat_penalty", "sampling", "--repeat-penalty", 1.0, gguf="penalty_repeat"),
    Known("repeat_last_n", "sampling", "--repeat-last-n", 64, gguf="penalty_last_n", rare=True),
    Known("presence_penalty", "sampling", "--presence-penalty", 0.0),
    Known("frequency_penalty", "sampling", "--frequency-penalty", 0.0),
    Known("dry_multiplier", "sampling", "--dry-multiplier", 0.0),
    Known("dry_base", "sampling", "--dry-base", 1.75, rare=True),
    Known("dry_allowed_length", "sampling", "--dry-allowed-length", 2, rare=True),
    Known("dry_penalty_last_n", "sampling", "--dry-penalty-last-n", 64, rare=True),
    Known("xtc_probability", "sampling", "--xtc-probability", 0.0, gguf="xtc_probability"),
    Known("xtc_threshold", "sampling", "--xtc-threshold", 0.1, gguf="xtc_threshold", rare=True),
    Known("dynatemp_range", "sampling", "--dynatemp-range", 0.0, rare=True),
    Known("dynatemp_exponent", "sampling", "--dynatemp-exp", 1.0, rare=True),
    Known("mirostat", "sampling", "--mirostat", 0, gguf="mirostat"),
    Known("mirostat_tau", "sampling", "--mirostat-ent", 5.0, gguf="mirostat_tau", rare=True),
    Known("mirostat_eta", "sampling", "--mirostat-lr", 0.1, gguf="mirostat_eta", rare=True),
    Known("adaptive_target", "sampling", "--adaptive-target", -1.0, rare=True),
    Known("adaptive_decay", "sampling", "--adaptive-decay", 0.9, rare=True),
    Known("tfs_z", "sampling", "", None, rare=True),
    Known("samplers", "sampling", "--samplers", SAMPLERS, gguf="sequence"),
    Known("min_keep", "sampling", "", 0, rare=True),
    Known("n_probs", "sampling", "", 0, rare=True),
    Known("seed", "sampling", "--seed", -1),
    Known("n_predict", "sampling", "--n-predict", -1),
    Known("ignore_eos", "sampling", "--ignore-eos", default=False),
    Known("backend_sampling", "sampling", "--backend-sampling", default=False),
)

_SPECULATION: Final = (
    Known("spec_type", "speculation", "--spec-type", ("none",), "spec_types"),
    Known("spec_draft_model", "speculation", "--spec-draft-model", None, "draft_model"),
    Known("spec_draft_n_max", "speculation", "--spec-draft-n-max", 3, method="draft-"),
    Known("spec_draft_n_min", "speculation", "--spec-draft-n-min", 0, method="draft-"),
    Known("spec_draft_p_min", "speculation", "--spec-draft-p-min", 0.0, method="draft-"),
    Known("spec_draft_p_split", "speculation", "--spec-draft-p-split", 0.1, method="draft-", rare=True),
    Known("spec_draft_sampling", "speculation", "--spec-draft-sampling", "greedy", method="draft-"),
    Known("spec_draft_backend_sampling", "speculation", "--spec-draft-backend-sampling", default=True, method="draft-"),
    Known("spec_draft_type_k", "speculation", "--spec-draft-type-k", "f16", "draft_cache_type_k", method="draft-"),
    Known("spec_draft_type_v", "speculation", "--spec-draft-type-v", "f16", "draft_cache_type_v", method="draft-"),
    Known("spec_draft_ngl", "speculation", "--spec-draft-ngl", AUTO, "draft_gpu_layers", method="draft-"),
    Known("spec_draft_device", "speculation", "--spec-draft-device", AUTO, "draft_device", method="draft-", rare=True),
    Known("spec_synth_rates", "speculation", "--spec-synth-rates", None, rare=True),
    Known("spec_synth_len", "speculation", "--spec-synth-len", None, rare=True),
    Known("spec_ngram_mod_n_match", "speculation", "--spec-ngram-mod-n-match", 24, method="ngram-mod"),
    Known("spec_ngram_mod_n_min", "speculation", "--spec-ngram-mod-n-min", 48, method="ngram-mod"),
    Known("spec_ngram_mod_n_max", "speculation", "--spec-ngram-mod-n-max", 64, method="ngram-mod"),
    *(
        Known(f"spec_{table.replace('-', '_')}_{size}", "speculation", f"--spec-{table}-{word}", default, method=table)
        for table in ("ngram-simple", "ngram-map-k", "ngram-map-k4v")
        for size, word, default in (("size_n", "size-n", 12), ("size_m", "size-m", 48), ("min_hits", "min-hits", 1))
    ),
)

_CONTEXT: Final = (
    Known("ctx_size", "context", "--ctx-size", 0, "ctx"),
    Known("parallel", "context", "--parallel", AUTO),
    Known("slot_ctx", "context", "", None),
    Known("kv_unified", "context", "--kv-unified", AUTO),
    Known("cache_type_k", "context", "--cache-type-k", "f16"),
    Known("cache_type_v", "context", "--cache-type-v", "f16"),
    Known("kv_offload", "context", "--kv-offload", default=True, rare=True),
    Known("swa_full", "context", "--swa-full", default=False, rare=True),
    Known("context_shift", "context", "--context-shift", default=False),
    Known("keep", "context", "--keep", 0, rare=True),
    Known("cache_prompt", "context", "--cache-prompt", default=True, rare=True),
    Known("cache_reuse", "context", "--cache-reuse", 0),
    Known("cache_ram", "context", "--cache-ram", 8192, "cache_ram_mib"),
    Known("ctx_checkpoints", "context", "--ctx-checkpoints", 32, rare=True),
)

_COMPUTE: Final = (
    Known("batch_size", "compute", "--batch-size", 2048, "batch"),
    Known("ubatch_size", "compute", "--ubatch-size", 512, "ubatch"),
    Known("cont_batching", "compute", "--cont-batching", default=True, rare=True),
    Known("flash_attn", "compute", "--flash-attn", AUTO),
    Known("gpu_layers", "compute", "--gpu-layers", AUTO),
    Known("device", "compute", "--device", AUTO, rare=True),
    Known("split_mode", "compute", "--split-mode", "layer", rare=True),
    Known("tensor_split", "compute", "--tensor-split", None, rare=True),
    Known("main_gpu", "compute", "--main-gpu", 0, rare=True),
    Known("fit", "compute", "--fit", "on"),
    Known("fit_target", "compute", "--fit-target", "1024", rare=True),
    Known("fit_ctx", "compute", "--fit-ctx", 4096, rare=True),
    Known("cpu_moe", "compute", "--cpu-moe", default=False, rare=True),
    Known("n_cpu_moe", "compute", "--n-cpu-moe", 0, rare=True),
    Known("override_tensor", "compute", "--override-tensor", None, rare=True),
    Known("threads", "compute", "--threads", AUTO),
    Known("threads_batch", "compute", "--threads-batch", AUTO, rare=True),
)

_SERVER: Final = (
    Known("model", "server", "--model", None),
    Known("mmproj", "server", "--mmproj", None, rare=True),
    Known("metrics", "server", "--metrics", default=False),
    Known("slots", "server", "--slots", default=True),
    Known("sleep_idle_seconds", "server", "--sleep-idle-seconds", -1, "sleep_idle_s", rare=True),
)

KNOWN: Final[tuple[Known, ...]] = (*_SAMPLING, *_SPECULATION, *_CONTEXT, *_COMPUTE, *_SERVER)

SAMPLING_NAMES: Final = frozenset(known.name for known in _SAMPLING)

ALIKE: Final = SAMPLING_NAMES - {"seed", "n_predict"}
"""What must be equal for two requests to be sampled alike: a seed and a limit are each request's own affair."""

IK_LLAMA: Final[dict[str, Value]] = {
    "dry_penalty_last_n": -1,
    "xtc_threshold": 1.0,
    "top_n_sigma": 0.0,
    "tfs_z": 1.0,
}
"""Sampling defaults of ik_llama.cpp that are not llama.cpp's (its common/sampling.h, commit 00c907d)."""

P_MIN_FELL: Final = 9235
"""The build from which ``p_min`` is 0.0 by default instead of 0.75 (llama.cpp issue 25792, which bisected it)."""
