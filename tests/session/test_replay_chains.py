"""Targets that cannot drop part of a sequence verify a partly accepted draft twice; it is one cycle all the same."""

from __future__ import annotations

import builders as b
import pytest

TRACED = [b.found(), b.attached("slots", "polled"), b.attached("log", "cycles"), b.counters(0.0, 0, 0, 0, generated=0)]


def replayed(at: float, w: int, a: int, *more: int) -> list[object]:
    """The lines of a draft whose accepted part is verified again (and again, for each of ``more``)."""
    lines = [b.cycle(at, w, a, restored=True)]
    for shorter in more:
        lines.append(b.cycle(at + 0.001, a + 1, shorter, restored=True))
        a = shorter
    return [*lines, b.cycle(at + 0.002, a + 1, a + 1)]


def test_a_recurrent_target_counts_a_replayed_draft_once() -> None:
    # mamba with ngram-simple: the log's lines add up to 12/300/18, the server counts 6 cycles, 288 drafted, 6 accepted.
    lines = [line for i in range(6) for line in replayed(1.0 + i * 0.1, 48, 1)]
    naive = [(line.drafted, line.accepted) for line in lines]
    assert (len(naive), sum(w for w, _ in naive), sum(a for _, a in naive)) == (12, 300, 18)
    target = b.seen(*TRACED, b.launched(), *lines, b.idle(), b.counters(9.5, 6, 288, 6, generated=13))
    assert (target.totals.cycles, target.totals.drafted, target.totals.accepted) == (6, 288, 6)
    assert target.evidence == "exact"
    assert all(c.replayed and (c.drafted, c.accepted) == (48, 1) for c in target.cycles)


def test_a_chain_has_the_width_of_its_first_line_and_the_length_of_its_last() -> None:
    target = b.seen(*TRACED, b.launched(), *replayed(1.0, 16, 9, 4, 2))
    assert target.totals.joint == ((16, 2, 1),)
    assert target.totals.generated == 3


def test_a_draft_accepted_whole_is_no_replay() -> None:
    target = b.seen(*TRACED, b.launched(), b.cycle(w=4, a=4))
    assert target.totals.joint == ((4, 4, 1),)
    assert target.cycles[0].replayed is False


def test_nothing_accepted_is_replayed_as_one_token() -> None:
    assert b.seen(*TRACED, b.launched(), *replayed(1.0, 8, 0)).totals.joint == ((8, 0, 1),)


def test_chains_of_two_slots_do_not_mix() -> None:
    one = [b.cycle(1.0, 48, 3, restored=True), b.cycle(1.2, 4, 4)]
    other = [b.cycle(1.1, 48, 7, restored=True, slot=1, task=2), b.cycle(1.3, 8, 8, slot=1, task=2)]
    target = b.seen(*TRACED, b.launched(), b.launched(slot=1, task=2), one[0], other[0], one[1], other[1])
    assert target.totals.joint == ((48, 3, 1), (48, 7, 1))


@pytest.mark.parametrize("end", [b.released(), b.logged(), b.idle(), b.server("down", at=9.0)])
def test_a_chain_cancelled_half_way_was_drafted_but_is_no_cycle(end: object) -> None:
    target = b.seen(*TRACED, b.launched(), *replayed(1.0, 48, 1), b.cycle(1.2, 48, 3, restored=True), end)
    assert (target.totals.cycles, target.totals.drafted, target.totals.accepted) == (1, 96, 1)
    assert target.totals.joint == ((48, 1, 1),)


def test_a_cancelled_chain_agrees_with_the_counters() -> None:
    cancelled = [b.cycle(1.0, 15, 2), b.cycle(1.2, 48, 3, restored=True), b.released()]
    target = b.seen(*TRACED, b.launched(), *cancelled, b.counters(9.5, 1, 63, 2))
    assert target.evidence == "exact"


@pytest.mark.parametrize("lines_late", [1, 2])
def test_a_chain_whose_end_is_read_after_the_slot_fell_idle_is_one_cycle(lines_late: int) -> None:
    # Polling sees the end at once, the log is read up to 0.2 s later: a draft was not cancelled because of that.
    chain = replayed(8.9, 48, 5, 3)
    early, late = chain[:-lines_late], chain[-lines_late:]
    target = b.seen(*TRACED, b.launched(), *early, b.idle(), *late, b.logged(), b.released())
    assert (target.totals.joint, target.totals.drafted) == (((48, 3, 1),), 48)


def test_a_chain_that_is_cancelled_after_the_slot_fell_idle_is_counted_once() -> None:
    late = [b.cycle(8.9, 48, 5, restored=True), b.idle(), b.cycle(8.95, 6, 3, restored=True)]
    target = b.seen(*TRACED, b.launched(), b.cycle(w=15, a=2), *late, b.logged(), b.released())
    assert (target.totals.cycles, target.totals.drafted) == (1, 63)
