"""The trace file: what Perfetto and chrome://tracing ask of it, kept to the letter."""

from __future__ import annotations

import json
from typing import Any

import builders as b
from hypothesis import given
from hypothesis import strategies as st

from specscope import events as ev
from specscope.reports.perfetto import encode_trace, trace_events

H200 = {
    "draft_us": 3_400,
    "draft_sampling_us": 300,
    "submit_us": 500,
    "wait_us": 4_700,
    "features_us": 1_300,
    "sampling_us": 2_900,
    "samples": 7,
}
KEYS = {
    "M": {"name", "ph", "ts", "pid", "tid", "args"},
    "X": {"name", "ph", "ts", "pid", "tid", "dur", "args"},
    "C": {"name", "ph", "ts", "pid", "tid", "args"},
    "i": {"name", "ph", "ts", "pid", "tid", "s"},
}
"""The fields of each kind of event; ``args`` of a slice may be absent."""

Record = dict[str, Any]


def written(*facts: ev.Event, name: str = "http://127.0.0.1:8080") -> list[Record]:
    """The events as a program reads them, found to be valid."""
    text = json.loads(encode_trace(trace_events(facts, name)))
    assert set(text) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert text["displayTimeUnit"] in ("ms", "ns")
    events: list[Record] = text["traceEvents"]
    valid(events)
    return events


def valid(events: list[Record]) -> None:
    """The Trace Event Format: known kinds with their fields, whole non-negative times, slices nested or apart."""
    for event in events:
        kind = event["ph"]
        assert set(event) <= KEYS[kind]
        assert set(event) >= KEYS[kind] - ({"args"} if kind == "X" else set())
        assert isinstance(event["name"], str)
        assert event["name"]
        times = [event["ts"], event["pid"], event["tid"], event.get("dur", 0)]
        assert all(isinstance(t, int) and t >= 0 for t in times)
        if kind == "C":
            assert event["args"]
            assert all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in event["args"].values())
        if kind == "i":
            assert event["s"] == "t"
    kinds = [e["ph"] for e in events]
    metadata = kinds.count("M")
    assert kinds[:metadata] == ["M"] * metadata
    stamps = [e["ts"] for e in events[metadata:]]
    assert stamps == sorted(stamps)
    assert not stamps or stamps[0] == 0
    for tid in {e["tid"] for e in events if e["ph"] == "X"}:
        nested([e for e in events if e["ph"] == "X" and e["tid"] == tid])


def nested(slices: list[Record]) -> None:
    """In the order of the file each slice lies within the open ones or after them."""
    open_until: list[int] = []
    for event in slices:
        begin, end = event["ts"], event["ts"] + event["dur"]
        while open_until and open_until[-1] <= begin:
            open_until.pop()
        assert not open_until or end <= open_until[-1]
        open_until.append(end)


def slices(events: list[Record], track: str) -> list[tuple[str, int, int]]:
    """(name, begin, duration) of a track by its name."""
    tids = {e["tid"] for e in events if e["name"] == "thread_name" and e["args"]["name"] == track}
    return [(e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X" and e["tid"] in tids]


def counters(events: list[Record], name: str) -> list[tuple[int, dict[str, float]]]:
    return [(e["ts"], e["args"]) for e in events if e["ph"] == "C" and e["name"] == name]


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_a_turn_with_its_parts_in_order() -> None:
    events = written(b.turn(1.013, 13_000, **H200), b.turn(1.026, 13_000, **H200))
    loop = slices(events, "loop")
    assert loop[:7] == [
        ("turn", 0, 13_000),
        ("draft", 0, 3_400),
        ("submit", 3_400, 500),
        ("verify", 3_900, 4_700),
        ("features", 8_600, 1_300),
        ("sampling", 9_900, 2_900),
        ("other", 12_800, 200),
    ]
    assert loop[7] == ("turn", 13_000, 13_000)
    (turn, draft) = [e for e in events if e["ph"] == "X"][:2]
    assert turn["args"] == {"cycles": 1, "samples": 7}
    assert draft["args"] == {"sampling_us": 300}


def test_what_was_not_probed_has_no_slice() -> None:
    plain = b.turn(1.01, 10_000, cycles=0, submit_us=2_000, draft_us=0)
    assert slices(written(plain), "loop") == [
        ("step without a draft", 0, 10_000),
        ("submit", 0, 2_000),
        ("other", 2_000, 8_000),
    ]


def test_turns_whose_stamps_overlap_are_cut() -> None:
    loop = slices(written(b.turn(1.010, 10_000, draft_us=9_000), b.turn(1.015, 10_000, draft_us=8_000)), "loop")
    assert loop == [
        ("turn", 0, 10_000),
        ("draft", 0, 9_000),
        ("other", 9_000, 1_000),
        ("turn", 10_000, 5_000),
        ("draft", 10_000, 5_000),
    ]


def test_cycles_of_each_slot_within_their_turns() -> None:
    turns = [b.turn(1.010, 10_000), b.turn(1.020, 10_000)]
    cycles = [b.traced(1.009, 15, 6), b.traced(1.0095, 15, 2, slot=1), b.traced(1.019, 12, 12)]
    events = written(*cycles, *turns, b.began(1.0005), b.began(1.0007, slot=1))
    assert slices(events, "slot 0") == [("6 of 15", 500, 8_500), ("12 of 12", 10_000, 9_000)]
    assert slices(events, "slot 1") == [("2 of 15", 700, 8_800)]
    assert counters(events, "accepted, slot 0") == [(500, {"tokens": 6}), (10_000, {"tokens": 12})]
    assert counters(events, "accepted, slot 1") == [(700, {"tokens": 2})]
    begins = [(e["ts"], e["tid"]) for e in events if e["ph"] == "i"]
    assert [ts for ts, _ in begins] == [500, 700]
    (first, *_) = [e for e in events if e["name"] == "6 of 15"]
    assert first["args"] == {"drafted": 15, "accepted": 6}


def test_a_cycle_says_its_method_and_that_it_was_replayed() -> None:
    events = written(b.began(1.0), b.traced(1.1, 8, 3, method="ngram-mod", replayed=True))
    (cycle,) = [e for e in events if e["ph"] == "X"]
    assert cycle["args"] == {"drafted": 8, "accepted": 3, "method": "ngram-mod", "replayed": True}


def test_cycles_without_turns_reach_back_to_the_one_before_but_not_over_a_pause() -> None:
    events = written(b.began(1.0), b.traced(1.02, 15, 1), b.traced(1.05, 15, 2), b.traced(9.0, 15, 3))
    assert slices(events, "slot 0") == [("1 of 15", 0, 20_000), ("2 of 15", 20_000, 30_000), ("3 of 15", 8_000_000, 0)]


def test_bursts_with_their_waits_and_submits() -> None:
    burst = ev.StallsSampled(
        at=b.T0 + 2,
        span_s=0.5,
        cycles=38,
        wait_us=300_000,
        idle_us=150_000,
        waits=80,
        submits=76,
        spans=[("submit", 100, 500), ("wait", 600, 6_600), ("submit", 7_300, 400), ("wait", 499_000, 5_000)],
    )
    events = written(burst)
    assert slices(events, "bursts") == [("burst", 0, 500_000)]
    assert slices(events, "submits") == [("submit", 100, 500), ("submit", 7_300, 400)]
    assert slices(events, "waits for the device") == [("wait", 600, 6_600), ("wait", 499_000, 1_000)]
    (whole,) = [e for e in events if e["name"] == "burst"]
    assert whole["args"] == {"cycles": 38, "wait_us": 300_000, "idle_us": 150_000}


def test_copies_are_counted_over_the_time_that_they_are_of() -> None:
    rows = [("target", 3_145_728, 75), ("target", 262_144, 375), ("drafter", 40, 2_400)]
    events = written(
        b.copies(2.0, rows, turns=75), b.copies(3.0, [("target", 4, 9)], turns=3), b.copies(4.0, rows, turns=0)
    )
    assert counters(events, "bytes to the host per turn") == [
        (0, {"target": 3_145_728.0 + 5 * 262_144, "drafter": 1280.0}),
        (1_000_000, {"target": 12.0, "drafter": 0.0}),
    ]


def test_tracks_are_named_and_in_order() -> None:
    events = written(b.turn(1.0), b.traced(1.0, slot=3), b.stalls(2.0, 0.5, 0.2), name="my server")
    named = [(e["tid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"]
    assert [n for _, n in named] == ["loop", "bursts", "slot 3"]
    orders = [e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"]
    assert orders == sorted(orders)
    assert events[0]["args"] == {"name": "my server"}
    assert len({e["pid"] for e in events}) == 1
    assert all(e["tid"] != e["pid"] for e in events)


def test_a_gpus_readings_are_counters_and_what_was_not_read_has_none() -> None:
    events = trace_events([b.turn(1.0), b.gpu_now(0.99, 313.7, busy_pct=87), b.gpu_now(1.1, sm_clock_mhz=1980)])
    counters = [(e.name, e.args) for e in events if e.ph == "C"]
    assert counters == [
        ("GPU 0 power, W", {"value": 313.7}),
        ("GPU 0 busy, %", {"value": 87}),
        ("GPU 0 SM clock, MHz", {"value": 1980}),
    ]


def test_gpus_alone_are_no_trace() -> None:
    assert [e for e in trace_events([b.gpu_now(1.0, 300.0)]) if e.ph != "M"] == []


def test_other_facts_are_passed_over_and_nothing_is_an_empty_trace() -> None:
    assert [e["ph"] for e in written(b.found(), b.cycle(1.0), b.counters(1.0, 1, 2, 3))] == ["M"]
    assert [e["ph"] for e in written()] == ["M"]


def test_facts_in_any_order_give_the_same_trace() -> None:
    facts = [b.turn(1.010, 10_000, **H200), b.traced(1.009), b.turn(1.020, 10_000, **H200), b.traced(1.019)]
    assert written(*facts) == written(*reversed(facts))


# --- any facts -------------------------------------------------------------------------------------------------------

AT = st.integers(0, 300).map(lambda n: n / 100)
US = st.one_of(st.none(), st.integers(0, 30_000))
SLOT = st.integers(0, 2)
SPANS = st.lists(
    st.tuples(st.sampled_from(["wait", "submit"]), st.integers(0, 300_000), st.integers(0, 90_000)), max_size=8
)
FACTS = st.lists(
    st.one_of(
        st.builds(
            b.turn,
            AT,
            st.integers(0, 60_000),
            cycles=st.integers(0, 2),
            draft_us=US,
            submit_us=US,
            wait_us=US,
            features_us=US,
            sampling_us=US,
        ),
        st.builds(b.traced, AT, st.integers(1, 16), st.integers(0, 16), slot=SLOT),
        st.builds(b.began, AT, slot=SLOT),
        st.builds(
            lambda at, spans: ev.StallsSampled(
                at=b.T0 + at, span_s=0.25, cycles=3, wait_us=9, idle_us=9, waits=3, submits=3, spans=spans
            ),
            AT,
            SPANS,
        ),
        st.builds(b.copies, AT, st.just([("target", 40, 7)]), turns=st.integers(0, 9)),
    ),
    max_size=40,
)


@given(FACTS)
def test_any_facts_make_a_valid_trace(facts: list[ev.Event]) -> None:
    events = written(*facts)
    assert sum(e["ph"] == "i" for e in events) == sum(isinstance(f, ev.RequestBegan) for f in facts)
    turns = [e for e in events if e["name"] in ("turn", "step without a draft")]
    assert len(turns) == sum(isinstance(f, ev.TurnTraced) for f in facts)
