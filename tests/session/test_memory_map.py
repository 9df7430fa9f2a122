"""The memory map: figures of an H200 (llama-server b11434 at -lv 4, 32 layers of 4096, with and without a drafter)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest

from specscope import events as ev

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.session.memory.map_state import MapPart, MemoryMap
    from specscope.session.state import Target

PID = 4242
MIB = 1 << 20
DRIVER = 615
"""MiB in use on the device before any process computed on it."""

PLAIN = [
    ("CPU_Mapped", "model", 108.00, "target"),
    ("CUDA0", "model", 3853.02, "target"),
    ("CUDA_Host", "output", 0.19, "target"),
    ("CUDA0", "KV", 5120.00, "target"),
    ("CUDA0", "compute", 156.01, "target"),
    ("CUDA_Host", "compute", 72.02, "target"),
]
DRAFTER = [
    ("CUDA0", "model", 630.19, "drafter"),
    ("CUDA_Host", "output", 0.19, "drafter"),
    ("CUDA0", "KV", 800.00, "drafter"),
    ("CUDA0", "compute", 208.19, "drafter"),
    ("CUDA_Host", "compute", 48.01, "drafter"),
]
AT_START = b.said(
    "device_total", **{"CUDA0.name": "NVIDIA H200", "CUDA0.total_mib": "143155", "CUDA0.free_mib": "142629"}
)


def buffers(rows: Iterable[tuple[str, str, float, str]]) -> list[ev.Event]:
    return [
        ev.BufferLogged(at=b.T0, device=device, kind=kind, bytes=round(mib * MIB), model=model)  # type: ignore[arg-type]
        for device, kind, mib, model in rows
    ]


def served(process_mib: float | None, *facts: ev.Event, fill: int = 1531, others_mib: int = 0) -> Target:
    """A server on the one device, whose slot holds ``fill`` tokens."""
    processes: list[tuple[int, int | None]] = [] if process_mib is None else [(PID, round(process_mib * MIB))]
    processes += [(77, others_mib * MIB)] if others_mib else []
    used = None if process_mib is None else round((process_mib + others_mib + DRIVER) * MIB)
    read = b.gpu_memory(1.0, used, pids=processes or None, free_bytes=None if used is None else 143_771 * MIB - used)
    return b.seen(
        b.found(pid=PID),
        b.server("ready"),
        b.gpu(name="NVIDIA H200", minor=0, memory_bytes=143_771 * MIB),
        ev.ProcessSampled(at=b.T0, gpu_minors=[0], rss_bytes=1 << 30),
        *facts,
        b.idle(0.5, n_ctx=40_960, fill_tokens=fill),
        read,
    )


def on_device(target: Target) -> MemoryMap:
    assert target.memory.device is not None
    return target.memory.device


def mib(memory: MemoryMap) -> dict[str, float]:
    return {part.name: round(part.bytes / MIB, 2) for part in memory.parts}


def part(memory: MemoryMap, name: str) -> MapPart:
    (found,) = [p for p in memory.parts if p.name == name]
    return found


def test_a_plain_server_adds_up_to_what_the_driver_says_of_its_process() -> None:
    memory = on_device(served(9722.0, AT_START, *buffers(PLAIN)))
    assert mib(memory) == {
        "target weights": 3853.02,
        "target KV": 5120.0,
        "compute buffers": 156.01,
        "CUDA context": 526.0,
        "unexplained": 66.97,
        "driver reserve": 615.0,
        "free": 133_434.0,
    }
    assert memory.explained == pytest.approx(1.0, abs=0.02)
    assert memory.missing == ()
    assert sum(p.bytes for p in memory.parts) == memory.total_bytes


def test_a_drafter_has_parts_of_its_own() -> None:
    memory = on_device(served(11_420.0, AT_START, *buffers(PLAIN), *buffers(DRAFTER)))
    parts = mib(memory)
    assert (parts["drafter weights"], parts["drafter KV"]) == (630.19, 800.0)
    assert parts["compute buffers"] == pytest.approx(156.01 + 208.19)
    assert memory.explained == pytest.approx(1.0, abs=0.02)
    assert all(p.source == "log" for p in memory.parts if p.name.startswith(("target", "drafter")))


def test_the_host_has_a_map_of_its_own() -> None:
    target = served(9722.0, AT_START, *buffers(PLAIN))
    assert target.memory.host is not None
    parts = mib(target.memory.host)
    assert parts["target weights"] == 108.0
    assert parts["compute buffers"] == 72.02
    assert "target KV" not in parts
    assert target.memory.host.process_bytes == 1 << 30


def test_without_the_logs_lines_what_is_missing_is_named_and_lies_in_the_rest() -> None:
    memory = on_device(served(9722.0))
    assert set(memory.missing) >= {"compute buffers", "CUDA context"}
    rest = part(memory, "unexplained")
    assert rest.bytes == 9722 * MIB
    assert memory.explained == 0.0
    assert rest.source == "rest"


def test_other_processes_and_the_whole() -> None:
    memory = on_device(served(9722.0, AT_START, *buffers(PLAIN), others_mib=2000))
    parts = mib(memory)
    assert parts["other processes"] == 2000.0
    assert "CUDA context" not in parts  # 526 MiB were used at the start, and others hold more than that
    assert sum(p.bytes for p in memory.parts) == memory.total_bytes


def test_a_driver_that_tells_nothing_leaves_the_servers_own_parts() -> None:
    memory = on_device(served(None, *buffers(PLAIN)))
    assert memory.process_bytes is None
    assert memory.explained is None
    assert {p.name for p in memory.parts} == {"target weights", "target KV", "compute buffers"}


def test_parts_told_too_large_are_not_hidden() -> None:
    memory = on_device(served(5000.0, AT_START, *buffers(PLAIN)))
    assert part(memory, "unexplained").bytes < 0
    assert memory.explained is not None
    assert memory.explained > 1


def test_later_reservations_replace_earlier_ones() -> None:
    more = buffers([("CUDA0", "compute", 188.01, "target")])
    assert mib(on_device(served(9750.0, AT_START, *buffers(PLAIN), *more)))["compute buffers"] == 188.01


def test_a_server_without_a_device_has_only_a_host_map() -> None:
    rows = [("CPU", "model", 50.0, "target"), ("CPU", "KV", 16.0, "target"), ("CPU", "compute", 4.0, "target")]
    target = b.seen(b.found(pid=PID), *buffers(rows), ev.ProcessSampled(at=b.T0, rss_bytes=100 * MIB))
    assert target.memory.device is None
    assert target.memory.host is not None
    assert mib(target.memory.host) == {
        "target weights": 50.0,
        "target KV": 16.0,
        "compute buffers": 4.0,
        "unexplained": 30.0,
    }


def test_nothing_known_is_no_map() -> None:
    memory = b.seen(b.found()).memory
    assert (memory.device, memory.host, memory.growth, memory.at_full) == (None, None, None, None)
    assert memory.kv.bytes_per_token is None
    assert memory.kv.unknown_why


# --- by arithmetic -------------------------------------------------------------------------------------------------

HPARAMS = {
    "block_count": 32,
    "embedding_length": 4096,
    "attention.head_count": 32,
    "attention.head_count_kv": 8,
    "attention.key_length": 128,
    "attention.value_length": 128,
    "context_length": 131_072,
}
LAYERS = [120 * MIB] * 32
MODEL = b.model(
    arch="llama",
    n_layer=32,
    n_embd=4096,
    n_ctx_train=131_072,
    hparams=HPARAMS,
    input_bytes=108 * MIB,
    output_bytes=13 * MIB,
    tied=False,
    layer_bytes=LAYERS,
    layer_expert_bytes=[0] * 32,
)


def test_header_and_flags_tell_weights_and_cache_and_how_much_of_it_is_filled() -> None:
    process = b.process("-m t.gguf -c 40960 -np 1 -ngl 99")
    target = served(9722.0, process, MODEL, b.props(n_ctx=40_960, total_slots=1), fill=4096)
    memory, kv = on_device(target), target.memory.kv
    weights, cache = part(memory, "target weights"), part(memory, "target KV")
    assert (weights.bytes, weights.source) == ((32 * 120 + 13) * MIB, "computed")
    assert (cache.bytes, cache.source) == (5120 * MIB, "computed")
    assert cache.filled_bytes == 512 * MIB
    assert kv.bytes_per_token == 2 * 32 * 1024 * 2
    assert (kv.reserved_bytes, kv.filled_bytes) == (5120 * MIB, 512 * MIB)
    assert (kv.fill_tokens, kv.fill_max_tokens, kv.context_tokens, kv.cells) == (4096, 4096, 40_960, 40_960)


def test_the_log_goes_before_arithmetic_and_their_difference_is_said() -> None:
    process = b.process("-m t.gguf -c 40960 -np 1 -ngl 99 --cache-type-k q8_0 --cache-type-v q8_0")
    memory = on_device(served(9722.0, process, MODEL, b.props(n_ctx=40_960, total_slots=1), *buffers(PLAIN)))
    cache = part(memory, "target KV")
    assert (cache.bytes, cache.source) == (5120 * MIB, "log")
    assert "2,720 MiB" in cache.basis


def test_an_unknown_architecture_is_unknown() -> None:
    strange = ev.ModelRead(at=b.T0, role="target", path="/m.gguf", arch="nobody-knows", hparams=HPARAMS)
    target = served(9722.0, b.process("-m t.gguf -c 40960 -np 1"), strange)
    assert target.memory.kv.bytes_per_token is None
    assert "nobody-knows" in target.memory.kv.unknown_why
    assert {"target weights", "target KV"} <= set(on_device(target).missing)


# --- growth --------------------------------------------------------------------------------------------------------


def test_growth_with_fill_and_what_a_full_context_would_take() -> None:
    facts: list[ev.Event] = [
        b.found(pid=PID),
        b.server("ready"),
        b.gpu(minor=0, memory_bytes=24_000 * MIB),
        b.idle(0.5, n_ctx=40_960, fill_tokens=0),
    ]
    for i in range(32):
        facts.append(b.idle(1.0 + i, n_ctx=40_960, fill_tokens=1000 * i))
        held = (12_035 + round(10 * i / 31)) * MIB
        facts.append(b.gpu_memory(1.5 + i, held + DRIVER * MIB, pids=[(PID, held)], free_bytes=8000 * MIB))
    memory = b.seen(*facts).memory
    growth, full = memory.growth, memory.at_full
    assert growth is not None
    assert (growth.bytes, growth.own, len(growth.samples)) == (10 * MIB, True, 32)
    assert (growth.first.fill_tokens, growth.latest.fill_tokens) == (0, 31_000)
    assert full is not None
    assert full.bytes == pytest.approx((12_035 + 10 * 40_960 / 31_000) * MIB, abs=MIB)
    assert full.fits
    assert "from 16,000 to 31,000 tokens" in full.basis


def test_what_the_first_requests_take_is_not_carried_on() -> None:
    facts: list[ev.Event] = [b.found(pid=PID), b.server("ready"), b.gpu(minor=0, memory_bytes=24_000 * MIB)]
    for i in range(20):
        held = (10_000 + (60 if i > 2 else 0)) * MIB
        facts.append(b.idle(1.0 + i, n_ctx=40_960, fill_tokens=500 * i))
        facts.append(b.gpu_memory(1.5 + i, held, pids=[(PID, held)], free_bytes=8000 * MIB))
    full = b.seen(*facts).memory.at_full
    assert full is not None
    assert full.bytes == 10_060 * MIB


def test_before_anything_filled_a_full_context_rests_on_what_was_reserved() -> None:
    full = served(9722.0, AT_START, *buffers(PLAIN), fill=12).memory.at_full
    assert full is not None
    assert full.bytes == 9722 * MIB
    assert "not seen yet" in full.basis


def test_samples_are_thinned_out_and_the_extremes_kept() -> None:
    facts: list[ev.Event] = [b.found(pid=PID), b.server("ready"), b.gpu(minor=0)]
    held = [100 + (900 if i == 1234 else i % 7) for i in range(3000)]
    facts += [b.gpu_memory(1.0 + i, 9999, pids=[(PID, n)]) for i, n in enumerate(held)]
    growth = b.seen(*facts).memory.growth
    assert growth is not None
    assert len(growth.samples) <= 513
    assert growth.most.bytes == 1000
    assert (growth.first.bytes, growth.latest.bytes) == (held[0], held[-1])


def test_a_server_that_is_loading_is_not_measured_and_a_restart_begins_anew() -> None:
    facts: list[ev.Event] = [
        b.found(pid=PID),
        b.started("1"),
        b.gpu(minor=0),
        b.server("loading"),
        b.gpu_memory(1.0, 9999, pids=[(PID, 10)]),
        b.server("ready", at=1.5),
        b.gpu_memory(2.0, 9999, pids=[(PID, 500)]),
    ]
    before = b.seen(*facts).memory.growth
    assert before is not None
    assert before.first.bytes == 500
    assert b.seen(*facts, b.started("2", at=3.0)).memory.growth is None


# --- what must not be said -------------------------------------------------------------------------------------------


def test_where_the_servers_own_process_is_not_listed_nothing_is_counted_twice() -> None:
    listed = b.gpu_memory(1.0, 20_480 * MIB, pids=[(77, 9216 * MIB)], free_bytes=60_000 * MIB)
    memory = on_device(
        b.seen(
            b.found(pid=PID),
            b.gpu(minor=0, memory_bytes=80_480 * MIB),
            ev.ProcessSampled(at=b.T0, gpu_minors=[0]),
            *buffers(PLAIN),
            listed,
        )
    )
    assert memory.process_bytes is None
    assert {"other processes", "driver reserve"}.isdisjoint(p.name for p in memory.parts)
    assert sum(p.bytes for p in memory.parts) == memory.total_bytes


def test_what_others_held_when_the_server_started_is_no_cuda_context() -> None:
    start = {"CUDA0.name": "NVIDIA H200", "CUDA0.total_mib": "143155", "CUDA0.free_mib": "112235"}
    memory = on_device(served(9722.0, b.said("device_total", **start), *buffers(PLAIN)))
    assert "CUDA context" not in mib(memory)
    assert "CUDA context" in memory.missing
    assert part(memory, "unexplained").bytes > 0


@pytest.mark.parametrize(
    ("line", "context"),
    [("-m t.gguf -c 4096", 4096), ("-m t.gguf -c 4096 -np 4 -kvu", 4096), ("-m t.gguf -c 16384 -np 4", 16_384)],
)
def test_slots_that_share_a_cache_hold_together_what_one_of_them_can(line: str, context: int) -> None:
    slots = [b.idle(0.5, slot=i, task=None, n_ctx=4096) for i in range(4)]
    target = b.seen(b.found(), b.process(line), b.props(n_ctx=4096, total_slots=4), *slots)
    assert target.memory.kv.context_tokens == context
    told = b.said("n_slots", n_slots="4", n_ctx_slot="4096", kv_unified="true")
    assert b.seen(b.found(), told, *slots).memory.kv.context_tokens == 4096
    assert b.seen(b.found(), *slots).memory.kv.context_tokens is None


def test_with_several_devices_it_is_not_said_that_growth_fits() -> None:
    facts: list[ev.Event] = [b.found(pid=PID), b.server("ready"), b.gpu(0, minor=0), b.gpu(1, minor=1)]
    for i in range(30):
        facts.append(b.idle(1.0 + i, n_ctx=100_000, fill_tokens=1000 * i))
        for index, held in ((0, 20_000 + 20 * i), (1, 8000)):
            facts.append(
                b.gpu_memory(
                    1.5 + i, held * MIB, index=index, pids=[(PID, held * MIB)], free_bytes=(20 if index else 1) * MIB
                )
            )
    full = b.seen(*facts).memory.at_full
    assert full is not None
    assert full.bytes > (20_000 + 20 * 29 + 8000) * MIB
    assert full.fits is None


def test_growth_begins_when_all_devices_are_read() -> None:
    facts = [b.found(pid=PID), b.server("ready"), b.gpu(0, minor=0), b.gpu(1, minor=1)]
    facts += [b.gpu_memory(1.0, index=0, pids=[(PID, 5000 * MIB)])]
    facts += [b.gpu_memory(1.0 + i, index=1, pids=[(PID, 10_240 * MIB)]) for i in range(3)]
    growth = b.seen(*facts).memory.growth
    assert growth is not None
    assert growth.bytes == 0


def test_a_sleeping_server_has_no_parts() -> None:
    facts = [AT_START, *buffers(PLAIN), b.said("sleeping"), b.server("sleeping", at=0.9)]
    assert mib(on_device(served(600.0, MODEL, b.process("-m t.gguf -c 40960 -np 1 -ngl 99"), *facts))) == {
        "CUDA context": 526.0,
        "unexplained": 74.0,
        "driver reserve": 615.0,
        "free": 142_556.0,
    }


def test_a_slot_that_never_had_a_task_holds_nothing() -> None:
    unused = b.idle(0.4, slot=1, task=None, n_ctx=40_960)
    target = served(9722.0, b.process("-m t.gguf -c 81920 -np 2 -ngl 99"), MODEL, unused, fill=4096)
    assert target.memory.kv.filled_bytes == 512 * MIB


def test_a_model_without_a_trained_context_is_no_mistake_of_ours() -> None:
    bare = ev.ModelRead(at=b.T0, role="target", path="/m.gguf", arch="llama", n_layer=32, hparams=HPARAMS)
    target = b.seen(b.found(), b.process("-m m.gguf -c 4096 -np 1"), bare)
    assert target.memory.kv.bytes_per_token == 2 * 32 * 1024 * 2
