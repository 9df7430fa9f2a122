"""What the builds of llama-server print to their log: the dialects, and the lines that mean something.

Pure data. `log_lines.LineParser` reads a log with it. Nothing here depends on a column: a line may stand behind
a stamp of journald, docker or a router, so every pattern is searched for, never matched from the start.

To teach the parser a new build: add a `Dialect`, a fixture of its name in ``tests/fixtures/logs`` and, where its
wording differs, a pattern. To give a line a meaning: add a `Saying`. Texts are from the source of build 11434
(``tools/server``, ``common/speculative.cpp``, ``common/arg.cpp``) unless a comment names another build.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Dialect(NamedTuple):
    """One way in which a server's log differs from the others. Its fixture is ``tests/fixtures/logs/NAME.log``."""

    name: str
    builds: str
    differs: str


DIALECTS: Final = (
    Dialect("b11434", "b10900 and later", "the module column, `mean len`, `dur(b,g,a)`; most texts need -lv 4"),
    Dialect("b10434_trace", "b10400 and later", "LLAMA_TRACE=1: a line for every cycle; sleep and wake"),
    Dialect("several_methods", "b11549", "tables before a drafter at -lv 4: lines of each, in the order of asking"),
    Dialect("debug", "b10400 and later", "-lv 5: a second line per cycle, request bodies, draft candidates"),
    Dialect("mean_acceptance_length", "b9700 .. b10300", "`mean acceptance length =`, positions on the same line"),
    Dialect("b9xxx", "b9000 .. b9700", "no module column, `n_decoded =` in the progress line, `sim_best =`"),
    Dialect("self_speculation_2026", "b7800 .. b9000", "`draft acceptance rate =`, `#calls =`, one `dur =`"),
    Dialect(
        "early_2025", "b3700 .. b6800", "no stamps; print_timing is one message of several lines, after the release"
    ),
    Dialect("ik_llama", "ik_llama.cpp, and llama.cpp before b3700", "`INFO [ func] text | tid=.. id_slot=.. key=val`"),
    Dialect("ik_llama_mixed", "ik_llama.cpp since 2026", "print_timing as in early 2025, the rest as in ik_llama"),
    Dialect("log_jsonl", "--log-jsonl, since b11000", "a JSON object per line with `time` in microseconds and `msg`"),
    Dialect("no_log_prefix", "--no-log-prefix, as ollama starts it", "neither stamp nor level"),
    Dialect("router", "router mode, since b7300", "`[PORT] ` before the lines of each child"),
    Dialect("journald", "journalctl -f", "date, host and unit before each line"),
    Dialect("docker", "docker logs --timestamps, compose", "service name and RFC 3339 stamp before each line"),
    Dialect("colours", "--log-colors on", "ANSI sequences around stamp and level, and before the next line's stamp"),
    Dialect("interleaved", "several writers, one file", "lines that are cut, glued together, or not text at all"),
)


class Saying(NamedTuple):
    """A line that becomes a `LogSaid`: its named groups are the fields.

    ``needle`` is a cheap test that must hold first. ``lasting``: it stays true until the server restarts, so it
    is also reported when it was printed before the watch began.
    """

    code: str
    needle: str
    pattern: re.Pattern[str]
    lasting: bool = True


def _said(code: str, needle: str, pattern: str, *, lasting: bool = True) -> Saying:
    return Saying(code, needle, re.compile(pattern), lasting)


STARTS: Final = frozenset({"build", "verbosity"})
"""Codes printed once, when a server process starts: what the log said before them is of an earlier process."""

PRELUDE: Final = STARTS | {"env_overridden"}
"""Codes that belong to a start although they may come before its first stamped line."""

PER_PROCESS: Final = PRELUDE | {"listening", "n_parallel_auto"}
"""Codes that outlive the loading of a model: a server that sleeps loads it again when it wakes."""

_THE_START: Final = (
    _said("verbosity", "verbosity", r"verbosity = (?P<level>\d+)"),
    _said("build", "build", r"\bbuild:? (?P<number>\d+) \((?P<commit>[\w.-]+)\) with"),
    _said("build", "build info", r'build info .*?build=(?P<number>\d+) commit="(?P<commit>\w+)"'),  # ik_llama
    _said(
        "env_overridden",
        "will be overwritten",
        r"(?P<variable>LLAMA_[A-Z0-9_]+) environment variable is set, but will be overwritten by command line"
        r" argument (?P<argument>--?[\w-]+)",
    ),
    # the value of a refused argument is left out: it may be a key
    _said("arg_invalid", "invalid argument", r"error: invalid argument: (?P<argument>--?[\w-]+)"),
    _said(
        "arg_removed",
        "the argument has been removed",
        r'error while handling (?:argument|environment variable) "(?P<argument>[\w-]+)":'
        r" the argument has been removed\.? ?(?P<advice>.*)",
    ),
    _said("listening", "listening on", r"\blistening on (?P<url>https?://\S+)"),
    _said("listening", "server listening", r'port="(?P<port>\d+)" hostname="(?P<hostname>[^"]*)"'),  # ik_llama
    _said("server_exiting", "cleaning up before exit", r"cleaning up before exit", lasting=False),
    _said("sleeping", "sleeping state", r"server is entering sleeping state", lasting=False),
    _said("waking", "sleeping state", r"server is exiting sleeping state", lasting=False),
)

_THE_MODEL: Final = (
    _said("model_loading", "loading model '", r"\bloading model '(?P<path>.*)'"),
    _said("model_loaded", "model loaded", r"\bmodel loaded\b"),
    _said("model_load_failed", "failed to load model", r"failed to load model, '(?P<path>.*)'"),
    _said(
        "context_reduced",
        "context size reduced",
        r"context size reduced from (?P<requested>\d+) to (?P<effective>\d+) -> need (?P<mib_saved>\d+) MiB less",
    ),
    _said(
        "slot_context_capped",
        "the slot context (",
        r"the slot context \((?P<requested>\d+)\) exceeds the training context of the model \((?P<n_ctx_train>\d+)\)",
    ),
    # up to 2025 `initializing slots, n_slots = 4`, in ik_llama `initializing slots | tid=".." n_slots=1`
    _said(
        "n_slots",
        "n_slots",
        r"initializing\b.*?\bn_slots ?= ?(?P<n_slots>\d+)(?:, n_ctx_slot = (?P<n_ctx_slot>\d+))?"
        r"(?:, kv_unified = '(?P<kv_unified>\w+)')?",
    ),
    _said("n_parallel_auto", "n_parallel is set to auto", r"using n_parallel = (?P<n_parallel>\d+)"),
    _said("cuda_graphs_disabled", "disabling CUDA graphs", r"disabling CUDA graphs due to (?P<reason>[\w ,/-]+)"),
    _said("graph_reuse_disabled", "graph reuse disabled", r"\bgraph reuse disabled\b"),
)

_THE_DRAFTER: Final = (
    _said("draft_model_loading", "loading draft model", r"loading draft model '(?P<path>.*)'"),
    _said("mtp_context_creating", "MTP draft context", r"creating MTP draft context .* '(?P<path>.*)'"),
    _said("draft_load_failed", "failed to load draft", r"failed to load draft model, '(?P<path>.*)'"),
    _said("mtp_layers_missing", "MTP layers", r"context type MTP requested but model doesn't contain MTP layers"),
    _said("unknown_architecture", "model architecture", r"unknown model architecture: '(?P<arch>[\w.-]+)'"),
    # llama.cpp ends itself with this line: a drafter of another kind was given to draft-dflash
    _said("dflash_layers_missing", "DFlash model has no", r"DFlash model has no target_layer_ids"),
    _said("draft_context_failed", "failed to create", r"failed to create (?P<kind>MTP|draft) context"),
    _said(
        "vocab_incompatible",
        "must match target model",
        # the reason of `failed to initialize .. context: ` names the vocab type whatever it was (b11434)
        r"(?<!context: )draft model (?P<part>vocab type|bos tokens|eos tokens) must match target model",
    ),
    _said("vocab_incompatible", "vocabs are not compatible", r"the target and draft vocabs are not compatible"),
    _said("speculation_failed", "failed to initialize spec", r"speculative decoding context: (?P<reason>.*)"),
    # by=context; ik_llama says by=multimodal
    _said(
        "speculation_not_supported",
        "not supported by",
        r"speculative decoding (?:is )?not supported by (?:this )?(?P<by>context|multimodal)",
    ),
    _said(  # before b10000
        "speculation_not_supported",
        "partial sequence removal",
        r"the target (?P<by>context) does not support partial sequence removal",
    ),
    _said("speculation_uses_checkpoints", "use checkpoints", r"speculative decoding will use checkpoints"),
    _said("spec_type_detected", "auto-detected", r"auto-detected speculative type '(?P<type>[\w-]+)'"),
    _said("no_implementations", "no implementations", r"no implementations specified for speculative decoding"),
    _said("implementation_added", "implementation '", r"adding (?:speculative )?implementation '(?P<type>[\w-]+)'"),
    _said(
        "spec_params",
        "p_min=",
        r"- n_max=(?P<n_max>-?\d+), n_min=(?P<n_min>-?\d+), p_min=(?P<p_min>[\d.]+)"
        r"(?:, n_embd=\d+)?(?:, backend_sampling=(?P<backend_sampling>\d))?",
    ),
    _said(
        "drafter_params",
        "block_size=",
        r"- block_size=(?P<block_size>\d+), mask_token_id=-?\d+, n_extract=(?P<n_extract>\d+)"
        r"(?:, sample_from_anchor=(?P<sample_from_anchor>\w+))?",
    ),
    _said("ngram_params", "- n_match=", r"n_match=(?P<n_match>\d+), n_max=(?P<n_max>\d+), n_min=(?P<n_min>\d+)"),
    _said("ngram_params", "- size_n=", r"size_n=(?P<size_n>\d+), size_m=(?P<size_m>\d+), min_hits=(?P<min_hits>\d+)"),
    _said(
        "ngram_params",
        "- size_key=",
        r"size_key=(?P<size_n>\d+), size_value=(?P<size_m>\d+), key_only=\d+, min_hits=(?P<min_hits>\d+)",
    ),
    _said("ngram_match_too_small", "is too small", r"ngram_mod n_match=(?P<n_match>\d+) is too small"),
    _said(
        "draft_width_clamped",
        "exceeds the trained block size",
        r"requested draft size \(n_max=(?P<n_max>-?\d+), n_min=(?P<n_min>-?\d+)\) exceeds the trained block size"
        r" (?P<block_size>\d+) -- clamping to (?P<clamped_to>\d+)",
    ),
    _said("synthetic_acceptance", "synthetic spec", r"synthetic speculative acceptance is enabled"),
    _said(
        "synthetic_acceptance",
        "synthetic acceptance: n_max",
        r"n_max = (?P<n_max>\d+), mean length = (?P<mean_length>[\d.]+), rates = \[(?P<rates>[^\]]*)\]",
    ),
    _said(
        "synthetic_limit_reduced",
        "synthetic acceptance draft limit",
        r"was reduced from (?P<requested>-?\d+) to (?P<effective>-?\d+)",
    ),
    _said("trace_on", "LLAMA_TRACE", r"LLAMA_TRACE = (?P<level>[1-9]\d*)"),
)

_SAMPLING_AND_CACHE: Final = (
    _said("backend_offload_failed", "backend offload", r"backend offload failed for seq_id=(?P<seq_id>\d+); using CPU"),
    _said(
        "backend_sampling_unsupported",
        "SPLIT_MODE_TENSOR",
        r"set_sampler: backend sampling not supported with SPLIT_MODE_TENSOR; using CPU",
    ),
    _said(
        "backend_sampling_disabled",
        "backend sampling",
        r"backend sampling is not compatible with (?P<reason>grammar|reasoning budget), disabling",
        lasting=False,
    ),
    _said(
        "context_shift",
        "context shift",
        r"slot context shift, n_keep = (?P<n_keep>\d+), n_left = (?P<n_left>\d+), n_discard = (?P<n_discard>\d+)",
        lasting=False,
    ),
    _said("full_reprocess", "full prompt re-pro", r"forcing full prompt re-processing due to", lasting=False),
    _said(
        "request_too_long",
        "available context size",
        r"request \((?P<tokens>\d+) tokens\) exceeds the available context size \((?P<n_ctx>\d+) tokens\)",
        lasting=False,
    ),
    # a client went away (server-queue.cpp)
    _said("request_cancelled", "cancel task", r"cancel task, id_task = (?P<task>\d{1,10})", lasting=False),
    _said("unauthorized", "nauthorized", r"[Uu]nauthorized: Invalid API Key", lasting=False),
)

SAYINGS: Final = (*_THE_START, *_THE_MODEL, *_THE_DRAFTER, *_SAMPLING_AND_CACHE)
LASTING: Final = frozenset(saying.code for saying in SAYINGS if saying.lasting)
