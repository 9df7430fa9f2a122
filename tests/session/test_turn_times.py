"""Cycles and turns of a trace, put together where the time between two cycles is none of a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.economics.cost_book import CostBook
    from specscope.session.fold import Fold

TABLES = [b.found(), b.process("-m x --spec-type ngram-mod"), b.tracing(functions=["begin", "draft"])]
COMBINED = [b.found(), b.process("-m x --spec-type ngram-mod,draft-dflash"), b.tracing(functions=["begin", "draft"])]


def request(*facts: ev.Event, slot: int = 0, task: int = 1) -> list[ev.Event]:
    """Facts of a request whose prompt of 100 tokens has ended."""
    return [b.busy(0.5, slot=slot, task=task, fill_tokens=100), b.began(0.6, slot=slot), *facts]


def ended(at: float, width: int, ms: float, *, method: str = "ngram-mod") -> list[ev.Event]:
    """A turn with a cycle: it ended 1 ms before the turn did."""
    return [b.traced(at - 0.001, width, 2, method=method), b.turn(at, round(1000 * ms), draft_us=5)]


def plain(at: float, ms: float, *, draft_us: int = 3) -> ev.Event:
    return b.turn(at, round(1000 * ms), cycles=0, draft_us=draft_us)


def costs(fold: Fold) -> CostBook:
    return fold.targets["t0"].epoch.book.costs


def times(*facts: ev.Event) -> dict[tuple[int, int], list[float]]:
    """The times that were taken, by width and slots at work."""
    cells = costs(b.fold(*facts)).cells
    return {(key.width, key.slots): cell.times._fresh for key, cell in cells.items()}


def test_a_cycle_has_the_time_of_its_turn_and_not_that_since_the_cycle_before() -> None:
    facts = request(*ended(1.0, 12, 9.0), plain(1.006, 6.0), plain(1.012, 6.2), *ended(1.022, 12, 10.0))
    assert times(*TABLES, *facts, plain(1.03, 8.0)) == {(12, 1): [9.0, 10.0], (0, 1): [6.0, 6.2]}


def test_a_turn_that_was_not_asked_to_draft_is_a_prompts_and_no_plain_step() -> None:
    assert times(*TABLES, *request(plain(1.0, 60.0, draft_us=0), plain(1.01, 6.0), plain(1.02, 7.0))) == {(0, 1): [6.0]}


def test_the_first_verification_of_a_replay_is_no_plain_step_and_the_replay_no_cycle() -> None:
    twice = [plain(1.0, 9.0), b.traced(1.008, 12, 3, replayed=True), b.turn(1.01, 8000, draft_us=0)]
    assert times(*TABLES, *request(*twice, plain(1.02, 6.0), plain(1.03, 6.0))) == {(0, 1): [6.0]}


def test_a_turn_before_a_pause_ends_with_its_last_event_and_is_left_out() -> None:
    last = [b.traced(1.0, 12, 2, method="ngram-mod"), b.turn(1.0, 8000, draft_us=5)]
    assert times(*TABLES, *request(*last)) == {}


def test_a_turn_whose_cycles_were_not_all_seen_is_left_out() -> None:
    one_of_two = [b.traced(0.999, 12, 2, method="ngram-mod"), b.turn(1.0, 9000, cycles=2, draft_us=5)]
    assert times(*TABLES, *request(*one_of_two)) == {}


def test_a_cycle_of_a_turn_that_was_not_told_is_forgotten() -> None:
    lost = b.traced(1.0, 8, 2, method="ngram-mod")
    assert times(*TABLES, *request(lost, *ended(1.05, 12, 9.0))) == {(12, 1): [9.0]}


def test_two_slots_share_the_turn_whether_or_not_both_drafted() -> None:
    both = [
        b.traced(0.998, 12, 2, slot=0, method="ngram-mod"),
        b.traced(0.999, 4, 1, slot=1, method="ngram-mod"),
        b.turn(1.0, 14_000, cycles=2, draft_us=5),
    ]
    facts = [*TABLES, *request(slot=0), *request(slot=1, task=2), *both, *ended(1.012, 12, 12.0), plain(1.02, 8.0)]
    assert times(*facts, plain(1.03, 8.0)) == {(12, 2): [14.0, 12.0], (4, 2): [14.0], (0, 2): [8.0]}


def test_a_turn_with_another_slots_prompt_in_it_is_left_out() -> None:
    prompt = b.launched(0.9, slot=1, task=2)
    fold = b.fold(*TABLES, *request(prompt, *ended(1.0, 12, 90.0), plain(1.05, 50.0), plain(1.1, 50.0)))
    assert (costs(fold).cells, costs(fold).mixed) == ({}, 3)
    for fact in (b.began(1.11, slot=1), *ended(1.2, 12, 12.0)):
        fold.apply(fact)
    assert [(key.width, key.slots) for key in costs(fold).cells] == [(12, 2)]


def test_the_depth_is_that_of_the_slot_when_the_cycle_began() -> None:
    fold = b.fold(*TABLES, *request(b.step(0.7, 1, fill_tokens=5001), *ended(1.0, 12, 9.0)))
    ((key, cell),) = costs(fold).cells.items()
    assert key.band == 3  # 4,096 to 8,191 resident tokens
    assert cell.depth == pytest.approx(5002, abs=3)


def test_a_table_before_a_drafter_tells_nothing_of_the_drafters_widths() -> None:
    facts = request(*ended(1.0, 12, 9.0), *ended(1.02, 7, 11.0, method="draft-dflash"))
    fold = b.fold(*COMBINED, *facts)
    assert [(key.width, cell.times._fresh) for key, cell in costs(fold).cells.items()] == [(7, [11.0])]
    methods = fold.targets["t0"].epoch.traced.methods.counts
    assert {name: [c.times._fresh for c in m.cells.values()] for name, m in methods.items()} == {
        "ngram-mod": [[9.0]],
        "draft-dflash": [[11.0]],
    }
    assert {name: (m.draft_us, m.drafts) for name, m in methods.items()} == {
        "ngram-mod": (5, 1),
        "draft-dflash": (5, 1),
    }


def test_a_drafter_alone_is_timed_by_its_cycles() -> None:
    drafter = [b.found(), b.process("-m x --spec-type draft-dflash"), b.tracing(functions=["begin", "draft"])]
    facts = request(*[f for i in range(4) for f in ended(1 + i / 50, 7, 11.0, method="draft-dflash")])
    assert times(*drafter, *facts) == {(7, 1): [pytest.approx(20.0)] * 2}  # the first has no time, the second is apart
