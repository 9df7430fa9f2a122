"""From readings of /slots to facts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fake_server import slot
from hypothesis import given
from hypothesis import strategies as st

from specscope import events as ev
from specscope.sources.slot_watch import SlotWatch
from specscope.sources.slots_json import read_slots

if TYPE_CHECKING:
    from specscope.events import Event


class Readings:
    """Successive readings, a tenth of a second apart."""

    def __init__(self) -> None:
        self.watch = SlotWatch("t1")
        self.at = 10.0

    def take(self, *slots: dict[str, Any], answer_s: float = 0.0, reconnected: bool = False) -> list[Event]:
        self.at += 0.1
        body = json.dumps(slots).encode()
        return self.watch.take(read_slots(body), body, self.at, answer_s=answer_s, reconnected=reconnected)


def kinds(facts: list[Event]) -> list[str]:
    return [type(fact).__name__ for fact in facts]


def test_the_first_reading_tells_every_slot_and_later_ones_only_changes() -> None:
    readings = Readings()
    first = readings.take(slot(0), slot(1))
    assert kinds(first) == ["ServerStarted", "SlotChanged", "SlotChanged"]
    assert first[1] == ev.SlotChanged(
        at=readings.at, target="t1", slot=0, n_ctx=8192, speculative=True, busy=False, params=None
    )
    assert readings.take(slot(0), slot(1)) == []
    assert not readings.watch.busy


def test_a_request_from_its_beginning_to_its_end() -> None:
    readings = Readings()
    readings.take(slot(0))
    (begun,) = readings.take(slot(0, task=7))
    assert isinstance(begun, ev.SlotChanged)
    assert (begun.busy, begun.task, begun.decoded, begun.held_ms) == (True, 7, 0, 100.0)
    assert begun.params is not None
    assert begun.params["min_p"] == 0.05
    assert (readings.watch.busy, readings.watch.decoding, readings.watch.moved) == (True, False, False)

    (step,) = readings.take(slot(0, task=7, decoded=1))
    assert step == ev.SlotStepped(at=readings.at, target="t1", slot=0, task=7, decoded=1, fill_tokens=41, held_ms=100.0)
    assert (readings.watch.decoding, readings.watch.moved, readings.watch.largest_gain) == (True, True, 1)
    assert readings.take(slot(0, task=7, decoded=1)) == []
    assert not readings.watch.moved
    (step,) = readings.take(slot(0, task=7, decoded=9))
    assert isinstance(step, ev.SlotStepped)
    assert (step.decoded, step.held_ms, readings.watch.largest_gain) == (9, 100.0, 8)

    (ended,) = readings.take(slot(0, task=7, busy=False, n_prompt_tokens=49))
    assert isinstance(ended, ev.SlotChanged)
    assert (ended.busy, ended.fill_tokens, ended.decoded, ended.params) == (False, 49, 0, None)
    assert (readings.watch.busy, readings.watch.releases) == (False, 1)


def test_one_request_right_after_another() -> None:
    readings = Readings()
    readings.take(slot(0, task=7, decoded=30))
    (changed,) = readings.take(slot(0, task=8, decoded=2))
    assert isinstance(changed, ev.SlotChanged)
    assert (changed.task, changed.decoded, readings.watch.releases) == (8, 2, 1)
    assert readings.watch.moved


def test_a_prompt_under_way() -> None:
    readings = Readings()
    readings.take(slot(0, task=7, n_prompt_tokens_processed=0))
    (changed,) = readings.take(slot(0, task=7, n_prompt_tokens_processed=512))
    assert isinstance(changed, ev.SlotChanged)
    assert changed.processed_tokens == 512
    assert not readings.watch.decoding


def test_a_slot_that_vanishes_takes_its_request_with_it() -> None:
    readings = Readings()
    readings.take(slot(0), slot(1, task=7, decoded=3))
    (gone,) = readings.take(slot(0))
    assert gone == ev.SlotChanged(at=readings.at, target="t1", slot=1, busy=False, task=7)
    assert (readings.watch.busy, readings.watch.releases) == (False, 1)


def test_a_used_slot_that_is_unused_again_is_another_process() -> None:
    readings = Readings()
    readings.take(slot(0, task=900, busy=False), slot(1))
    facts = readings.take(slot(0), slot(1))
    assert kinds(facts) == ["ServerStarted", "SlotChanged", "SlotChanged"]
    assert isinstance(facts[0], ev.ServerStarted)
    assert (facts[0].by, facts[0].token) == ("slots", "2")
    assert readings.take(slot(0), slot(1)) == []


def test_older_tasks_on_a_new_connection_are_another_process() -> None:
    readings = Readings()
    readings.take(slot(0, task=900, busy=False), slot(1, task=890, busy=False))
    same = readings.take(slot(0, task=901, busy=False), slot(1, task=890, busy=False), reconnected=True)
    assert "ServerStarted" not in kinds(same)
    assert "ServerStarted" not in kinds(readings.take(slot(0, task=5), slot(1, task=890, busy=False))), "a queue jump"
    assert "ServerStarted" in kinds(readings.take(slot(0, task=3), slot(1, task=2), reconnected=True))


def test_a_slow_answer_says_how_old_what_it_shows_may_be() -> None:
    readings = Readings()
    readings.take(slot(0))
    (begun,) = readings.take(slot(0, task=7), answer_s=0.05732)
    (step,) = readings.take(slot(0, task=7, decoded=1), answer_s=0.0061)
    (quick,) = readings.take(slot(0, task=7, decoded=4), answer_s=0.0049)
    assert isinstance(begun, ev.SlotChanged)
    assert isinstance(step, ev.SlotStepped)
    assert isinstance(quick, ev.SlotStepped)
    assert (begun.answer_ms, step.answer_ms, quick.answer_ms) == (57.3, 6.1, None)


def test_a_request_that_came_and_went_between_two_readings_is_told_by_its_task() -> None:
    readings = Readings()
    passed: list[bool] = []
    for task, busy in ((7, False), (7, False), (8, False), (8, False), (9, True), (9, False)):
        readings.take(slot(0, task=task, busy=busy))
        passed.append(readings.watch.passed)
    assert passed == [False, False, True, False, False, False]
    assert readings.watch.releases == 1


def test_a_server_that_says_nothing_of_speculation_may_speculate() -> None:
    readings = Readings()
    readings.take(slot(0, task=1, speculative=None))
    assert readings.watch.speculative
    readings.take(slot(0, task=1, speculative=False))
    assert not readings.watch.speculative


def test_no_slots_at_all() -> None:
    readings = Readings()
    assert kinds(readings.take()) == ["ServerStarted"]
    assert readings.take() == []


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.one_of(st.none(), st.integers(0, 3)),
            st.booleans(),
            st.one_of(st.none(), st.integers(0, 4)),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_whatever_comes_only_changes_are_told(
    readings: list[tuple[int, int | None, bool, int | None, bool]],
) -> None:
    watch = SlotWatch()
    for i, (number, task, busy, decoded, reconnected) in enumerate(readings):
        row = {"id": number, "is_processing": busy, "id_task": task, "next_token": {"n_decoded": decoded}}
        body = json.dumps([row]).encode()
        watch.take(read_slots(body), body, float(i), reconnected=reconnected)
        assert watch.take(read_slots(body), body, i + 0.5) == []
        assert set(watch.slots) == {number}
