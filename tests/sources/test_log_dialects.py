"""The log parser against one fixture per dialect, against lines that lie, and against noise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specscope.events import (
    CycleLogged,
    EventsMissed,
    LogSaid,
    RequestLaunched,
    RequestLogged,
    RequestProgressed,
    SlotReleased,
    StatisticsLogged,
)
from specscope.sources.follow import LineBuffer
from specscope.sources.log_clock import StampClock
from specscope.sources.log_dialects import DIALECTS, SAYINGS
from specscope.sources.log_frame import worth_reading
from specscope.sources.log_lines import LineParser
from specscope.sources.log_memory import CODES as MEMORY

if TYPE_CHECKING:
    from specscope.events import (
        Event,
    )

LOGS = Path(__file__).parent.parent / "fixtures" / "logs"
ARRIVAL = 1_790_000_000.0


def facts_of(data: bytes, port: int | None = None) -> list[Event]:
    parser = LineParser(port=port)
    facts = [fact for line in data.split(b"\n") for fact in parser.parse(line, ARRIVAL)]
    return facts + parser.flush()


def said(facts: list[Event], code: str) -> list[dict[str, str]]:
    return [fact.fields for fact in facts if isinstance(fact, LogSaid) and fact.code == code]


def cycle(fact: CycleLogged) -> str:
    """A cycle as ``slot/task accepted/drafted``."""
    return f"{fact.slot}/{fact.task} {fact.accepted}/{fact.drafted}{' restored' if fact.restored else ''}"


def plain(fact: Event) -> dict[str, Any]:
    """A fact without when and where."""
    fields = msgspec.structs.asdict(fact)
    return {name: value for name, value in fields.items() if name not in {"at", "target"} and value is not None}


NGRAM_CYCLES = ["1/2 5/8", *["1/2 8/8"] * 11, "1/2 1/1"]
NGRAM_REQUEST = {
    "slot": 1,
    "task": 2,
    "prompt_tokens": 18,
    "prompt_ms": 37.64,
    "generated": 120,
    "generated_ms": 814.11,
    "drafted": 97,
    "accepted": 94,
    "mean_len": 8.23,
    "graphs_reused": 22,
}
NGRAM_RELEASE = {"slot": 1, "task": 2, "fill_tokens": 137, "truncated": False}
NGRAM: dict[str, Any] = {
    "launches": [(1, 2)],
    "cycles": NGRAM_CYCLES,
    "requests": [NGRAM_REQUEST],
    "releases": [NGRAM_RELEASE],
    "codes": {"n_slots", "ngram_match_too_small", "trace_on", "model_loaded", "listening"},
}
TINY_REQUEST = {
    "slot": 0,
    "task": 0,
    "prompt_tokens": 11,
    "generated": 24,
    "drafted": 4,
    "accepted": 1,
    "mean_len": 1.5,
    "graphs_reused": 19,
}

# What each fixture says. A key that is missing means none.
TWICE = {"slot": 0, "generated": 60}

SAYS: dict[str, dict[str, Any]] = {
    "b11434": {
        "launches": [(0, 0), (0, 1164)],
        "similar": [None, 0.485],
        "requests": [
            {
                "slot": 0,
                "task": 0,
                "prompt_tokens": 32,
                "prompt_ms": 191.26,
                "generated": 200,
                "generated_ms": 536.45,
                "drafted": 430,
                "accepted": 170,
                "mean_len": 6.86,
                "graphs_reused": 28,
            },
            {
                "slot": 0,
                "task": 1073,
                "prompt_tokens": 23318,
                "prompt_ms": 5786.2,
                "generated": 600,
                "generated_ms": 1195.81,
                "drafted": 1164,
                "accepted": 521,
                "mean_len": 7.68,
                "graphs_reused": 944,
            },
        ],
        "releases": [
            {"slot": 0, "task": 0, "fill_tokens": 231, "truncated": False},
            {"slot": 0, "task": 1073, "fill_tokens": 31684, "truncated": False},
            {"slot": 0, "task": 1164, "fill_tokens": 31684, "truncated": False},
        ],
        "statistics": [
            ("draft-dflash", 29, 28, 430, 170, 0.002, 98.509, 0.025, 29, 29),
            ("draft-dflash", 986, 917, 14698, 6107, 0.016, 3366.887, 0.651, 986, 986),
        ],
        "codes": {
            *("build", "verbosity", "model_loading", "model_loaded", "listening", "n_slots", "layers_offloaded"),
            *("kv_cache", "draft_kv_cache", "draft_layers_offloaded", "device_total"),
            *("draft_model_loading", "implementation_added", "spec_params"),
            *("drafter_params", "synthetic_acceptance", "request_too_long", "request_cancelled"),
        },
    },
    "b10434_trace": {
        **NGRAM,
        "launches": [(1, 2), (1, 38)],
        "cycles": [*NGRAM_CYCLES, "1/38 0/8", "1/38 0/8"],
        "progress": [(1, 38, 131, 43.07)],
        "codes": NGRAM["codes"] | {"verbosity", "model_loading", "sleeping", "waking"},
    },
    "several_methods": {
        "launches": [(0, 0), (0, 15)],
        "cycles": [
            *("0/0 0/7", "0/0 0/7", "0/0 1/7", "0/0 4/7", "0/0 6/7", "0/0 2/7", "0/0 5/12", "0/0 7/7", "0/0 5/5"),
            *("0/0 10/12", "0/0 3/5", "0/0 0/3", "0/0 3/3"),
            *("0/15 1/7", "0/15 0/7", "0/15 7/7", "0/15 7/7", "0/15 2/12", *["0/15 2/2"] * 8, "0/15 0/2"),
            *("0/15 5/11", "0/15 5/5"),
        ],
        "requests": [
            TWICE
            | {"task": 0, "prompt_tokens": 158, "prompt_ms": 54.4, "generated_ms": 67.41}
            | {"drafted": 89, "accepted": 46, "mean_len": 4.54, "graphs_reused": 7},
            TWICE
            | {"task": 15, "prompt_tokens": 145, "prompt_ms": 49.38, "generated_ms": 54.69}
            | {"drafted": 74, "accepted": 43, "mean_len": 3.69, "graphs_reused": 18},
        ],
        "releases": [
            {"slot": 0, "task": 0, "fill_tokens": 217, "truncated": False},
            {"slot": 0, "task": 15, "fill_tokens": 205, "truncated": False},
        ],
        "statistics": [
            ("ngram-map-k", 6, 5, 40, 26, 0.002, 0.018, 0.005, 13, 6),
            ("ngram-map-k4v", 0, 0, 0, 0, 0.0, 0.006, 0.0, 7, 0),
            ("draft-dflash", 7, 5, 49, 20, 0.002, 4.417, 0.004, 7, 7),
            ("ngram-map-k", 17, 15, 81, 49, 0.227, 0.033, 0.007, 29, 17),
            ("ngram-map-k4v", 1, 1, 5, 5, 0.212, 0.009, 0.001, 12, 1),
            ("draft-dflash", 11, 8, 77, 35, 0.004, 6.918, 0.006, 11, 11),
        ],
        "codes": {
            *("build", "verbosity", "trace_on", "model_loading", "draft_model_loading", "n_slots", "model_loaded"),
            *("implementation_added", "ngram_params", "spec_params", "drafter_params", "listening", "server_exiting"),
        },
    },
    "debug": {
        "launches": [(0, 0)],
        "cycles": ["0/0 0/3", "0/0 1/1"],
        "requests": [TINY_REQUEST | {"prompt_ms": 28.38, "generated_ms": 240.55}],
        "releases": [{"slot": 0, "task": 0, "fill_tokens": 34, "truncated": False}],
        "statistics": [("ngram-simple", 2, 1, 4, 1, 0.001, 0.122, 0.002, 22, 2)],
        "codes": {"build", "verbosity", "trace_on", "server_exiting"},
    },
    "mean_acceptance_length": {
        "launches": [(0, 42)],
        "requests": [
            {
                "slot": 0,
                "task": 42,
                "prompt_tokens": 1201,
                "prompt_ms": 620.11,
                "generated": 243,
                "generated_ms": 3227.88,
                "drafted": 388,
                "accepted": 257,
                "mean_len": 3.65,
                "graphs_reused": 132,
            }
        ],
        "releases": [{"slot": 0, "task": 42, "fill_tokens": 1443, "truncated": False}],
        "statistics": [("draft-mtp", 134, 109, 536, 354, 0.004, 812.33, 0.151, 134, 134)],
        "codes": {"n_slots", "listening"},
    },
    "b9xxx": {
        "launches": [(0, 0)],
        "similar": [0.998],
        "progress": [(0, 0, 102, 12.26)],
        "requests": [
            {
                "slot": 0,
                "task": 0,
                "prompt_tokens": 3138,
                "prompt_ms": 8119.49,
                "generated": 1291,
                "generated_ms": 41904.01,
                "drafted": 100,
                "accepted": 90,
                "graphs_reused": 281,
            }
        ],
        "releases": [{"slot": 0, "task": 0, "fill_tokens": 4428, "truncated": True}],
        "codes": {
            *("build", "model_loading", "implementation_added", "spec_params", "n_slots", "model_loaded"),
            *("listening", "context_shift"),
        },
    },
    "self_speculation_2026": {
        "launches": [(3, 7)],
        "requests": [
            {
                "slot": 3,
                "task": 7,
                "prompt_tokens": 23,
                "prompt_ms": 179.26,
                "generated": 297,
                "generated_ms": 4123.4,
                "drafted": 297,
                "accepted": 171,
            }
        ],
        "releases": [{"slot": 3, "task": 7, "fill_tokens": 319, "truncated": False}],
        "statistics": [
            ("ngram-simple", 5, 5, 187, 73, None, 1.25, None, 15, None),
            ("draft", 10, 10, 110, 98, None, None, None, 10, None),
            ("ngram-map-k", 26, 26, 1248, 968, 2.234, 1.427, 0.016, 1690, 26),
        ],
        "codes": {"build", "model_loading", "speculation_not_supported", "n_slots"},
    },
    "early_2025": {
        "launches": [(0, 0), (0, 711)],
        "requests": [
            {
                "slot": 0,
                "task": 0,
                "prompt_tokens": 33,
                "prompt_ms": 990.3,
                "generated": 710,
                "generated_ms": 19521.92,
                "drafted": 128,
                "accepted": 90,
            },
            {
                "slot": 0,
                "task": 711,
                "prompt_tokens": 3,
                "prompt_ms": 10.3,
                "generated": 20,
                "generated_ms": 521.92,
            },
        ],
        "releases": [
            {"slot": 0, "task": 0, "fill_tokens": 742, "truncated": False},
            {"slot": 0, "task": 711, "fill_tokens": 60, "truncated": False},
        ],
        "codes": {"build", "model_loading", "draft_model_loading", "n_slots", "model_loaded", "listening"},
    },
    "ik_llama": {
        "launches": [(0, 0)],
        "requests": [
            {
                "slot": 0,
                "task": 0,
                "prompt_tokens": 3596,
                "prompt_ms": 32736.15,
                "generated": 454,
                "generated_ms": 57112.32,
            }
        ],
        "releases": [{"slot": 0, "task": 0, "fill_tokens": 4049, "truncated": False}],
        "codes": {"build", "n_slots", "model_loaded", "listening", "speculation_not_supported"},
    },
    "ik_llama_mixed": {
        "launches": [(0, 8)],
        "requests": [
            {
                "slot": 0,
                "task": 8,
                "prompt_tokens": 19,
                "prompt_ms": 89.83,
                "generated": 5,
                "generated_ms": 48.3,
                "drafted": 2,
                "accepted": 2,
            }
        ],
        "releases": [{"slot": 0, "task": 8, "fill_tokens": 27, "truncated": False}],
        "codes": set[str](),
    },
    "log_jsonl": NGRAM,
    "no_log_prefix": {**NGRAM, "codes": NGRAM["codes"] | {"env_overridden"}},
    "router": {
        "launches": [(0, 0), (0, 9)],
        "cycles": ["0/0 2/3", "0/9 1/7"],
        "releases": [{"slot": 0, "task": 0, "fill_tokens": 71, "truncated": False}],
        "codes": {"verbosity", "listening", "model_loading", "n_slots", "model_loaded", "server_exiting"},
    },
    "journald": NGRAM,
    "docker": NGRAM,
    "colours": {
        "launches": [(0, 0)],
        "cycles": ["0/0 0/3", "0/0 1/1"],
        "requests": [TINY_REQUEST | {"prompt_ms": 25.35, "generated_ms": 237.28}],
        "releases": [{"slot": 0, "task": 0, "fill_tokens": 34, "truncated": False}],
        "codes": {
            *("verbosity", "model_loading", "n_slots", "trace_on", "model_loaded", "listening"),
            "server_exiting",
        },
    },
    "interleaved": {
        "cycles": ["1/2 5/8", "0/1 8/8", "1/2 15/15 restored", "1/2 16/16"],
        "requests": [{"slot": 1, "task": 2, "generated": 120, "generated_ms": 814.11}],
        "releases": [{"slot": 1, "task": 2, "fill_tokens": 137}],
        "missed": 1,
        "codes": set[str](),
    },
}


def test_every_dialect_has_a_fixture_and_every_fixture_a_dialect() -> None:
    names = {dialect.name for dialect in DIALECTS}
    assert names == {path.stem for path in LOGS.glob("*.log")}
    assert names == set(SAYS)


@pytest.mark.parametrize("name", [dialect.name for dialect in DIALECTS])
def test_a_dialect_is_read(name: str) -> None:
    facts = facts_of((LOGS / f"{name}.log").read_bytes())
    expected = SAYS[name]
    launches = [f for f in facts if isinstance(f, RequestLaunched)]
    assert [(f.slot, f.task) for f in launches] == expected.get("launches", [])
    assert [f.similarity for f in launches] == expected.get("similar", [None] * len(launches))
    assert [cycle(f) for f in facts if isinstance(f, CycleLogged)] == expected.get("cycles", [])
    assert [plain(f) for f in facts if isinstance(f, RequestLogged)] == expected.get("requests", [])
    assert [plain(f) for f in facts if isinstance(f, SlotReleased)] == expected.get("releases", [])
    progress = [(f.slot, f.task, f.decoded, f.tok_s) for f in facts if isinstance(f, RequestProgressed)]
    assert progress == expected.get("progress", [])
    statistics = [tuple(msgspec.structs.astuple(f)[2:]) for f in facts if isinstance(f, StatisticsLogged)]
    assert statistics == expected.get("statistics", [])
    assert sum(f.count for f in facts if isinstance(f, EventsMissed)) == expected.get("missed", 0)
    assert {f.code for f in facts if isinstance(f, LogSaid)} == expected["codes"]


def test_a_line_as_text_says_the_same_as_its_bytes() -> None:
    for path in LOGS.glob("*.log"):
        data = path.read_bytes()
        parser = LineParser()
        text = [fact for line in data.split(b"\n") for fact in parser.parse(line.decode("utf-8", "replace"), ARRIVAL)]
        assert text + parser.flush() == facts_of(data)


# The exact texts of build 11434, and of the builds named, with what they must give.
TEXTS: list[tuple[str, str, dict[str, str]]] = [
    (
        (
            "warn: LLAMA_ARG_SPEC_TYPE environment variable is set, but will be overwritten by command line argument"
            " --spec-type"
        ),
        "env_overridden",
        {"variable": "LLAMA_ARG_SPEC_TYPE", "argument": "--spec-type"},
    ),
    (
        (
            'error while handling argument "--draft-max": the argument has been removed. use --spec-draft-n-max or'
            " --spec-ngram-mod-n-max"
        ),
        "arg_removed",
        {"argument": "--draft-max", "advice": "use --spec-draft-n-max or --spec-ngram-mod-n-max"},
    ),
    (
        'error while handling environment variable "LLAMA_ARG_DRAFT_MAX": the argument has been removed. use it',
        "arg_removed",
        {"argument": "LLAMA_ARG_DRAFT_MAX", "advice": "use it"},
    ),
    ("error: invalid argument: --api-key=secret", "arg_invalid", {"argument": "--api-key"}),
    (
        "0.00.005.178 I cmn  common_param: common_params_print_info: build 11434 (abc1234) with GNU 13 for Linux",
        "build",
        {"number": "11434", "commit": "abc1234"},
    ),
    (
        "0.01.1 W f: requested draft size (n_max=24, n_min=0) exceeds the trained block size 16 -- clamping to 15",
        "draft_width_clamped",
        {"n_max": "24", "n_min": "0", "block_size": "16", "clamped_to": "15"},
    ),
    (
        (
            "W spec common_specu: synthetic acceptance draft limit was reduced from 24 to 15 by the initialized"
            " speculative implementations"
        ),
        "synthetic_limit_reduced",
        {"requested": "24", "effective": "15"},
    ),
    (
        "W spec common_specu: backend offload failed for seq_id=3; using CPU sampler",
        "backend_offload_failed",
        {"seq_id": "3"},
    ),
    (
        "W set_sampler: backend sampling not supported with SPLIT_MODE_TENSOR; using CPU",
        "backend_sampling_unsupported",
        {},
    ),
    (
        "W common_sampler_init: backend sampling is not compatible with reasoning budget, disabling",
        "backend_sampling_disabled",
        {"reason": "reasoning budget"},
    ),
    (
        "I spec common_specu: auto-detected speculative type 'draft-dspark' from the draft model metadata",
        "spec_type_detected",
        {"type": "draft-dspark"},
    ),
    ("I spec common_specu: no implementations specified for speculative decoding", "no_implementations", {}),
    (
        "W srv    load_model: speculative decoding not supported by this context",
        "speculation_not_supported",
        {"by": "context"},
    ),
    (
        "E srv    load_model: failed to initialize speculative decoding context: no MTP layers",
        "speculation_failed",
        {"reason": "no MTP layers"},
    ),
    (
        (
            "E srv    load_model: failed to initialize speculative decoding context: draft model vocab type must match"
            " target model to use speculation"
        ),
        "speculation_failed",
        {"reason": "draft model vocab type must match target model to use speculation"},
    ),
    (
        "E common_speculative_init_result: failed to load draft model, '/m/d.gguf'",
        "draft_load_failed",
        {"path": "/m/d.gguf"},
    ),
    ("E common_speculative_init_result: failed to create MTP context", "draft_context_failed", {"kind": "MTP"}),
    (  # b10434
        "W llama_init_from_model: context type MTP requested but model doesn't contain MTP layers",
        "mtp_layers_missing",
        {},
    ),
    (
        'speculative.cpp:950: GGML_ASSERT(target_layer_ids_n > 0 && "DFlash model has no target_layer_ids") failed',
        "dflash_layers_missing",
        {},
    ),
    (
        "E llama_model_load: error loading model: unknown model architecture: 'dflash-draft'",
        "unknown_architecture",
        {"arch": "dflash-draft"},
    ),
    ("E spec common_specu: the target and draft vocabs are not compatible", "vocab_incompatible", {}),
    (
        (
            "W spec common_specu: draft model vocab type must match target model to use speculation but "
            "vocab_type_dft = 2 while vocab_type_tgt = 1"
        ),
        "vocab_incompatible",
        {"part": "vocab type"},
    ),
    (
        "I spec common_specu: - n_max=8, n_min=0, p_min=0.85, n_embd=2048, backend_sampling=1",
        "spec_params",
        {"n_max": "8", "n_min": "0", "p_min": "0.85", "backend_sampling": "1"},
    ),
    (
        "I spec common_specu: - size_n=12, size_m=48, min_hits=1",
        "ngram_params",
        {"size_n": "12", "size_m": "48", "min_hits": "1"},
    ),
    (
        "I spec common_specu: - size_key=12, size_value=48, key_only=1, min_hits=1",
        "ngram_params",
        {"size_n": "12", "size_m": "48", "min_hits": "1"},
    ),
    (
        "I spec common_specu: - n_match=24, n_max=64, n_min=48",
        "ngram_params",
        {"n_match": "24", "n_max": "64", "n_min": "48"},
    ),
    ("I srv    load_model: speculative decoding will use checkpoints", "speculation_uses_checkpoints", {}),
    (
        "I f: creating MTP draft context against the target model '/m/t.gguf'",
        "mtp_context_creating",
        {"path": "/m/t.gguf"},
    ),
    ("E srv    load_model: failed to load model, '/m/t.gguf'", "model_load_failed", {"path": "/m/t.gguf"}),
    (
        "I f: context size reduced from 131072 to 40960 -> need 812 MiB less memory in total",
        "context_reduced",
        {"requested": "131072", "effective": "40960", "mib_saved": "812"},
    ),
    (
        "W srv    load_model: the slot context (65536) exceeds the training context of the model (32768) - capping",
        "slot_context_capped",
        {"requested": "65536", "n_ctx_train": "32768"},
    ),
    (
        "I srv  llama_server: n_parallel is set to auto, using n_parallel = 4 and kv_unified = true",
        "n_parallel_auto",
        {"n_parallel": "4"},
    ),
    (
        "D f: disabling CUDA graphs due to GPU architecture",
        "cuda_graphs_disabled",
        {"reason": "GPU architecture"},
    ),
    ("W llama_context: graph reuse disabled", "graph_reuse_disabled", {}),
    (
        (
            "I slot   operator(): id  2 | task 9 | forcing full prompt re-processing due to lack of cache data (likely"
            " due to SWA or hybrid/recurrent memory, see X)"
        ),
        "full_reprocess",
        {"slot": "2", "task": "9"},
    ),
    ("W srv    operator(): unauthorized: Invalid API Key", "unauthorized", {}),
    ("srv    operator(): Unauthorized: Invalid API Key", "unauthorized", {}),
]


@pytest.mark.parametrize(("line", "code", "fields"), TEXTS)
def test_a_text_has_its_meaning(line: str, code: str, fields: dict[str, str]) -> None:
    assert [plain(fact) for fact in LineParser().parse(line, ARRIVAL)] == [{"code": code, "fields": fields}]


def test_every_code_is_tested() -> None:
    in_fixtures = {code for expected in SAYS.values() for code in expected["codes"]}
    assert {saying.code for saying in SAYINGS} == in_fixtures - MEMORY | {code for _, code, _ in TEXTS}


@pytest.mark.parametrize("rest", ["", ", mean len =  2.10", ", mean acceptance length =  2.10, acceptance rate (0.9)"])
@pytest.mark.parametrize("name", ["draft acceptance rate = 0.5", "draft acceptance = 0.50000"])
def test_acceptance_in_all_its_forms(name: str, rest: str) -> None:
    parser = LineParser()
    parser.parse(f"slot print_timing: id  0 | task 4 | {name} (   11 accepted /    22 generated){rest}", ARRIVAL)
    (request,) = parser.flush()
    assert isinstance(request, RequestLogged)
    assert (request.task, request.accepted, request.drafted) == (4, 11, 22)
    assert request.mean_len == (2.1 if rest else None)


def test_the_numbers_of_the_synthetic_oracle_are_kept() -> None:
    enabled, rates = said(facts_of((LOGS / "b11434.log").read_bytes()), "synthetic_acceptance")
    assert enabled == {}
    assert rates["n_max"] == "15"
    assert rates["mean_length"] == "7.290000"
    assert rates["rates"].startswith("0.93, 0.88, ")


def test_minutes_of_a_stamp_grow_past_sixty() -> None:
    line = b"1621.16.348.559 I slot   operator(): id  0 | task 2 | accepted  1/ 3 draft tokens"
    (fact,) = LineParser().parse(line, ARRIVAL)
    assert isinstance(fact, CycleLogged)
    assert fact.stamp_us == ((1621 * 60 + 16) * 1000 + 348) * 1000 + 559


def test_a_stamp_is_not_seen_where_there_is_none() -> None:
    for name in ("no_log_prefix", "early_2025", "ik_llama"):
        facts = facts_of((LOGS / f"{name}.log").read_bytes())
        assert {fact.stamp_us for fact in facts if isinstance(fact, CycleLogged)} <= {None}
        assert {fact.at for fact in facts} == {ARRIVAL}


def test_one_child_of_a_router_can_be_read_alone() -> None:
    facts = facts_of((LOGS / "router.log").read_bytes(), port=42777)
    assert [cycle(fact) for fact in facts if isinstance(fact, CycleLogged)] == ["0/9 1/7"]
    assert said(facts, "model_loading") == [{"path": "/models/smol-b.gguf"}]


def test_a_prompt_that_quotes_a_log_is_not_believed() -> None:
    quoted = "slot   operator(): id  1 | task 2 | accepted  5/ 8 draft tokens"
    for line in (
        f'0.02.138.900 D srv  log_server_r: request:  {{"prompt":"{quoted}"}}',
        f'INFO [x] DEBUG | tid="1" timestamp=1 generated_text="{quoted}"',
        f"srv  update_chat_: Parsing chat message: {quoted}",
        f'{{"type":"log","time":5,"level":"debug","msg":"srv log_server_r: request:  {{\\"p\\":\\"{quoted}\\"}}"}}',
    ):
        assert LineParser().parse(line, ARRIVAL) == []


def test_the_debug_line_of_a_cycle_is_not_a_second_cycle() -> None:
    line = b"0.02.380.683 D slot   operator(): id  0 | task 0 | accepted 0/3 draft tokens, new n_tokens = 31"
    assert LineParser().parse(line, ARRIVAL) == []


def test_a_block_is_not_lost_when_the_log_stops_within_it() -> None:
    lines = (LOGS / "b10434_trace.log").read_bytes().split(b"\n")
    until_eval = lines[: next(i for i, line in enumerate(lines) if b"|        eval time" in line) + 1]
    (request,) = [fact for fact in facts_of(b"\n".join(until_eval)) if isinstance(fact, RequestLogged)]
    assert (request.generated, request.drafted) == (120, None)


def test_a_restart_closes_what_was_open_and_is_counted_once() -> None:
    parser = LineParser()
    parser.parse("slot print_timing: id  0 | task 4 | draft acceptance = 0.5 (1 accepted / 2 generated)", ARRIVAL)
    build = "cmn  common_param: common_params_print_info: build 11434 (abc1234) with GNU 13 for Linux"
    assert [type(fact) for fact in parser.parse(build, ARRIVAL)] == [RequestLogged, LogSaid]
    parser.parse("cmn  common_param: common_params_print_info: verbosity = 4 (adjust)", ARRIVAL)
    assert parser.restarts == 1


def test_times_follow_the_stamps_not_the_reading() -> None:
    clock = StampClock()
    assert clock.at(1_000_000, 101.5) == 101.5  # half a second late
    assert clock.at(2_000_000, 102.01) == 102.01
    assert clock.at(2_100_000, 102.3) == pytest.approx(102.11)  # read late, placed by its stamp
    assert clock.at(None, 102.4) == pytest.approx(102.11)  # no stamp: as the line before
    assert clock.at(None, 110.0) == 110.0
    assert clock.at(500, 120.0) == 120.0  # a new process


def test_a_start_that_seems_too_early_is_forgotten() -> None:
    clock = StampClock()
    clock.at(0, 100.0)
    for minute in range(1, 5):  # the server's clock was set back by a second
        clock.at(minute * 61_000_000, 101.0 + minute * 61)
    assert clock.at(250_000_000, 351.0) == 351.0


@settings(deadline=None)
@given(st.lists(st.tuples(st.none() | st.integers(0, 10**12), st.floats(0, 1e6)), max_size=40))
def test_times_never_go_back_nor_past_the_arrival(lines: list[tuple[int | None, float]]) -> None:
    clock = StampClock()
    arrivals = sorted(arrival for _, arrival in lines)
    times = [clock.at(stamp_us, at) for (stamp_us, _), at in zip(lines, arrivals, strict=True)]
    assert times == sorted(times)
    assert all(at <= arrival for at, arrival in zip(times, arrivals, strict=True))


REAL = b"".join(path.read_bytes() for path in sorted(LOGS.glob("*.log")))[:20_000]
REAL_LINES = [line for path in sorted(LOGS.glob("*.log")) for line in path.read_bytes().split(b"\n")]


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_noise_raises_nothing(line: bytes) -> None:
    LineParser().parse(line, ARRIVAL)


@settings(deadline=None)
@given(st.text(st.characters(), max_size=400))
def test_noisy_text_raises_nothing(line: str) -> None:
    LineParser().parse(line, ARRIVAL)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(REAL_LINES), st.integers(0, 200), st.integers(0, 30), st.binary(max_size=12)),
        max_size=30,
    )
)
def test_damaged_lines_give_facts_that_can_be_recorded(damages: list[tuple[bytes, int, int, bytes]]) -> None:
    parser = LineParser()
    facts: list[Event] = []
    for line, start, length, splinter in damages:
        facts += parser.parse(line[:start] + splinter + line[start + length :], ARRIVAL)
    facts += parser.flush()
    for fact in facts:
        assert msgspec.json.decode(msgspec.json.encode(fact), type=type(fact)) == fact


@settings(deadline=None)
@given(st.lists(st.integers(1, 5000), min_size=1, max_size=60))
def test_any_chunking_gives_the_same_lines(sizes: list[int]) -> None:
    buffer, lines, position = LineBuffer(limit_bytes=200), list[bytes](), 0
    while position < len(REAL):
        for size in sizes:
            lines += buffer.feed(REAL[position : position + size])
            position += size
    whole = LineBuffer(limit_bytes=200)
    assert lines == whole.feed(REAL)
    assert buffer.skipped == whole.skipped > 0
    assert lines == [line for line in REAL.replace(b"\0", b"").split(b"\n")[:-1] if len(line) <= 200]


def test_the_first_look_passes_over_nothing() -> None:
    """Whatever a pattern could read is let through by the cheap tests before it."""
    for line in (line.decode("latin-1") for line in REAL_LINES):
        payload = re.sub(r"\x1b\[[0-9;]*m", "", line)
        if any(s.needle in payload and s.pattern.search(payload) for s in SAYINGS):
            assert worth_reading(line), line
    for line, _, _ in TEXTS:
        assert worth_reading(line)
