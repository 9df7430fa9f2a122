"""Figures that can be worked out by hand, through the whole fold."""

from __future__ import annotations

import builders as b
import pytest
from simulated import PLAIN, Work

TRACED = [b.found(), b.attached("log", "cycles"), b.counters(0.0, 0, 0, 0, generated=0)]

NGRAM = ((8, 5), *[(8, 8)] * 11, (1, 1))
"""A real n-gram request (llama-server b10434): `94 accepted / 97 generated, mean len = 8.23`."""


def test_mean_len_counts_only_cycles_that_drafted_and_tau_counts_every_step() -> None:
    # The log calls it 8.23; but 120 tokens took 26 forwards, 13 of them without a draft, so speed depends on 4.6.
    work = Work(slot=1, task=2, begins=1.0, steps=NGRAM + (PLAIN,) * 12)
    assert work.generated == 120
    target = b.seen(*TRACED, *work.log(), b.counters(9.0, 13, 97, 94, generated=120))
    totals = target.totals
    assert (totals.cycles, totals.drafted, totals.accepted) == (13, 97, 94)
    assert (totals.plain_steps, totals.generated) == (13, 120)
    assert totals.acceptance == pytest.approx(0.96907, abs=5e-6)
    assert totals.tau_draft == pytest.approx(8.23, abs=0.005)
    assert totals.tau == pytest.approx(120 / 26)
    assert target.requests[0].tau == pytest.approx(120 / 26)
    assert target.evidence == "exact"


def test_the_servers_counters_alone_tell_the_same_two_figures() -> None:
    target = b.seen(b.found(), b.counters(0.0, 0, 0, 0, generated=0), b.counters(9.0, 13, 97, 94, generated=120))
    totals = target.totals
    assert (totals.cycles, totals.plain_steps, totals.generated) == (13, 13, 120)
    assert totals.tau_draft == pytest.approx(8.23, abs=0.005)
    assert totals.tau == pytest.approx(120 / 26)
    assert (target.evidence, target.cycle_evidence) == ("counted", "unknown")
    assert totals.histogram == ()


def test_two_slots_in_one_forward_are_two_steps() -> None:
    # Forwards shared by two slots would give twice the figure that a user of one slot sees.
    steps = ((15, 5),) * 30
    works = [Work(slot, 10 + slot, 1.0, steps) for slot in (0, 1)]
    slots = [b.busy(0.1, slot=slot, task=slot, decoded=0) for slot in (0, 1)]
    facts = sorted([f for w in works for f in w.log()], key=lambda f: f.at)
    target = b.seen(*TRACED, *slots, *facts)
    per_slot = (1 + 30 * 6) / 31
    assert target.totals.tau == pytest.approx(per_slot)
    assert [s.tau for s in target.slots] == [pytest.approx(per_slot)] * 2
    assert [(s.tally_cycles, s.tally_steps) for s in target.slots] == [(30, 31), (30, 31)]
    assert target.rates.tau == pytest.approx(6.0)
    assert target.rates.busy_slots == pytest.approx(2.0)
    assert target.rates.tok_s == pytest.approx(2 * 6 / 0.02)


def test_histogram_widths_and_positions_of_a_short_request() -> None:
    target = b.seen(*TRACED, *b.of_log([(15, 5), (15, 0), (15, 15), (3, 3)]))
    totals = target.totals
    assert totals.histogram == (1, 0, 0, 1, 0, 1, *[0] * 9, 1)
    assert totals.joint == ((3, 3, 1), (15, 0, 1), (15, 5, 1), (15, 15, 1))
    assert (totals.width_mean, totals.width_max) == (12.0, 15)
    assert totals.acceptance == 23 / 48
    assert [p.share for p in totals.survival[:4]] == [0.75, 0.75, 0.75, 0.5]
    assert [p.among_wide for p in totals.survival[:4]] == [0.75, 0.75, 0.75, 2 / 3]


def test_the_tape_has_every_cycle_with_its_time_and_place() -> None:
    target = b.seen(*TRACED, *b.of_log([(15, 5), (15, 0), (15, 2)], task=7))
    assert [(c.number, c.task, c.drafted, c.accepted, c.seen_by) for c in target.cycles] == [
        (1, 7, 15, 5, "log"),
        (2, 7, 15, 0, "log"),
        (3, 7, 15, 2, "log"),
    ]
    assert [c.gap_ms for c in target.cycles] == [None, pytest.approx(20.0), pytest.approx(20.0)]
    assert [c.position for c in target.cycles] == [6, 7, 10]
    assert not any(c.replayed for c in target.cycles)


def test_the_prompts_own_forward_gives_the_first_token_and_is_a_step_without_a_draft() -> None:
    target = b.seen(*TRACED, *Work(0, 1, 1.0, ((15, 5),)).log())
    assert (target.totals.plain_steps, target.totals.generated) == (1, 7)
    assert target.totals.tau == 3.5


def test_accepted_tokens_behind_a_stop_are_counted_though_never_emitted() -> None:
    # The last cycle accepted five, the stop came with the second: the server still counts five.
    target = b.seen(*TRACED, *b.of_log([(15, 5), (15, 5)]), b.logged(generated=10, drafted=30, accepted=10))
    assert (target.totals.accepted, target.totals.plain_steps) == (10, 1)
    assert target.requests[0].generated == 10
    assert target.requests[0].agrees is True
