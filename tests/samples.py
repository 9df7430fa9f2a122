"""One fact of every kind with every field set, and a strategy for any fact at all."""

from __future__ import annotations

from typing import Final

import builders as b
from hypothesis import strategies as st

from specscope import events as ev

_AT: Final = b.T0 + 1.25

EVERY_KIND: Final[tuple[ev.Event, ...]] = (
    ev.TargetFound(at=_AT, target="t1", url="http://127.0.0.1:8080", pid=4242, kind="xllamacpp", how="process"),
    ev.SourceAttached(at=_AT, target="t1", source="log", tier="cycles", detail="/var/log/l.log", hint="more"),
    ev.SourceLost(at=_AT, target="t1", source="log", reason="gone", hint="look"),
    ev.EventsMissed(at=_AT, target="t1", source="log", count=3, reason="too long"),
    ev.OwnCostSampled(at=_AT, target="t1", cpu_pct=0.8, rss_bytes=61_000_000, requests_per_s=3.2),
    ev.Marked(at=_AT, target="t1", label="prose — Übung"),
    ev.WatchEnded(at=_AT, target="t1"),
    ev.ServerChanged(at=_AT, target="t1", state="loading", detail="503"),
    ev.ServerStarted(at=_AT, target="t1", token="17", by="http"),  # noqa: S106  an identity, not a secret
    ev.PropsRead(
        at=_AT,
        target="t1",
        build="b11434",
        kind="ik_llama",
        model_path="/models/m.gguf",
        model_alias="m",
        n_ctx=4096,
        total_slots=2,
        defaults={"min_p": 0.05, "samplers": ["top_k"]},
        endpoint_slots=True,
        endpoint_metrics=False,
        sleeping=False,
        vision=True,
    ),
    ev.SlotChanged(
        at=_AT,
        target="t1",
        slot=1,
        n_ctx=4096,
        speculative=True,
        busy=True,
        task=7,
        fill_tokens=112,
        processed_tokens=100,
        cached_tokens=12,
        decoded=1,
        held_ms=12.5,
        params={"temperature": 1.0},
    ),
    ev.SlotStepped(at=_AT, target="t1", slot=1, task=7, decoded=8, fill_tokens=120, held_ms=4.5),
    ev.PollSampled(at=_AT, target="t1", polls=120, steps=99, cycle_ms=10.2),
    ev.CountersRead(
        at=_AT,
        target="t1",
        idle=True,
        drafts=13,
        drafted=97,
        accepted=94,
        accepted_per_position=[13, 12, 11],
        generated=120,
        prompt=18,
        cached=3,
        decodes=26,
        generated_s=0.8,
        prompt_s=0.04,
        tokens_max=137,
    ),
    ev.RequestLaunched(at=_AT, target="t1", slot=1, task=7),
    ev.CycleLogged(at=_AT, target="t1", slot=1, task=7, drafted=15, accepted=5, restored=True, stamp_us=10_442_676),
    ev.RequestProgressed(at=_AT, target="t1", slot=1, task=7, decoded=131, tok_s=43.07),
    ev.RequestLogged(
        at=_AT,
        target="t1",
        slot=1,
        task=7,
        prompt_tokens=18,
        prompt_ms=37.64,
        generated=120,
        generated_ms=814.11,
        drafted=97,
        accepted=94,
        mean_len=8.23,
    ),
    ev.SlotReleased(at=_AT, target="t1", slot=1, task=7, fill_tokens=137, truncated=False),
    ev.StatisticsLogged(
        at=_AT,
        target="t1",
        method="ngram-mod",
        drafts=13,
        drafts_accepted=12,
        drafted=97,
        accepted=94,
        begin_ms=0.1,
        generate_ms=2.5,
        accept_ms=0.2,
        calls=14,
        verified=12,
    ),
    ev.LogSaid(at=_AT, target="t1", code="build", fields={"number": "11434"}),
    ev.BufferLogged(at=_AT, target="t1", device="CUDA0", kind="KV", bytes=5120 << 20, model="target"),
    ev.StreamStepped(at=_AT, target="t1", request="r1", slot=1, generated=8, generated_ms=51.0, drafted=8, accepted=5),
    ev.StreamEnded(
        at=_AT,
        target="t1",
        request="r1",
        slot=1,
        generated=120,
        generated_ms=814.1,
        prompt_tokens=18,
        prompt_ms=37.6,
        cached_tokens=0,
        drafted=97,
        accepted=94,
        stop="limit",
        ttft_ms=41.5,
    ),
    ev.TraceStarted(
        at=_AT,
        target="t1",
        mode="auto",
        functions=["draft", "accept"],
        missing=["wait"],
        asynchronous=True,
        burst_s=0.25,
        burst_every_s=10.0,
    ),
    ev.RequestBegan(at=_AT, target="t1", slot=1),
    ev.CycleTraced(
        at=_AT, target="t1", slot=1, drafted=15, accepted=6, replayed=True, method="draft-dflash", given_up=True
    ),
    ev.DraftDropped(at=_AT, target="t1", slot=1, drafted=15),
    ev.TurnTraced(
        at=_AT,
        target="t1",
        whole_us=13_000,
        cycles=1,
        draft_us=3_400,
        draft_sampling_us=300,
        submit_us=500,
        wait_us=4_700,
        features_us=1_300,
        sampling_us=2_900,
        samples=7,
    ),
    ev.CopiesTraced(at=_AT, target="t1", span_s=1.0, turns=75, rows=[("target", 3_145_728, 75), ("drafter", 40, 2400)]),
    ev.StallsSampled(
        at=_AT,
        target="t1",
        span_s=0.25,
        cycles=17,
        wait_us=140_000,
        idle_us=80_000,
        waits=34,
        forwards=24,
        samples=140,
        sampling_us=17_000,
        draft_sampling_us=47_000,
        submits=51,
        spans=[("submit", 10, 500), ("wait", 510, 6_600)],
    ),
    ev.StacksSampled(
        at=_AT, target="t1", span_s=2.0, samples=200, frames=[("serve (app.py:7)", 180)], threads=["worker"]
    ),
    ev.ModelRead(
        at=_AT,
        target="t1",
        role="drafter",
        path="/models/d.gguf",
        arch="dflash",
        name="d",
        file_bytes=1 << 31,
        n_vocab=49_152,
        n_embd=1024,
        n_layer=5,
        n_ctx_train=32_768,
        block_size=16,
        nextn_layers=1,
        tensor_types={"Q4_0": 40, "F32": 12},
        sampling={"min_p": 0.0},
        has_markov_head=False,
        hparams={"block_count": 5, "attention.head_count_kv": [8, 8, 0, 8, 8], "rope.freq_base": 1e6},
        input_bytes=1 << 27,
        embedding_bytes=1 << 26,
        output_bytes=1 << 25,
        tied=True,
        layer_bytes=[1 << 28] * 5,
        layer_expert_bytes=[0] * 5,
    ),
    ev.ProcessSeen(
        at=_AT,
        target="t1",
        pid=4242,
        argv=["llama-server", "-m", "m.gguf"],
        env={"LLAMA_TRACE": "1"},
        exe="/usr/bin/llama-server",
        started=1_779_999_000.5,
        host="python",
    ),
    ev.ProcessSampled(
        at=_AT,
        target="t1",
        cpu_pct=140.0,
        rss_bytes=1 << 33,
        threads=[("main", 98.5)],
        gpu_minors=[1],
        accelerated=True,
    ),
    ev.GpuFound(
        at=_AT,
        target=ev.MACHINE,
        index=1,
        uuid="GPU-1",
        name="NVIDIA H200",
        bus_id="00000000:19:00.0",
        minor=1,
        driver="580.1",
        memory_bytes=143_155 << 20,
        reserved_bytes=616 << 20,
        unified=False,
        power_limit_w=650.0,
        power_default_w=700.0,
        power_max_w=700.0,
        sm_clock_max_mhz=1980,
        memory_clock_max_mhz=3201,
        memory_bus_bits=6144,
        slowdown_c=92,
        max_c=87,
        link_gen_max=5,
        link_width_max=16,
        mig=False,
        virtual="passthrough",
        compute="9.0",
    ),
    ev.GpuSampled(
        at=_AT,
        target=ev.MACHINE,
        index=1,
        power_w=313.7,
        instant=True,
        sm_clock_mhz=1980,
        busy_pct=87,
        memory_busy_pct=32,
        reasons=4,
    ),
    ev.GpuMemoryRead(
        at=_AT,
        target=ev.MACHINE,
        index=1,
        used_bytes=10_345 << 20,
        free_bytes=132_810 << 20,
        processes=[(4242, 9722 << 20), (77, None)],
        temperature_c=45,
        memory_clock_mhz=3201,
    ),
    ev.GpuLinkRead(
        at=_AT,
        target=ev.MACHINE,
        index=1,
        energy_j=123_456.7,
        to_host_bytes_per_s=67_648_000,
        to_device_bytes_per_s=21_974_000,
        link_gen=5,
        link_width=16,
    ),
    ev.GpuLost(at=_AT, target=ev.MACHINE, index=1, reason="fallen off the bus"),
)

# --- any fact -------------------------------------------------------------------------------------------------------

_TIME = st.integers(0, 400).map(lambda n: b.T0 + n / 100)
_SLOT, _TASK, _COUNT = st.integers(0, 2), st.integers(1, 4), st.integers(0, 300)
_NAME = st.sampled_from(["log", "slots", "http", "trace"])
_WHO = {"slot": _SLOT, "task": _TASK}


def maybe(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(st.none(), values)


def _build(kind: type[ev.Fact], **fields: st.SearchStrategy[object]) -> st.SearchStrategy[ev.Event]:
    return st.builds(kind, at=_TIME, **fields)


_COUNTS = {name: maybe(_COUNT) for name in ("drafts", "drafted", "accepted", "generated", "prompt")}
_TOTALS = {name: maybe(_COUNT) for name in ("drafted", "accepted")}
_STREAM = {"request": st.sampled_from(["r1", "r2"]), "slot": maybe(st.integers(-1, 2))}
_SHORT = maybe(st.integers(0, 50_000))
_PARTS = ("draft_us", "draft_sampling_us", "submit_us", "wait_us", "features_us", "sampling_us")
_ROWS = st.lists(
    st.tuples(st.sampled_from(["target", "drafter"]), st.sampled_from([4, 40, 196_608, 262_144]), _COUNT), max_size=4
)
_CODES = st.sampled_from(["build", "verbosity", "env_overridden", "spec_type_detected", "request_cancelled"])

ANY_FACT: Final[st.SearchStrategy[ev.Event]] = st.one_of(
    _build(ev.CycleLogged, **_WHO, drafted=st.integers(1, 16), accepted=st.integers(0, 16), restored=st.booleans()),
    _build(ev.SlotStepped, **_WHO, decoded=_COUNT, fill_tokens=maybe(_COUNT), held_ms=maybe(st.floats(0, 50))),
    _build(
        ev.SlotChanged,
        slot=_SLOT,
        task=maybe(_TASK),
        busy=maybe(st.booleans()),
        speculative=maybe(st.booleans()),
        decoded=maybe(_COUNT),
        fill_tokens=maybe(_COUNT),
    ),
    _build(ev.RequestLaunched, **_WHO),
    _build(ev.RequestLogged, **_WHO, generated=maybe(_COUNT), **_TOTALS),
    _build(ev.SlotReleased, **_WHO),
    _build(ev.StreamStepped, **_STREAM, generated=_COUNT, **_TOTALS),
    _build(ev.StreamEnded, **_STREAM, generated=maybe(_COUNT), **_TOTALS),
    _build(ev.RequestBegan, slot=_SLOT),
    _build(ev.CycleTraced, slot=_SLOT, drafted=st.integers(1, 16), accepted=st.integers(0, 16)),
    _build(ev.DraftDropped, slot=_SLOT, drafted=st.integers(1, 16)),
    _build(
        ev.TurnTraced,
        whole_us=st.integers(0, 50_000),
        cycles=st.integers(0, 2),
        samples=_SHORT,
        **dict.fromkeys(_PARTS, _SHORT),
    ),
    _build(ev.TraceStarted, mode=st.sampled_from(["cheap", "auto", "full"]), asynchronous=maybe(st.booleans())),
    _build(ev.CopiesTraced, span_s=st.floats(0, 2), turns=_COUNT, rows=_ROWS),
    _build(
        ev.StallsSampled,
        span_s=st.floats(0, 1),
        cycles=_COUNT,
        wait_us=st.integers(0, 10**6),
        idle_us=st.integers(0, 10**6),
        waits=_COUNT,
        submits=_COUNT,
    ),
    _build(ev.CountersRead, idle=st.booleans(), **_COUNTS),
    _build(ev.SourceAttached, source=_NAME, tier=st.sampled_from(ev.TIERS)),
    _build(ev.SourceLost, source=_NAME, reason=st.just("gone")),
    _build(ev.EventsMissed, source=_NAME, count=st.integers(1, 3)),
    _build(ev.ServerChanged, state=st.sampled_from(["ready", "down", "loading"])),
    _build(ev.ServerStarted, token=st.sampled_from(["1", "2"]), by=st.sampled_from(["http", "process"])),
    _build(ev.LogSaid, code=_CODES, fields=st.fixed_dictionaries({"task": st.sampled_from(["1", "2"])})),
    st.sampled_from(EVERY_KIND),
)
