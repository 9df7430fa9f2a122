"""Turns of the server's loop from stamps, reckoned by hand. Stamps are in nanoseconds, written in milliseconds."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from specscope.sources.trace.turns import PAUSE_NS, Turns

if TYPE_CHECKING:
    from specscope.events import TurnTraced

MS = 1_000_000
DRAFTING = {"sampling": False, "drafting": True, "explicit_wait": True}
"""A server that drafts, whose sampler is not probed."""

PLAIN = DRAFTING | {"sampling": True}
OLD = PLAIN | {"explicit_wait": False}
"""A build whose first use of a forward's results waits for them."""


def ns(ms: float) -> int:
    return round(ms * MS)


class Loop:
    """A server's loop, told in milliseconds."""

    def __init__(self, **how: bool) -> None:
        self.turns = Turns(**how)

    def draft(self, start: float, end: float, sampled: float = 0.0) -> None:
        self.turns.drafted(ns(start), ns(end), ns(sampled))

    def forward(self, start: float, end: float, sampled: float = 0.0, samples: int = 0) -> None:
        self.turns.forward(ns(start), ns(end), ns(sampled), samples)

    def features(self, start: float, end: float) -> None:
        self.turns.features(ns(start), ns(end))

    def sample(self, start: float, end: float) -> None:
        self.turns.sampled(ns(start), ns(end))

    def accept(self, at: float, sampled: float = 0.0, samples: int = 0) -> None:
        self.turns.accepted(ns(at), ns(sampled), samples)

    def told(self) -> list[tuple[float, TurnTraced]]:
        """The turns that have ended, with the milliseconds of their ends."""
        return [(end / MS, turn) for end, turn in self.turns.take()]

    def one(self) -> TurnTraced:
        """The one turn that has ended."""
        ((_, turn),) = self.told()
        return turn


def parts(turn: TurnTraced) -> dict[str, float | None]:
    """Its parts in milliseconds, as far as they were probed."""
    names = ("draft_us", "draft_sampling_us", "submit_us", "wait_us", "features_us", "sampling_us")
    return {n: v / 1000 for n in names if (v := getattr(turn, n)) is not None}


# --- a server that drafts -----------------------------------------------------------------------------------------


def test_a_cycle_of_one_slot() -> None:
    loop = Loop(**DRAFTING)
    loop.draft(0, 2)
    loop.forward(3, 4)
    loop.features(9, 10)
    loop.accept(12)
    assert loop.told() == []
    loop.draft(13, 15)
    loop.forward(15, 16)
    ((end, turn),) = loop.told()
    assert end == 13
    assert (turn.whole_us, turn.cycles, turn.samples) == (13_000, 1, None)
    assert parts(turn) == {"draft_us": 2, "submit_us": 1, "wait_us": 5, "features_us": 1, "sampling_us": 2}


def test_two_slots_share_a_turn() -> None:
    loop = Loop(**DRAFTING)
    loop.draft(0, 3)
    loop.forward(3, 4)
    loop.features(8, 9)
    loop.accept(10)
    loop.accept(12)
    loop.draft(13, 14)
    loop.forward(14, 15)
    turn = loop.one()
    assert (turn.whole_us, turn.cycles) == (13_000, 2)
    assert parts(turn) == {"draft_us": 3, "submit_us": 1, "wait_us": 4, "features_us": 1, "sampling_us": 3}


def test_two_drafts_and_two_handovers_of_one_turn_add_up() -> None:
    loop = Loop(**DRAFTING)
    loop.draft(0, 1)
    loop.draft(2, 4)
    loop.forward(4, 5)
    loop.features(7, 8)
    loop.features(9, 12)
    loop.accept(13)
    loop.turns.settle()
    turn = loop.one()
    assert turn.whole_us == 13_000
    assert parts(turn) == {"draft_us": 3, "submit_us": 1, "wait_us": 2, "features_us": 4, "sampling_us": 1}


def test_a_method_that_reads_no_features_leaves_the_wait_and_the_sampling_unknown() -> None:
    loop = Loop(**DRAFTING)
    loop.draft(0, 1)
    loop.forward(1, 2)
    loop.accept(9)
    loop.turns.settle()
    assert parts(loop.one()) == {"draft_us": 1, "submit_us": 1}


def test_a_forward_without_a_draft_is_a_turn_without_a_cycle() -> None:
    loop = Loop(**DRAFTING)
    loop.forward(0, 5)
    loop.features(6, 7)
    loop.draft(8, 9)
    loop.forward(9, 10)
    turn = loop.one()
    assert (turn.whole_us, turn.cycles) == (8_000, 0)
    assert parts(turn) == {"draft_us": 0, "submit_us": 5, "wait_us": 1, "features_us": 1}


def test_a_second_forward_of_a_replay_has_its_cycle() -> None:
    loop = Loop(**DRAFTING)
    loop.draft(0, 1)
    loop.forward(1, 2)
    loop.forward(6, 7)
    loop.accept(9)
    loop.turns.settle()
    (_, first), (_, second) = loop.told()
    assert (first.whole_us, first.cycles, parts(first)) == (6_000, 0, {"draft_us": 1, "submit_us": 1})
    assert (second.whole_us, second.cycles, parts(second)) == (3_000, 1, {"draft_us": 0, "submit_us": 1})


def test_without_the_drafter_probed_nothing_is_said_of_drafts() -> None:
    loop = Loop(**DRAFTING | {"drafting": False})
    loop.forward(0, 1)
    loop.accept(2)
    loop.turns.settle()
    assert parts(loop.one()) == {"submit_us": 1}


def test_a_pause_is_no_part_of_the_turn_before_it() -> None:
    pause = PAUSE_NS / MS
    for after, whole, end in ((pause, 12_000 + 50_000, 12 + pause), (pause + 0.001, 12_000, 12)):
        loop = Loop(**DRAFTING)
        loop.draft(0, 2)
        loop.forward(2, 3)
        loop.features(9, 10)
        loop.accept(12)
        loop.draft(12 + after, 13 + after)
        loop.forward(13 + after, 14 + after)
        ((seen, turn),) = loop.told()
        assert (turn.whole_us, seen) == (whole, end)
        assert parts(turn)["sampling_us"] == 2


def test_the_last_turn_ends_with_its_last_event_and_once() -> None:
    loop = Loop(**DRAFTING)
    loop.draft(0, 2)
    loop.forward(2, 3)
    loop.accept(7)
    loop.turns.settle()
    ((end, turn),) = loop.told()
    assert (end, turn.whole_us, turn.cycles) == (7, 7_000, 1)
    loop.turns.settle()
    assert loop.told() == []


def test_a_draft_under_way_survives_that_the_turn_before_is_told() -> None:
    loop = Loop(**DRAFTING)
    loop.forward(0, 1)
    loop.accept(2)
    loop.draft(3, 5)
    loop.turns.settle()
    assert loop.one().whole_us == 2_000
    loop.forward(6, 7)
    loop.accept(9)
    loop.turns.settle()
    turn = loop.one()
    assert (turn.whole_us, parts(turn)["draft_us"]) == (6_000, 2)


def test_what_comes_before_the_first_forward_belongs_to_no_turn() -> None:
    loop = Loop(**PLAIN)
    loop.features(0, 1)
    loop.sample(1, 2)
    loop.accept(3, 1, 1)
    loop.turns.settle()
    assert loop.told() == []


# --- with the sampler probed --------------------------------------------------------------------------------------


def test_a_plain_step() -> None:
    loop = Loop(**PLAIN)
    loop.forward(0, 1, 0.7, 40)
    loop.sample(5, 5.25)
    loop.forward(6, 7, 0.95, 41)
    turn = loop.one()
    assert (turn.whole_us, turn.cycles, turn.samples) == (6_000, 0, 1)
    assert parts(turn) == {"draft_us": 0, "submit_us": 1, "wait_us": 4, "sampling_us": 0.25}


def test_plain_steps_of_two_slots() -> None:
    loop = Loop(**PLAIN)
    loop.forward(0, 1, 0, 0)
    loop.sample(5, 5.25)
    loop.forward(6, 7, 0.75, 2)
    turn = loop.one()
    assert (turn.samples, parts(turn)["sampling_us"]) == (2, 0.75)


def test_a_forward_after_which_nothing_is_sampled_is_a_prompts() -> None:
    loop = Loop(**PLAIN)
    loop.forward(0, 30, 0, 0)
    loop.forward(31, 60, 0, 0)
    loop.sample(61, 61.5)
    loop.forward(62, 63, 0.5, 1)
    ((end, turn),) = loop.told()
    assert (end, turn.whole_us, turn.samples) == (62, 31_000, 1)


def test_the_last_plain_step_has_the_sampling_that_was_seen() -> None:
    loop = Loop(**PLAIN)
    loop.forward(0, 1, 3, 5)
    loop.sample(4, 4.5)
    loop.turns.settle()
    turn = loop.one()
    assert (turn.whole_us, turn.samples, parts(turn)["sampling_us"]) == (4_500, 1, 0.5)


def test_a_cycle_with_the_sampler_probed() -> None:
    loop = Loop(**PLAIN)
    loop.draft(0, 2, 0.5)
    loop.forward(2, 3, 1, 10)
    loop.features(8, 9)
    loop.sample(9, 9.25)
    loop.accept(11, 2.5, 16)
    loop.draft(12, 15, 1.25)
    loop.forward(15, 16, 2.5, 16)
    turn = loop.one()
    assert (turn.cycles, turn.samples) == (1, 6)
    assert parts(turn) == {
        "draft_us": 2,
        "draft_sampling_us": 0.5,
        "submit_us": 1,
        "wait_us": 5,
        "features_us": 1,
        "sampling_us": 1.5,
    }
    loop.accept(18, 3, 18)
    loop.turns.settle()
    assert parts(loop.one())["draft_sampling_us"] == 0.75


def test_in_an_old_build_the_first_sampling_waits_for_the_device() -> None:
    loop = Loop(**OLD)
    loop.draft(0, 1)
    loop.forward(1, 2, 0, 0)
    loop.sample(2.1, 10.1)
    loop.accept(11, 8.6, 4)
    loop.turns.settle()
    turn = loop.one()
    # The other three took 0.2 each: so does the first, and the rest of its 8 is waiting.
    assert (turn.samples, parts(turn)["sampling_us"], parts(turn)["wait_us"]) == (4, 0.8, 7.9)


def test_in_an_old_build_a_single_sampling_cannot_be_told_from_the_wait() -> None:
    loop = Loop(**OLD)
    loop.forward(0, 1, 0, 0)
    loop.sample(1, 9)
    loop.forward(10, 11, 8, 1)
    turn = loop.one()
    assert (turn.samples, parts(turn)["sampling_us"], parts(turn)["wait_us"]) == (1, 8, 0)


def test_in_an_old_build_whose_drafter_reads_features_these_wait() -> None:
    loop = Loop(**OLD)
    loop.draft(0, 1)
    loop.forward(1, 2, 0, 0)
    loop.features(8, 9)
    loop.sample(9, 9.2)
    loop.accept(10, 0.6, 3)
    loop.turns.settle()
    assert parts(loop.one())["wait_us"] == 6


# --- whatever comes -----------------------------------------------------------------------------------------------

STEPS = st.integers(0, 3 * PAUSE_NS)
TURN = st.tuples(st.lists(STEPS, min_size=10, max_size=10), st.booleans(), st.booleans(), st.integers(0, 3))


@given(st.lists(TURN, min_size=1, max_size=6))
def test_the_parts_never_overlap_and_no_cycle_is_lost(turns: list[tuple[list[int], bool, bool, int]]) -> None:
    loop = Turns(**DRAFTING)
    at = 0
    for steps, drafts, reads_features, cycles in turns:
        stamps = list(accumulate(steps, initial=at))
        if drafts:
            loop.drafted(stamps[0], stamps[1], 0)
        loop.forward(stamps[2], stamps[3], 0, 0)
        if reads_features:
            loop.features(stamps[4], stamps[5])
        for stamp in stamps[6 : 6 + cycles]:
            loop.accepted(stamp, 0, 0)
        at = stamps[-1]
    loop.settle()
    told = loop.take()
    assert len(told) == len(turns)
    assert [turn.cycles for _, turn in told] == [cycles for *_, cycles in turns]
    ends = [end for end, _ in told]
    assert ends == sorted(ends)
    for _, turn in told:
        known = (turn.draft_us, turn.submit_us, turn.wait_us, turn.features_us, turn.sampling_us)
        assert sum(part for part in known if part is not None) <= turn.whole_us
