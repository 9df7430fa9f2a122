"""Bytes of caches: figures of an H200's log, every rule by hand, and what is not known said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as b
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specscope.flags import parse_flags
from specscope.session.memory.architectures import ARCHITECTURES, PROVEN
from specscope.session.memory.cache_types import CACHE_TYPES
from specscope.session.memory.kv import drafter_kv, target_kv
from specscope.session.memory.state import KvLayout, Served, Unknown

if TYPE_CHECKING:
    from specscope.events import ModelRead
    from specscope.flags import ServerFlags

MIB = 1 << 20
ONE = Served(n_ctx_slot=40960, slots=1, unified=False)
LLAMA = {
    "block_count": 32,
    "embedding_length": 4096,
    "attention.head_count": 32,
    "attention.head_count_kv": 8,
    "attention.key_length": 128,
    "attention.value_length": 128,
}


def model(arch: str = "llama", keys: dict[str, Any] | None = None, role: str = "target", **more: object) -> ModelRead:
    """A model whose header has the keys of a llama of 7 billion parameters, and others."""
    hparams = {name: value for name, value in (LLAMA | (keys or {})).items() if value is not None}
    return b.model(role, arch=arch, n_ctx_train=131072, hparams=hparams, **more)


def told(line: str = "-c 40960 -np 1") -> ServerFlags:
    return parse_flags(["llama-server", *line.split()])


def layout(read: ModelRead, flags: ServerFlags | None = None, served: Served = ONE) -> KvLayout:
    made = target_kv(read, flags or told(), served)
    assert isinstance(made, KvLayout), made
    return made


def unknown(made: KvLayout | Unknown | None) -> str:
    assert isinstance(made, Unknown), made
    return made.reason


# --- what an H200 printed ---------------------------------------------------------------------------------------------


def test_the_target_of_an_h200() -> None:
    kv = layout(model())
    assert kv.reserved_bytes == 5120 * MIB
    assert kv.bytes_per_token == 128 * 1024
    assert (kv.n_ctx_seq, kv.streams, kv.type_k, kv.fixed_bytes) == (40960, 1, "f16", 0)
    assert kv.filled_bytes([31_684]) == 31_684 * 128 * 1024
    assert kv.basis == "context from the flags"
    assert kv.proven


def test_its_drafter_of_five_layers() -> None:
    drafter = model("dflash", {"block_count": 5}, "drafter")
    kv = drafter_kv(model(), drafter, told("-c 40960 -np 1 -ctk q8_0 -ctv q8_0"), ONE)
    assert isinstance(kv, KvLayout)
    assert (kv.reserved_bytes, kv.role, kv.type_k) == (800 * MIB, "drafter", "f16")


# --- cells and streams ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "served", "cells", "streams"),
    [
        ("-c 5000 -np 3", Served(), 1792, 3),
        ("-c 5001 -np 3 -kvu", Served(), 5120, 1),
        ("-c 100", Served(slots=1, unified=False), 256, 1),
        ("-c 8192", Served(), 8192, 1),  # no -np: four slots that share
        ("-c 8192 -np -1 -no-kvu", Served(), 8192, 1),
        ("-c 8192 -np 2 -kvu --kv-unified-per-slot 1000", Served(n_ctx_slot=1000), 8192, 1),
        ("--kv-unified-per-slot 1000 -np 3 -kvu", Served(), 3072, 1),
        ("-c 400000 -np 1", Served(n_ctx_slot=131072), 400128, 1),  # the slot is capped, its cache is not
        ("", Served(n_ctx_slot=131072, slots=4, unified=True), 131072, 1),
        ("-np 2", Served(n_ctx_slot=4096), 4096, 2),
        ("-c 4096 -np 1", Served(n_ctx_slot=8192), 8192, 1),  # the server knows better
        ("-c 4096 -np 1", Served(n_ctx_slot=8192, cells=2048), 2048, 1),  # its log best
    ],
)
def test_cells_of_a_stream(line: str, served: Served, cells: int, streams: int) -> None:
    kv = layout(model(), told(line), served)
    assert (kv.n_ctx_seq, kv.streams) == (cells, streams)
    assert kv.reserved_bytes == cells * streams * 128 * 1024


def test_without_flags_the_server_says_enough() -> None:
    made = target_kv(model(), None, Served(n_ctx_slot=4096, slots=2, unified=True))
    assert isinstance(made, KvLayout)
    assert (made.streams, made.slots, made.basis) == (1, 2, "context from the slots")
    assert isinstance(target_kv(model(), None, Served(n_ctx_slot=4096, slots=1)), KvLayout)


def test_tokens_fill_what_is_reserved_and_no_more() -> None:
    apart = layout(model(), told("-c 8192 -np 2"), Served())
    assert apart.filled_bytes([100, 5000]) == (100 + 4096) * 128 * 1024
    shared = layout(model(), told("-c 8192 -np 2 -kvu"), Served())
    assert shared.filled_bytes([100, 5000]) == 5100 * 128 * 1024
    assert shared.filled_bytes([8000, 5000]) == shared.reserved_bytes


# --- types ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "per_token"),
    [
        ("f32", "f32", 2 * 4096),
        ("bf16", "f16", 4096),
        ("q8_0", "q8_0", 2 * 32 * 34),
        ("q4_0", "q4_1", 32 * (18 + 20)),
        ("q5_0", "q5_1", 32 * (22 + 24)),
        ("iq4_nl", "f16", 32 * 18 + 2048),
    ],
)
def test_types_of_keys_and_values(key: str, value: str, per_token: int) -> None:
    kv = layout(model(), told(f"-c 4096 -np 1 -ctk {key} -ctv {value}"), Served())
    assert kv.bytes_per_token == 32 * per_token
    assert {key, value} <= CACHE_TYPES


def test_a_type_that_does_not_fit_or_is_not_known() -> None:
    flags = told("-c 4096 -np 1 -ctk q8_0")
    assert unknown(target_kv(model(keys={"attention.key_length": 2, "attention.head_count_kv": 1}), flags, ONE)) == (
        "keys of 2 cannot be stored as q8_0"
    )
    assert unknown(target_kv(model(), told("-c 4096 -np 1 -ctk q3_0"), ONE)) == "unknown cache type q3_0"


# --- layers -----------------------------------------------------------------------------------------------------------


def test_heads_can_differ_from_layer_to_layer() -> None:
    kv = layout(model("deci", {"block_count": 3, "attention.head_count_kv": [8, 0, 2]}))
    assert [cell.k_bytes for cell in kv.parts[0].layers] == [2048, 0, 512]
    assert kv.reserved_from(1) == 40960 * 2 * 512


def test_widths_follow_from_the_embedding_where_the_file_does_not_say() -> None:
    none = dict.fromkeys(("attention.key_length", "attention.value_length", "attention.head_count_kv"))
    assert layout(model(keys=none)).bytes_per_token == 32 * 2 * 2 * 4096


SLIDING = {"block_count": 6, "attention.sliding_window": 1024}


def windows(kv: KvLayout) -> list[tuple[str, int, list[int]]]:
    return [(part.kind, part.cells, [cell.layer for cell in part.layers]) for part in kv.parts]


@pytest.mark.parametrize(
    ("arch", "keys", "line", "cells", "wide"),
    [
        ("gemma3", SLIDING, "-c 40960 -np 1", 1536, [5]),
        ("gemma3", SLIDING, "-c 40960 -np 1 -ub 1024", 2048, [5]),
        ("gemma3", SLIDING, "-c 40960 -np 1 --swa-full", 40960, [5]),
        ("gemma3", SLIDING, "-c 1000 -np 1", 1024, [5]),
        ("gemma3", SLIDING, "-c 40960 -np 4", 1536, [5]),
        ("gemma3", SLIDING, "-c 40960 -np 4 -kvu", 4608, [5]),
        ("gemma2", {"block_count": 4}, "-c 40960 -np 1", 4608, [1, 3]),
        ("gpt-oss", SLIDING | {"attention.sliding_window": 128}, "-c 40960 -np 1", 768, [1, 3, 5]),
        ("cohere2moe", SLIDING, "-c 40960 -np 1", 1536, [0, 4]),
        ("llama4", {"block_count": 4}, "-c 40960 -np 1", 8704, [3]),
        ("smallthinker", {"block_count": 4, "attention.sliding_window": 1}, "-c 40960 -np 1", 4608, [0]),
        ("gemma3", SLIDING | {"attention.sliding_window_pattern": 3}, "-c 40960 -np 1", 1536, [2, 5]),
        ("mimo2", SLIDING | {"attention.sliding_window_pattern": [1, 0, 1]}, "-c 40960 -np 1", 1536, [1, 3, 4, 5]),
        ("exaone4", {"block_count": 64}, "-c 40960 -np 1", 4608, list(range(3, 64, 4))),
    ],
)
def test_windows(arch: str, keys: dict[str, Any], line: str, cells: int, wide: list[int]) -> None:
    kv = layout(model(arch, keys), told(line), Served())
    n_layer = keys["block_count"]
    assert windows(kv) == [
        ("attention", kv.n_ctx_seq, wide),
        ("window", cells, [layer for layer in range(n_layer) if layer not in wide]),
    ]


@pytest.mark.parametrize(
    ("arch", "keys"),
    [
        ("gemma3", {}),
        ("phi3", SLIDING),  # its window is switched off in the server
        ("llama4", {"attention.sliding_window": 0}),
        ("exaone4", {"block_count": 30, "attention.sliding_window": 4096}),
        ("qwen3", SLIDING),  # an architecture that does not read the key
        ("dflash", {}),
    ],
)
def test_without_a_window_all_layers_are_alike(arch: str, keys: dict[str, Any]) -> None:
    (part,) = layout(model(arch, keys)).parts
    assert part.kind == "attention"


def test_a_window_fills_and_then_turns() -> None:
    kv = layout(model("gemma3", SLIDING))
    one = 2 * 2048
    assert kv.filled_bytes([1000]) == 6 * 1000 * one
    assert kv.filled_bytes([10_000]) == (10_000 + 5 * 1536) * one
    assert kv.bytes_per_token == 6 * one


def test_windows_can_have_heads_of_their_own_width_and_layers_can_share() -> None:
    keys = SLIDING | {
        "attention.sliding_window_pattern": [True, True, True, False, True, False],
        "attention.key_length_swa": 64,
        "attention.value_length_swa": 32,
        "attention.shared_kv_layers": 2,
    }
    kv = layout(model("gemma4", keys))
    assert windows(kv) == [("attention", 40960, [3]), ("window", 1536, [0, 1, 2])]
    assert kv.parts[1].layers[0] == (0, 8 * 64 * 2, 8 * 32 * 2)
    # transposed values are as wide as the widest layer's
    off = layout(model("gemma4", keys), told("-c 40960 -np 1 -fa off"))
    assert off.parts[1].layers[0] == (0, 8 * 64 * 2, 8 * 128 * 2)
    assert [len(part.layers) for part in layout(model("gemma3n", SLIDING | {"block_count": 30})).parts] == [4, 16]


def test_compressed_keys_hold_the_values() -> None:
    mla = {"attention.head_count_kv": 1, "attention.key_length": 576, "attention.value_length": 512}
    whole = {"attention.key_length_mla": 192, "attention.value_length_mla": 128}
    kv = layout(model("deepseek2", mla | whole | {"block_count": 61}))
    assert kv.bytes_per_token == 61 * 576 * 2
    assert layout(model("deepseek2", mla)).bytes_per_token == 32 * (576 + 512) * 2
    indexed = mla | whole | {"attention.indexer.key_length": 128, "nextn_predict_layers": 1}
    sparse = layout(model("deepseek32", indexed | {"block_count": 62}))
    assert [(part.kind, len(part.layers), part.cell_bytes) for part in sparse.parts] == [
        ("attention", 61, 61 * 1152),
        ("indexer", 61, 61 * 256),
    ]


def test_indexers_of_some_layers() -> None:
    keys = {
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.indexer.key_length": 128,
        "block_count": 4,
        "attention.indexer.types": [1, 0, 1, 0],
        "attention.indexer.top_k": 64,
    }
    listed = [[cell.layer for cell in part.layers] for part in layout(model("glm-dsa", keys)).parts]
    assert listed == [[0, 1, 2, 3], [0, 2]]
    assert len(layout(model("glm-dsa", keys | {"attention.indexer.types": None})).parts[1].layers) == 4
    assert [len(p.layers) for p in layout(model("hy_v4", keys)).parts] == [4, 2]
    assert len(layout(model("hy_v4", keys | {"attention.indexer.top_k": None})).parts) == 1
    msa = layout(model("minimax-m3", keys | {"leading_dense_block_count": 1}))
    assert msa.parts[1].layers == tuple((layer, 256, 256) for layer in (1, 2, 3))
    million = b.model("target", arch="glm-dsa", n_ctx_train=1 << 20, hparams=LLAMA | keys)
    del million.hparams["attention.indexer.types"]
    assert "indexer" in unknown(target_kv(million, told(), ONE))


# --- recurrent --------------------------------------------------------------------------------------------------------

SSM = {"ssm.conv_kernel": 4, "ssm.inner_size": 8192, "ssm.state_size": 16, "ssm.time_step_rank": 256}


def state(read: ModelRead, line: str = "-c 4096 -np 3") -> tuple[int, int]:
    """Rows, and values of one layer's row."""
    kv = layout(read, told(line), Served())
    (part,) = [part for part in kv.parts if part.kind == "recurrent"]
    assert kv.fixed_bytes == part.reserved_bytes
    return part.cells, part.cell_bytes // 4 // len(part.layers)


def test_states() -> None:
    none = {"attention.head_count": 0, "attention.head_count_kv": 0}
    grouped = SSM | {"ssm.group_count": 8}
    assert state(model("mamba", SSM | none)) == (3, 3 * 8192 + 16 * 8192)
    assert state(model("mamba", grouped | none)) == (3, 3 * 8192 + 16 * 8192)  # it does not read the groups
    assert state(model("mamba2", grouped | none)) == (3, 3 * (8192 + 2 * 8 * 16) + 16 * 8192)
    assert state(model("rwkv7", {"wkv.head_size": 64} | none)) == (3, 2 * 4096 + 64 * 4096)
    assert state(model("arwkv7", {"wkv.head_size": 64, "token_shift_count": 1} | none)) == (3, 65 * 4096)
    heads = {"attention.head_count_kv": [0, 8] * 16}
    assert state(model("lfm2", {"shortconv.l_cache": 3} | heads)) == (3, 2 * 4096)
    kda = {"kda.head_dim": 128, "ssm.conv_kernel": 4}
    assert state(model("kimi-linear", kda | heads)) == (3, 3 * 3 * 32 * 128 + 128 * 128 * 32)
    assert state(model("minimax-01")) == (3, 128 * 128 * 32)


def test_a_purely_recurrent_model_reserves_nothing_for_the_context() -> None:
    kv = layout(model("mamba", SSM))
    assert (kv.bytes_per_token, kv.filled_bytes([5000]), kv.growing) == (0, 0, ())
    assert kv.reserved_bytes == kv.fixed_bytes > 0


GROUPED = SSM | {"ssm.group_count": 8}


@pytest.mark.parametrize(
    ("arch", "keys", "attending", "recurrent"),
    [
        ("jamba", {"block_count": 4, "attention.head_count_kv": [0, 8, 0, 0]}, [1], [0, 2, 3]),
        ("granitehybrid", {"block_count": 3, "attention.head_count_kv": [0, 0, 4]}, [2], [0, 1]),
        ("falcon-h1", {"block_count": 2}, [0, 1], [0, 1]),
        (
            "nemotron_h",
            {"block_count": 4, "attention.head_count_kv": [0, 0, 2, 0], "feed_forward_length": [0, 9, 0, 0]},
            *([2], [0, 3]),
        ),
        ("qwen35", {"block_count": 9, "nextn_predict_layers": 1}, [3, 7], [0, 1, 2, 4, 5, 6]),
        ("qwen3next", {"block_count": 4, "full_attention_interval": 2}, [1, 3], [0, 2]),
        ("qwen35moe", {"block_count": 3, "attention.recurrent_layers": [1, 0, 1]}, [1], [0, 2]),
    ],
)
def test_layers_of_hybrids(arch: str, keys: dict[str, Any], attending: list[int], recurrent: list[int]) -> None:
    kv = layout(model(arch, GROUPED | keys))
    found = {part.kind: [cell.layer for cell in part.layers] for part in kv.parts}
    assert found == {"attention": attending, "recurrent": recurrent}


@pytest.mark.parametrize(
    ("line", "types", "rows"),
    [
        ("-c 4096 -np 2 --spec-type draft-mtp", None, 8),
        ("-c 4096 -np 2 --spec-type draft-dflash --spec-draft-n-max 7", None, 16),
        ("-c 4096 -np 2 --spec-type draft-simple", None, 2),
        ("-c 4096 -np 2 -md d.gguf", ("draft-eagle3",), 8),
        ("-c 4096 -np 2", None, 2),
    ],
)
def test_a_target_that_can_go_back_keeps_states_for_it(line: str, types: tuple[str, ...] | None, rows: int) -> None:
    kv = layout(model("qwen35", GROUPED), told(line), Served(types=types))
    assert kv.parts[1].cells == rows
    stays = layout(model("qwen3next", GROUPED), told(line), Served(types=types))  # it cannot
    assert stays.parts[1].cells == 2


def test_which_method_drafts_has_to_be_known_for_that() -> None:
    reason = unknown(target_kv(model("qwen35", GROUPED), told("-c 4096 -np 2 -md d.gguf"), Served()))
    assert "which method drafts" in reason
    assert "which method drafts" in unknown(target_kv(model("qwen35", GROUPED), None, ONE))


# --- drafters ---------------------------------------------------------------------------------------------------------


def test_prediction_layers_are_not_in_the_targets_cache_and_are_the_drafters() -> None:
    read = model("glm4moe", {"block_count": 5, "nextn_predict_layers": 1})
    flags = told("-c 4096 -np 2 --spec-type draft-mtp -ctkd q8_0")
    assert [len(part.layers) for part in layout(read, flags, Served()).parts] == [4]
    kv = drafter_kv(read, None, flags, Served())
    assert isinstance(kv, KvLayout)
    assert windows(kv) == [("attention", 2048, [4])]
    assert kv.bytes_per_token == 32 * 34 + 2048
    assert "no layers" in unknown(drafter_kv(model(), None, flags, Served()))


def test_who_has_no_context_of_a_drafter() -> None:
    assert drafter_kv(model(), None, told(), ONE) is None
    assert drafter_kv(model(), None, told("-c 4096 -np 1 --spec-type ngram-mod"), ONE) is None


def test_a_drafter_that_uses_the_targets_cache() -> None:
    assistant = model("gemma4-assistant", SLIDING | {"attention.sliding_window_pattern": [1] * 6}, "drafter")
    kv = drafter_kv(model(), assistant, told("-c 4096 -np 1 --spec-type draft-mtp"), Served())
    assert isinstance(kv, KvLayout)
    assert (kv.parts, kv.reserved_bytes, kv.bytes_per_token) == ((), 0, 0)


# --- unknown ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (model("deepseek4"), "unknown architecture deepseek4"),
        (b.model("target"), "the architecture is not told"),
        (b.model("target", arch="llama"), "the header's keys were not read"),
        (model(keys={"block_count": None}), "the model's header has no key block_count"),
        (model(keys={"block_count": "many"}), "block_count is no count"),
        (model(keys={"block_count": 100_000}), "100000 layers"),
        (model(keys={"block_count": 4, "nextn_predict_layers": 9}), "4 layers"),
        (model(keys={"attention.head_count_kv": [1, 2]}), "attention.head_count_kv lists 2 layers of 32"),
        (model("gpt-oss"), "the model's header has no key attention.sliding_window"),
        (model("step35", SLIDING), "the header does not say which layers have a sliding window"),
        (model("mamba2", SSM), "the model's header has no key ssm.group_count"),
        (model("dflash", {"hyper_connection.count": 4}), "a DFlash drafter of DeepSeek V4 blocks stores keys in a way"),
    ],
)
def test_what_is_not_known_is_not_guessed(read: ModelRead, reason: str) -> None:
    assert unknown(target_kv(read, told(), ONE)).startswith(reason)


@pytest.mark.parametrize(
    ("flags", "served", "reason"),
    [
        (None, Served(n_ctx_slot=4096), "the number of slots is not known"),
        (None, Served(n_ctx_slot=4096, slots=2), "whether the slots share one cache is not known"),
        (told("-np 2"), Served(), "the context is neither among the flags nor told by the server"),
        (told("-np 2 -c 0 --kv-unified-per-slot 512"), Served(n_ctx_slot=512), "the slots are capped"),
    ],
)
def test_a_context_that_is_not_known(flags: ServerFlags | None, served: Served, reason: str) -> None:
    assert unknown(target_kv(model(), flags, served)).startswith(reason)
    assert unknown(drafter_kv(model(), model("dflash"), flags, served)).startswith(reason)


def test_models_without_caches() -> None:
    kv = layout(model("bert"))
    assert (kv.parts, kv.reserved_bytes, kv.filled_bytes([100])) == ((), 0, 0)


@given(
    arch=st.sampled_from(sorted(ARCHITECTURES)),
    keys=st.dictionaries(
        st.sampled_from(
            [
                "block_count",
                "nextn_predict_layers",
                "attention.head_count",
                "attention.head_count_kv",
                "attention.sliding_window",
                "attention.sliding_window_pattern",
                "feed_forward_length",
                "full_attention_interval",
                "attention.recurrent_layers",
                "attention.shared_kv_layers",
            ]
        ),
        st.one_of(st.integers(-2, 9), st.lists(st.integers(0, 3), max_size=9), st.booleans(), st.floats(), st.text()),
    ),
)
def test_any_header_gives_a_layout_or_a_reason(arch: str, keys: dict[str, Any]) -> None:
    made = target_kv(model(arch, keys), told("-c 4096 -np 2"), Served())
    if isinstance(made, Unknown):
        assert made.reason
    else:
        assert made.reserved_bytes >= made.filled_bytes([4096, 4096]) >= 0


def test_what_is_proven_is_marked() -> None:
    assert all(ARCHITECTURES[name].proven for name in PROVEN)
    assert not layout(model("command-r")).proven
