"""How requests fit the context of their slots, by the log and by /slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.room import Room


def room(*facts: ev.Event) -> Room:
    (request,) = b.seen(b.found(), *facts).requests
    return request.room


def test_nothing_is_known_of_a_request_that_only_slots_tells() -> None:
    told = room(b.busy(0.5), b.idle(1.0))
    assert (told.similarity, told.forced, told.truncated, told.shifts) == (None, False, None, 0)


def test_the_log_tells_what_the_slot_held_and_whether_it_was_of_use() -> None:
    launch = b.launched(0.5, similarity=0.95)
    assert room(launch).similarity == 0.95
    assert not room(launch, b.said("full_reprocess", 0.6, slot="0", task="2")).forced  # another's
    assert not room(launch, b.said("full_reprocess", 0.6)).forced
    assert room(launch, b.said("full_reprocess", 0.6, slot="0", task="1")).forced
    assert room(launch, b.released(2.0, truncated=True)).truncated


def test_a_shift_is_seen_by_the_log_and_by_slots_and_counted_once() -> None:
    lines = [b.said("context_shift", at, slot="0", task="1") for at in (1.05, 1.25)]
    polls = [
        b.busy(0.5, n_ctx=4096),
        b.step(0.9, 100, fill_tokens=3900),
        b.step(1.0, 290, fill_tokens=4090),
        b.step(1.1, 300, fill_tokens=2055),
        b.step(1.2, 2_300, fill_tokens=4055),
        b.step(1.3, 2_340, fill_tokens=2040),
    ]
    assert room(b.launched(0.5), *lines).shifts == 2
    assert room(*polls).shifts == 2
    assert room(*sorted([b.launched(0.5), *lines, *polls], key=lambda fact: fact.at)).shifts == 2


def test_dropped_drafts_are_no_shift() -> None:
    assert room(b.busy(0.5, n_ctx=512), b.step(1.0, 10, fill_tokens=310), b.step(1.1, 11, fill_tokens=247)).shifts == 0


def test_a_context_of_unknown_size_is_not_judged() -> None:
    assert room(b.busy(0.5), b.step(1.0, 10, fill_tokens=4000), b.step(1.1, 11, fill_tokens=2000)).shifts == 0
