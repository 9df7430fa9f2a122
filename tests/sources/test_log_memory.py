"""What a log says of memory: buffers of the right model, caches, devices, and the dry run left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from specscope.events import BufferLogged, LogSaid
from specscope.sources.log_frame import worth_reading
from specscope.sources.log_lines import LineParser
from specscope.sources.log_memory import CODES
from specscope.sources.log_reserves import Reserves, graph_nodes

if TYPE_CHECKING:
    from specscope.events import Event

LOGS = Path(__file__).parent.parent / "fixtures" / "memory"
LOAD = "srv load_model: loading model '/models/t.gguf'"
DRAFT = "common_speculative_init_result: loading draft model '/models/d.gguf'"
CACHE = "llama_kv_cache: size = 4.00 MiB (  2048 cells,   2 layers,  2/2 seqs), K (q8_0): 2.00 MiB, V (f16): 2.00 MiB"
READY = "srv load_model: initializing, n_slots = 1, n_ctx_slot = 4096, kv_unified = 'false'"


def facts_of(*lines: str) -> list[Event]:
    parser = LineParser()
    return [fact for line in lines for fact in parser.parse(line, 1.0)] + parser.flush()


def of_log(name: str) -> list[Event]:
    return facts_of(*(LOGS / f"{name}.log").read_text().splitlines())


def buffers(facts: list[Event]) -> list[tuple[str | None, str, str, float]]:
    """Model, device, kind and MiB of each buffer."""
    found = [fact for fact in facts if isinstance(fact, BufferLogged)]
    return [(fact.model, fact.device, fact.kind, round(fact.bytes / 2**20, 2)) for fact in found]


def said(facts: list[Event], code: str) -> list[dict[str, str]]:
    return [fact.fields for fact in facts if isinstance(fact, LogSaid) and fact.code == code]


TARGET_ALONE = [
    ("target", "CPU_Mapped", "model", 108.0),
    ("target", "CUDA0", "model", 3853.02),
    ("target", "CUDA_Host", "output", 0.19),
    ("target", "CUDA0", "KV", 5120.0),
    ("target", "CUDA0", "compute", 156.01),
    ("target", "CUDA_Host", "compute", 72.02),
]
H200 = {"name": "NVIDIA H200", "total_mib": "143155", "free_mib": "142629"}


def test_a_server_on_an_h200() -> None:
    facts = of_log("h200_base")
    assert buffers(facts) == TARGET_ALONE
    assert said(facts, "kv_cache") == [
        {
            "mib": "5120.00",
            "cells": "40960",
            "layers": "32",
            "seqs": "1",
            "streams": "1",
            "type_k": "f16",
            "type_v": "f16",
        }
    ]
    assert said(facts, "layers_offloaded") == [{"offloaded": "33", "layers": "33"}]


def test_with_a_drafter_every_buffer_is_of_the_right_model() -> None:
    assert buffers(of_log("h200_dflash")) == [
        *TARGET_ALONE,
        ("drafter", "CUDA0", "model", 630.19),
        ("drafter", "CUDA_Host", "output", 0.19),
        ("drafter", "CUDA0", "KV", 800.0),
        ("drafter", "CUDA0", "compute", 148.01),
        ("drafter", "CUDA_Host", "compute", 48.01),
        ("drafter", "CUDA0", "compute", 208.19),  # once it has its sampler
        ("drafter", "CUDA_Host", "compute", 48.01),
        ("target", "CUDA0", "compute", 188.01),  # at the first request
        ("target", "CUDA_Host", "compute", 72.02),
    ]


def test_what_is_of_the_drafter_does_not_overwrite_the_targets() -> None:
    facts = of_log("h200_dflash")
    assert [fields["cells"] for fields in said(facts, "kv_cache")] == ["40960"]
    assert [fields["layers"] for fields in said(facts, "draft_kv_cache")] == ["5"]
    assert said(facts, "draft_layers_offloaded") == [{"offloaded": "6", "layers": "6"}]
    assert said(facts, "device_used") == [
        {"CUDA0.name": "NVIDIA H200", "CUDA0.bus_id": "0000:00:06.0", "CUDA0.free_mib": "142629"}
    ]
    assert said(facts, "draft_device_used")[0]["CUDA0.free_mib"] == "133429"


def test_devices_and_the_table_of_the_fit() -> None:
    facts = of_log("h200_dflash")
    assert said(facts, "device_total")[-1] == {
        **{f"CUDA0.{name}": value for name, value in H200.items()},
        "CPU.name": "Intel(R) Xeon(R) Processor",
        "CPU.total_mib": "128887",
        "CPU.free_mib": "128887",
    }
    assert said(facts, "memory_breakdown")[-1] == {
        "when": "fit",
        "CUDA0.name": "H200",
        "CUDA0.total_mib": "143155",
        "CUDA0.free_mib": "142629",
        "CUDA0.self_mib": "9129",
        "CUDA0.model_mib": "3853",
        "CUDA0.context_mib": "5120",
        "CUDA0.compute_mib": "156",
        "CUDA0.unaccounted_mib": "-8602",
        "Host.self_mib": "180",
        "Host.model_mib": "108",
        "Host.context_mib": "0",
        "Host.compute_mib": "72",
    }


def test_the_table_at_the_end_is_another() -> None:
    facts = facts_of(
        LOAD,
        READY,
        "common_memory_breakdown_print: | memory breakdown [MiB] | total   free    self   model   context   compute |",
        "common_memory_breakdown_print: |   - Vulkan0 (RTX 4090) | 24564 = 812 + (22915 = 17001 + 5120 + 794) + 836 |",
        "common_memory_breakdown_print: |   - CPU_REPACK         |          3 =     3 +       0 +       0          |",
    )
    last = said(facts, "memory_breakdown")[-1]
    assert (last["when"], last["Vulkan0.name"], last["Vulkan0.self_mib"]) == ("exit", "RTX 4090", "22915")
    assert (last["Vulkan0.unaccounted_mib"], last["CPU_REPACK.model_mib"]) == ("836", "3")
    assert "CPU_REPACK.total_mib" not in last


def test_several_devices() -> None:
    facts = facts_of(
        "common_param: device_info:",
        "common_param:   - CUDA0   : NVIDIA A100 (81920 MiB, 81000 MiB free)",
        "common_param:   - CUDA1   : NVIDIA A100 (81920 MiB, 80000 MiB free)",
        LOAD,
        "llama_prepare_model_devices: using device Vulkan0 (AMD Radeon RX 7900 XTX (RADV NAVI31)) (unknown id)"
        " - 24000 MiB free",
        "llama_prepare_model_devices: using device CUDA1 (NVIDIA A100) (0000:81:00.0) - 80000 MiB free",
        "load_tensors: RPC0[10.0.0.2:50052] model buffer size =  1024.50 MiB",
        "load_tensors:        CUDA1 model buffer size =  2048.00 MiB",
    )
    assert said(facts, "device_total")[-1]["CUDA1.free_mib"] == "80000"
    used = said(facts, "device_used")[-1]
    assert used["Vulkan0.name"] == "AMD Radeon RX 7900 XTX (RADV NAVI31)"
    assert (used["Vulkan0.bus_id"], used["CUDA1.bus_id"]) == ("unknown id", "0000:81:00.0")
    assert buffers(facts) == [
        ("target", "RPC0[10.0.0.2:50052]", "model", 1024.5),
        ("target", "CUDA1", "model", 2048.0),
    ]


def test_caches_of_one_context_stand_side_by_side() -> None:
    facts = facts_of(
        LOAD,
        CACHE,
        CACHE.replace("2048", "1024").replace(" 2 layers", " 3 layers"),
        "llama_memory_recurrent: size =   12.42 MiB (     2 cells,   4 layers,  2 seqs  3 rs_seq),"
        " R (f32):    0.42 MiB, S (f32):   12.00 MiB, P (f32):    0.00 MiB",
    )
    window = said(facts, "kv_cache")[-1]
    assert (window["cells"], window["2.cells"], window["2.layers"], window["type_k"]) == ("2048", "1024", "3", "q8_0")
    state = said(facts, "recurrent_cache")[-1]
    assert (state["cells"], state["seqs"], state["snapshots"], state["mib"]) == ("2", "2", "3", "12.42")


def test_the_dry_run_is_left_out() -> None:
    facts = facts_of(
        LOAD,
        "common_params_fit_impl: getting device memory data for initial parameters:",
        "load_tensors:        CUDA0 model buffer size =     0.00 MiB",
        "llama_memory_recurrent:        CPU RS buffer size =     1.50 MiB",
        "load_tensors: offloaded 33/33 layers to GPU",
        "sched_reserve:      CUDA0 compute buffer size =   156.01 MiB",
        "common_fit_params: successfully fit params to free device memory",
        "common_fit_params: fitting params to free memory took 0.27 seconds",
        "load_tensors:        CUDA0 model buffer size =  3853.02 MiB",
    )
    assert buffers(facts) == [("target", "CUDA0", "model", 3853.02)]
    assert said(facts, "layers_offloaded") == []


def test_the_lines_of_earlier_builds() -> None:
    facts = facts_of(
        "llm_load_tensors: offloaded 33/33 layers to GPU",
        "llm_load_tensors:      CUDA0 model buffer size =  3847.02 MiB",
        "llama_kv_cache_init:      CUDA0 KV buffer size =   512.00 MiB",
        "llama_new_context_with_model:      CUDA0 compute buffer size =   164.01 MiB",
        "llama_new_context_with_model: graph nodes  = 1030",
    )
    assert [(model, kind) for model, _, kind, _ in buffers(facts)] == [
        *(("target", "model"), ("target", "KV"), ("target", "compute"))
    ]


def test_a_projectors_buffer_is_of_neither_model() -> None:
    line = "alloc_compute_meta:      CUDA0 compute buffer size =   248.10 MiB"
    assert buffers(facts_of(LOAD, DRAFT, line)) == []


def test_a_compute_buffer_whose_graph_is_never_told() -> None:
    compute = "sched_reserve:      CUDA0 compute buffer size =   156.01 MiB"
    assert buffers(facts_of(LOAD, compute)) == [("target", "CUDA0", "compute", 156.01)]
    twice = buffers(facts_of(LOAD, compute, compute.replace("156", "157"), DRAFT, compute))
    assert [(model, mib) for model, *_, mib in twice] == [("target", 156.01), ("target", 157.01), ("drafter", 156.01)]


def test_a_prediction_context_is_the_drafters() -> None:
    facts = facts_of(
        LOAD,
        "common_speculative_init_result: creating MTP draft context against the target model '/models/t.gguf'",
        "llama_kv_cache:      CUDA0 KV buffer size =   800.00 MiB",
    )
    assert buffers(facts) == [("drafter", "CUDA0", "KV", 800.0)]


def test_a_model_that_is_loaded_again() -> None:
    """A server that slept."""
    facts = facts_of(
        *(
            LOAD,
            CACHE,
            "load_tensors: offloaded 33/33 layers to GPU",
            DRAFT,
            "load_tensors: offloaded 6/6 layers to GPU",
        ),
        *(READY, "srv update: server is exiting sleeping state", LOAD),
        "load_tensors:        CUDA0 model buffer size =  3853.02 MiB",
        CACHE,
    )
    assert buffers(facts) == [("target", "CUDA0", "model", 3853.02)]
    assert "2.cells" not in said(facts, "kv_cache")[-1]


@pytest.mark.parametrize(
    ("nodes", "host", "whose"),
    [
        ((1001,), 50, "target"),  # the very graph
        ((260, 185), 48, "drafter"),  # its host buffer
        ((1100,), 60, "target"),  # near enough
        ((200,), None, "drafter"),
        ((420,), None, None),  # as far from either
        ((1001,), 48, "target"),  # a graph says more than a size
        (None, 48, "drafter"),
        (None, 50, None),
        (None, None, None),
    ],
)
def test_whose_a_later_reservation_is(nodes: tuple[int, ...] | None, host: int | None, whose: str | None) -> None:
    reserves = Reserves()
    reserves.learn("target", (1001,), 72)
    assert reserves.whose(nodes, host) == "target"  # there is no other
    reserves.learn("drafter", (179,), 48)
    assert reserves.whose(nodes, host) == whose
    reserves.setting_up = True
    assert reserves.whose(nodes, host) == "drafter"


def test_nodes_of_a_graph() -> None:
    assert graph_nodes("sched_reserve: graph: nodes = 1001, splits = 2") == (1001,)
    assert graph_nodes("sched_reserve: graph (pp bs=512, tg bs=1): nodes = 260 / 185, splits = 2 / 2") == (260, 185)
    assert graph_nodes("sched_reserve: graph splits = 2") is None
    assert graph_nodes("disabling CUDA graphs due to batch size") is None


def test_every_line_that_says_something_is_looked_at() -> None:
    for name in ("h200_base", "h200_dflash"):
        parser, bare = LineParser(), 0
        for line in (LOGS / f"{name}.log").read_text().splitlines():
            facts = parser.parse(line, 1.0)
            bare += not facts
            assert not facts or worth_reading(line)
        assert bare


def test_every_code_is_in_a_test() -> None:
    text = Path(__file__).read_text()
    assert all(f'"{code}"' in text for code in CODES - {"draft_recurrent_cache", "draft_memory_breakdown"})


def test_a_log_that_repeats_itself_does_not_grow_a_fact_without_end() -> None:
    facts = said(facts_of(LOAD, *[CACHE] * 300), "kv_cache")
    assert len(facts[-1]) < 450
