"""The helper's lines, line by line: what each one tells, and what garbage leaves standing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specscope import events as ev
from specscope.sources.trace import lines as trace_lines
from specscope.sources.trace.lines import BURST_EVERY_S, BURST_S, DROP_S, DROP_TURNS, TraceLines

if TYPE_CHECKING:
    from specscope.sources.trace.lines import Mode

BOOT = 1_000_000.0
"""The time of a stamp of 0."""

NOW = BOOT + 500
MS = 1_000_000
METHOD, ELSEWHERE = 0x7F00DF1A, 0x7F00AAAA
FUNCTIONS = ["begin", "draft", "method", "features", "accept", "forward", "restore"]

ARMED: dict[str, Any] = {
    "armed": FUNCTIONS,
    "missing": [],
    "widths": True,
    "methods": {str(METHOD): "draft-dflash"},
    "asynchronous": False,
    "explicit_wait": True,
    "dear": ["wait", "submit", "copy"],
    "filtered": True,
    "addresses": [METHOD],
}

BURST: dict[str, Any] = {
    "burst": [2_000 * MS, 2_300 * MS],
    "waits": 12,
    "wait_ns": 45_678_901,
    "submits": 7,
    "idle_ns": 1_234_567,
    "lost": 0,
    "forwards": 6,
    "samples": 30,
    "sampling_ns": 2_000_999,
    "draft_sampling_ns": 999,
    "copies": [["drafter", 40, 192], ["target", 19_200, 6]],
    "apart": [[78_848, 16]],
    "spans": [["wait", 1_500, 30_000], ["submit", 40_000, 25_999]],
}


def own(said: object) -> str:
    """One of the helper's own lines."""
    return "#" + json.dumps(said)


class Told:
    """What lines tell, one after the other."""

    def __init__(
        self, *, mode: Mode = "auto", armed: dict[str, Any] | None = None, in_use: tuple[str, ...] = ("draft-dflash",)
    ) -> None:
        self.lines = TraceLines("t3", mode, lambda seconds: BOOT + seconds, in_use)
        self.start = self.read(own(ARMED if armed is None else armed))

    def read(self, *lines: str, now: float = NOW) -> list[ev.Event]:
        return [fact for line in lines for fact in self.lines.read(line, now)]

    def settle(self, now: float) -> list[ev.Event]:
        return self.lines.settle(now)


def width(slot: int, number: int, address: int = METHOD) -> str:
    return f"W {slot} {number} {address}"


def accept(ms: float, slot: int, accepted: int) -> str:
    return f"A {round(ms * MS)} {slot} {accepted} 0 0"


def restore(ms: float, slot: int) -> str:
    return f"R {round(ms * MS)} {slot}"


def begin(ms: float, slot: int) -> str:
    return f"B {round(ms * MS)} {slot}"


def forward(start: float, end: float, thread: int = 77) -> str:
    return f"P {round(start * MS)} {round(end * MS)} 0 0 {thread}"


def cycle(ms: float, slot: int, drafted: int, accepted: int, **fields: object) -> ev.CycleTraced:
    given = {"method": "draft-dflash"} | fields
    return ev.CycleTraced(at=BOOT + ms / 1000, target="t3", slot=slot, drafted=drafted, accepted=accepted, **given)


def dropped(at: float, slot: int, drafted: int) -> ev.DraftDropped:
    return ev.DraftDropped(at=at, target="t3", slot=slot, drafted=drafted)


def missed(count: int, reason: str, at: float = NOW) -> ev.EventsMissed:
    return ev.EventsMissed(at=at, target="t3", source="trace", count=count, reason=reason)


# --- cycles -------------------------------------------------------------------------------------------------------


def test_a_method_that_borrows_an_implementation_goes_by_its_own_name() -> None:
    told = Told(in_use=("ngram-mod", "draft-dspark"))
    assert told.read(width(0, 8), accept(5, 0, 3)) == [cycle(5, 0, 8, 3, method="draft-dspark")]


def test_a_drafter_that_the_server_found_the_kind_of_is_one_or_the_other() -> None:
    told = Told(in_use=())
    assert told.read(width(0, 8), accept(5, 0, 3)) == [cycle(5, 0, 8, 3, method="draft-dflash or draft-dspark")]


def test_the_second_of_two_tables_that_share_an_implementation_is_told_apart() -> None:
    armed = ARMED | {"methods": {str(METHOD): "ngram-map-k"}}
    told = Told(armed=armed, in_use=("ngram-map-k", "ngram-map-k4v", "draft-dflash"))
    first, second = width(0, 12), f"W 1 9 {METHOD + 1}"
    assert told.read(first, second, accept(5, 0, 3), accept(6, 1, 4)) == [
        cycle(5, 0, 12, 3, method="ngram-map-k"),
        cycle(6, 1, 9, 4, method="ngram-map-k4v"),
    ]


def test_a_cycle_is_a_width_and_the_next_accept_of_its_slot() -> None:
    told = Told()
    assert told.read(width(0, 15), accept(20, 0, 7)) == [cycle(20, 0, 15, 7)]
    assert told.lines.cycles == 1


def test_slots_do_not_mix() -> None:
    told = Told()
    facts = told.read(width(1, 15), width(0, 4), accept(20, 0, 2), accept(20.5, 1, 9), width(0, 3), accept(30, 0, 0))
    assert facts == [cycle(20, 0, 4, 2), cycle(20.5, 1, 15, 9), cycle(30, 0, 3, 0)]


def test_an_accept_whose_draft_was_not_seen_is_no_cycle() -> None:
    told = Told()
    assert told.read(accept(20, 0, 7)) == []
    assert told.read(width(0, 15), accept(30, 0, 7), accept(31, 0, 3)) == [cycle(30, 0, 15, 7)]
    assert told.lines.cycles == 1


def test_a_method_at_an_unknown_address_has_no_name() -> None:
    assert Told().read(width(0, 5, ELSEWHERE), accept(20, 0, 1)) == [cycle(20, 0, 5, 1, method=None)]


def test_a_restored_slot_accepts_one_token_more_than_was_verified() -> None:
    told = Told()
    facts = told.read(width(0, 12), restore(15, 0), accept(20, 0, 5), width(0, 12), accept(30, 0, 12))
    assert facts == [cycle(20, 0, 12, 4, replayed=True), cycle(30, 0, 12, 12)]


def test_a_replay_never_accepts_less_than_nothing() -> None:
    assert Told().read(width(0, 12), restore(15, 0), accept(20, 0, 0)) == [cycle(20, 0, 12, 0, replayed=True)]


def test_a_restore_without_a_draft_under_way_or_of_another_slot_is_no_replay() -> None:
    told = Told()
    assert told.read(restore(1, 0), width(0, 12), accept(20, 0, 5)) == [cycle(20, 0, 12, 5)]
    assert told.read(width(0, 12), restore(25, 1), accept(30, 0, 5)) == [cycle(30, 0, 12, 5)]


def test_a_begin_is_a_fact_and_ends_a_draft_that_was_never_verified() -> None:
    told = Told()
    began = ev.RequestBegan(at=BOOT + 0.05, target="t3", slot=2)
    assert told.read(begin(50, 2)) == [began]
    facts = told.read(width(2, 15), width(1, 9), begin(50, 2), accept(60, 2, 5), accept(61, 1, 1))
    assert facts == [dropped(BOOT + 0.05, 2, 15), began, cycle(61, 1, 9, 1)]


def test_a_draft_after_a_draft_means_that_the_first_was_dropped() -> None:
    told = Told()
    told.read(width(0, 15), accept(20, 0, 7))
    facts = told.read(width(0, 11), width(0, 15), accept(40, 0, 2))
    assert facts == [dropped(BOOT + 0.02, 0, 11), cycle(40, 0, 15, 2)]


def test_a_draft_is_given_up_long_after_the_last_line_and_only_then() -> None:
    told = Told()
    told.read(width(0, 15), width(3, 4), now=NOW)
    patience = max(DROP_S, DROP_TURNS * told.lines.turn_s)
    assert told.settle(NOW + patience) == []
    later = NOW + patience + 0.1
    assert told.settle(later) == [dropped(later, 0, 15), dropped(later, 3, 4)]
    assert told.settle(later + 1) == []


def test_a_draft_that_was_given_up_too_early_is_taken_back_by_its_cycle() -> None:
    told = Told()
    told.read(width(0, 15))
    assert told.settle(NOW + 1000) == [dropped(NOW + 1000, 0, 15)]
    assert told.read(accept(60, 0, 5)) == [cycle(60, 0, 15, 5, given_up=True)]
    assert told.read(accept(61, 0, 5)) == []


def test_parts_that_do_not_fit_into_their_turn_are_no_turn() -> None:
    told = Told()
    told.read("D 1000000 9000000 0 0", forward(9, 12), "F 12000000 13000000", accept(14, 0, 3))
    # Told late and out of order: the next turn would begin before this one had drafted.
    facts = told.read("D 2000000 3000000 0 0", forward(3, 4))
    assert [f for f in facts if isinstance(f, ev.TurnTraced)] == []


# --- turns --------------------------------------------------------------------------------------------------------

TURN = [
    "D 0 2000000 0 0",
    "P 3000000 4000000 0 0 4711",
    "F 9000000 10000000",
    width(0, 15),
    accept(12, 0, 7),
]


def test_a_turn_is_told_when_the_next_one_has_begun() -> None:
    told = Told()
    (first,) = told.read(*TURN)
    assert first == cycle(12, 0, 15, 7)
    (turn,) = told.read("D 13000000 15000000 0 0", "P 15000000 16000000 0 0 4711")
    assert turn == ev.TurnTraced(
        at=BOOT + 0.013,
        target="t3",
        whole_us=13_000,
        cycles=1,
        draft_us=2_000,
        submit_us=1_000,
        wait_us=5_000,
        features_us=1_000,
        sampling_us=2_000,
    )
    assert told.lines.turn_s == pytest.approx(0.013)


def test_the_last_turn_is_told_when_nothing_has_followed_for_some_turns() -> None:
    told = Told()
    told.read(*TURN, now=NOW)
    quiet = trace_lines.QUIET_TURNS * told.lines.turn_s
    assert told.settle(NOW + quiet) == []
    (turn,) = told.settle(NOW + quiet + 0.01)
    assert isinstance(turn, ev.TurnTraced)
    assert turn.whole_us == 12_000


def test_a_sampled_token_of_a_plain_step() -> None:
    told = Told(armed=ARMED | {"armed": [*FUNCTIONS, "sample"]})
    facts = told.read("P 0 1000000 0 0 7", "S 5000000 5250000", "P 6000000 7000000 250000 1 7")
    (turn,) = facts
    assert isinstance(turn, ev.TurnTraced)
    assert (turn.cycles, turn.samples, turn.sampling_us, turn.wait_us, turn.draft_us) == (0, 1, 250, 4_000, 0)


def test_the_threads_that_run_the_loop_latest_last() -> None:
    told = Told()
    told.read(forward(0, 1, 7), forward(2, 3, 8), forward(4, 5, 7))
    assert list(told.lines.threads) == [8, 7]
    assert told.lines.forwards == 3


# --- the helper's own ---------------------------------------------------------------------------------------------


def test_what_is_armed() -> None:
    told = Told()
    assert told.start == [
        ev.TraceStarted(
            at=NOW,
            target="t3",
            mode="auto",
            functions=FUNCTIONS,
            missing=[],
            asynchronous=False,
            burst_s=BURST_S["auto"],
            burst_every_s=BURST_EVERY_S["auto"],
        )
    ]
    assert told.lines.widths is told.lines.bursts is True
    assert told.lines.missing == ()


@pytest.mark.parametrize(("mode", "dear"), [("cheap", ["wait"]), ("auto", []), ("full", [])])
def test_where_nothing_is_armed_in_bursts(mode: Mode, dear: list[str]) -> None:
    (started,) = Told(mode=mode, armed=ARMED | {"dear": dear, "missing": ["restore"], "widths": False}).start
    assert isinstance(started, ev.TraceStarted)
    assert (started.mode, started.burst_s, started.burst_every_s) == (mode, None, None)
    assert started.missing == ["restore"]


def test_ready_comes_from_bpftrace() -> None:
    told = Told()
    assert told.lines.ready is False
    assert told.read("WARNING: Addrspace is not set", "Attaching 18 probes...") == []
    assert told.lines.ready is False
    assert told.read("ready") == []
    assert told.lines.ready is True


def test_a_request_that_began_while_the_probes_were_being_armed_has_no_begin() -> None:
    """They are armed one by one, and nothing is printed before: its first drafts may have been made unseen."""
    told = Told()
    lines = [begin(499_950, 0), begin(499_990, 1), begin(500_010, 0)]
    (begun,) = told.read("ready", *lines)
    assert isinstance(begun, ev.RequestBegan)
    assert (begun.slot, begun.at) == (0, pytest.approx(NOW + 0.01))


def test_a_failure_is_kept() -> None:
    told = Told()
    assert told.read(own({"failed": "bpftrace is not installed"})) == []
    assert told.lines.failed == "bpftrace is not installed"


def test_bpftraces_last_word_is_kept_and_cut() -> None:
    told = Told()
    told.read("ERROR: Error setting RLIMIT_MEMLOCK: 1")
    assert told.lines.complaint == ""
    told.read("ERROR: Could not resolve symbol")
    assert told.lines.complaint == "ERROR: Could not resolve symbol"
    told.read("ERROR: " + "x" * 1000, "some other word")
    assert len(told.lines.complaint) == 200


def test_a_burst() -> None:
    told = Told()
    told.read(*(line for ms in (1_999, 2_000.5, 2_300, 2_300.5) for line in (width(0, 15), accept(ms, 0, 7))))
    copies, stalls = told.read(own(BURST))
    assert copies == ev.CopiesTraced(
        at=BOOT + 2.3,
        target="t3",
        span_s=0.3,
        turns=6,
        rows=[("drafter", 40, 192), ("target", 19_200, 6)],
        apart=[(78_848, 16)],
    )
    assert stalls == ev.StallsSampled(
        at=BOOT + 2.3,
        target="t3",
        span_s=0.3,
        cycles=2,
        wait_us=45_678,
        idle_us=1_234,
        waits=12,
        submits=7,
        spans=[("wait", 1, 30), ("submit", 40, 25)],
        forwards=6,
        samples=30,
        sampling_us=2_000,
        draft_sampling_us=0,
    )


def test_a_burst_without_copies_and_with_hits_that_found_no_room() -> None:
    first, second = Told().read(own(BURST | {"copies": [], "apart": None, "lost": 41}))
    assert first == missed(41, "the burst's ring was full", at=BOOT + 2.3)
    assert isinstance(second, ev.StallsSampled)


def test_copies_that_no_forward_makes_are_told_where_there_are_no_others() -> None:
    copies, _ = Told().read(own(BURST | {"copies": []}))
    assert isinstance(copies, ev.CopiesTraced)
    assert (copies.rows, copies.apart) == ([], [(78_848, 16)])


def test_a_burst_that_failed_tells_nothing() -> None:
    assert Told().read(own({"burst_failed": "Operation not permitted"})) == []


# --- garbage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["Lost 17 events", "lost 17 events", "[warn] Lost 17 events on cpu 1"])
def test_lost_events_are_said(word: str) -> None:
    assert Told().read(word) == [missed(17, "bpftrace lost events")]


@pytest.mark.parametrize(
    "line",
    [
        "A",
        "A ",
        "A 1 2 3",
        "A 1 2 3 4 5 6",
        "A one 2 3 4 5",
        "B 5",
        "B 5 -1",
        "B 5 70000",
        "W 0 15",
        "W 0 70000 1",
        "W -1 5 1",
        "W 70000 5 1",
        "P 1 2 3",
        "D 1 2",
        "F 1",
        "S 1 2 3",
        "R 5",
        "#",
        "#{",
        "#{}{}",
        "#7",
        "#" + "[" * 20_000,
        own({"armed": 5}),
        own({"armed": FUNCTIONS}),
        own(ARMED | {"methods": []}),
        own({"burst": [1, 2]}),
        own(BURST | {"burst": "ab"}),
        own(BURST | {"copies": [[1]]}),
        own(BURST | {"apart": [[1]]}),
        own(BURST | {"copies": [], "apart": None, "spans": [["wait", 1]]}),
        f"B {10**400} 0",
        f"A {'9' * 5000} 0 1 0 0",
    ],
    ids=lambda line: line[:40],
)
def test_an_unreadable_line_is_counted_and_the_next_one_read(line: str) -> None:
    told = Told()
    expected = [] if line == "A" else [missed(1, "an unreadable line")]
    assert told.read(line) == expected
    assert told.read(width(0, 15), accept(20, 0, 7))[-1].accepted == 7  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "line", ["", " ", "A", "Attaching 18 probes...", "@x: 5", "readymade", "#[]", '#"word"', "#{}"]
)
def test_a_line_of_no_kind_tells_nothing(line: str) -> None:
    told = Told()
    assert told.read(line) == []
    assert told.lines.ready is False


WORDS = st.one_of(st.integers(-5, 100_000).map(str), st.sampled_from(["", "x", "-", "1e9", "0x1", str(2**64), "٣"]))
GARBAGE = st.one_of(
    st.text(max_size=40),
    st.tuples(st.sampled_from("ABDFPRSWC#"), st.lists(WORDS, max_size=7)).map(lambda t: f"{t[0]} {' '.join(t[1])}"),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(st.sampled_from([*ARMED, *BURST, "failed"]), inner, max_size=6),
        ),
        max_leaves=12,
    ).map(own),
    st.builds(
        lambda name, value: own(BURST | {name: value}),
        st.sampled_from(list(BURST)),
        st.one_of(st.none(), st.integers(-3, 3), st.text(max_size=3), st.lists(st.integers(), max_size=3)),
    ),
)


@given(st.lists(GARBAGE, max_size=12))
def test_whatever_comes_no_line_raises_and_true_ones_are_still_read(garbage: list[str]) -> None:
    told = Told()
    told.read(*garbage)
    told.settle(NOW + 1000)
    told.read(own(ARMED), begin(1, 5))
    assert told.read(width(5, 15), accept(20, 5, 7)) == [cycle(20, 5, 15, 7)]
