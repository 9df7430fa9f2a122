"""What polling of /slots tells of cycles: their accepted length, when a step holds one; never their width."""

from __future__ import annotations

import builders as b
import pytest
from simulated import Work

from specscope import events as ev

POLLED = [b.found(), b.attached("slots", "polled")]
DFLASH = {"speculative.types": "draft-dflash"}
BLOCK = [b.process("-md d.gguf --spec-draft-n-max 16"), b.model("drafter", block_size=8)]


def begun(at: float = 0.5, **fields: object) -> list[ev.Event]:
    """A request met from its begin, its first token seen, and one cycle of 20 ms so that the cycle time is known."""
    return [b.busy(at, fill_tokens=100, **fields), b.step(at + 0.1, 1, fill_tokens=101), b.step(at + 0.12, 4)]


def test_each_step_of_n_decoded_is_a_cycle_of_unknown_width() -> None:
    target = b.seen(*POLLED, *Work(0, 1, 1.0, ((15, 5), (15, 0), (3, 3))).polls())
    totals = target.totals
    assert (target.evidence, target.cycle_evidence) == ("polled", "polled")
    assert (totals.cycles, totals.accepted, totals.plain_steps, totals.generated) == (3, 8, 1, 12)
    assert (totals.drafted, totals.acceptance, totals.width_mean, totals.width_max) == (None, None, None, None)
    assert totals.histogram == (1, 0, 0, 1, 0, 1)
    assert totals.tau == 3.0
    assert totals.tau_draft == 1 + 8 / 3
    assert [(c.drafted, c.accepted, c.seen_by) for c in target.cycles] == [
        (None, 5, "polled"),
        (None, 0, "polled"),
        (None, 3, "polled"),
    ]
    assert {p.among_wide for p in totals.survival} == {None}


def test_the_request_of_a_poll_has_its_figures() -> None:
    (row,) = b.seen(*POLLED, *Work(0, 1, 1.0, ((15, 5), (15, 0)), prompt=37).polls()).requests
    assert (row.generated, row.cycles, row.accepted, row.drafted) == (8, 2, 5, None)
    assert row.tau == 8 / 3
    assert row.ttft_ms == pytest.approx(100.0)
    assert (row.seen_by, row.whole, row.stop) == ("polled", True, "finished")


def test_a_step_wider_than_any_draft_held_two_cycles_and_is_none() -> None:
    params = {"params": DFLASH}
    limit = b.seen(*POLLED, *BLOCK, *begun(**params), b.step(0.64, 4 + 8))
    assert limit.config.n_max_effective == 7
    assert (limit.totals.cycles, limit.poll.merged) == (2, 0)
    beyond = b.seen(*POLLED, *BLOCK, *begun(**params), b.step(0.64, 4 + 9))
    assert (beyond.totals.cycles, beyond.poll.merged) == (1, 1)
    assert beyond.requests[0].generated == 13


def test_n_gram_drafts_have_no_widest() -> None:
    both = {"params": {"speculative.types": "draft-dflash,ngram-mod"}}
    target = b.seen(*POLLED, *BLOCK, *begun(**both), b.step(0.64, 4 + 40))
    assert (target.totals.cycles, target.poll.merged) == (2, 0)


@pytest.mark.parametrize(("held_ms", "merged"), [(5.0, 0), (20.5, 0), (21.5, 1), (None, 0)])
def test_a_step_not_looked_for_in_longer_than_a_cycle_may_hold_two(held_ms: float | None, merged: int) -> None:
    target = b.seen(*POLLED, *begun(), b.step(0.66, 8, held_ms=held_ms))
    assert target.poll.merged == merged
    assert target.totals.cycles == 2 - merged


def test_before_the_cycle_time_is_known_a_step_must_have_been_looked_for_late_in_it() -> None:
    begin = [b.busy(0.5), b.step(0.6, 1)]
    assert b.seen(*POLLED, *begin, b.step(0.65, 4, held_ms=29.0)).totals.cycles == 1
    early = b.seen(*POLLED, *begin, b.step(0.65, 4, held_ms=31.0))
    assert (early.poll.merged, early.totals.cycles) == (1, None)


def test_a_merged_step_still_moves_the_clock_of_its_request() -> None:
    target = b.seen(*POLLED, *begun(), b.step(0.67, 10, held_ms=50.0), b.step(0.69, 12))
    assert target.cycles[-1].gap_ms == pytest.approx(20.0)


def test_the_tokens_of_a_merged_step_count_for_speed_and_not_for_tau() -> None:
    rates = b.seen(*POLLED, *begun(), b.step(0.66, 9, held_ms=39.0), b.step(0.68, 15)).rates
    assert rates.tok_s == pytest.approx((3 + 5 + 6) / 0.08, rel=1e-4)
    assert (rates.tau, rates.steps) == (4.5, 2)
    assert rates.cycle_ms == pytest.approx(20.0)


def test_tokens_that_come_with_the_first_are_a_cycle_of_unknown_time() -> None:
    known = [*begun(), b.idle(0.65, fill_tokens=104)]
    late = b.seen(*POLLED, *known, b.busy(0.7, task=2), b.step(0.8, 7, task=2, held_ms=10.0))
    assert [c.accepted for c in late.cycles] == [2, 5]
    assert late.cycles[-1].gap_ms is None
    assert late.rates.cycle_ms == pytest.approx(20.0)
    assert late.rates.tok_s == pytest.approx(3 / 0.02)
    assert (late.totals.plain_steps, late.totals.generated) == (2, 11)


def test_the_last_cycle_is_told_by_the_fill_that_stays_behind() -> None:
    # n_decoded falls to 0 when the slot is released before a poll saw the last step.
    target = b.seen(*POLLED, *begun(), b.step(0.64, 6, fill_tokens=106), b.idle(0.66, fill_tokens=112, held_ms=9.0))
    assert [c.accepted for c in target.cycles] == [2, 1, 5]
    assert target.requests[0].generated == 12


def test_the_last_cycle_of_a_slot_that_was_looked_at_too_seldom_is_none() -> None:
    target = b.seen(*POLLED, *begun(), b.idle(0.7, fill_tokens=112, held_ms=60.0))
    assert [c.accepted for c in target.cycles] == [2]
    assert (target.requests[0].generated, target.poll.merged) == (12, 1)


def at_its_limit(limit: int, at: float = 0.66, generated: int = 10) -> list[ev.Event]:
    """A request of at most 7 drafted tokens a cycle, polled up to its sixth token, then its totals in the log."""
    params = {"params": DFLASH | {"n_predict": limit}}
    return [
        *POLLED,
        *BLOCK,
        *begun(**params),
        b.step(0.64, 6),
        b.logged(at, generated=generated, drafted=21, accepted=6),
    ]


def test_the_last_cycle_of_a_slot_that_went_on_at_once_is_told_by_the_logs_count() -> None:
    target = b.seen(*at_its_limit(10), b.busy(0.67, task=2))
    assert [c.accepted for c in target.cycles] == [2, 1, 3]
    assert (target.requests[0].cycles, target.requests[0].stop, target.totals.plain_steps) == (3, "limit", 1)


@pytest.mark.parametrize(
    "facts",
    [at_its_limit(12), at_its_limit(10, at=0.672), at_its_limit(15, generated=15)],
    ids=["stopped before its limit", "too late for one cycle", "too much for one cycle"],
)
def test_tokens_that_may_be_other_than_one_cycle_tell_none(facts: list[ev.Event]) -> None:
    # Behind a stop the server drops tokens that were accepted: the count does not tell the cycle's length.
    assert [c.accepted for c in b.seen(*facts).cycles] == [2, 1]


def test_draft_rows_in_flight_are_no_part_of_the_prompts_share() -> None:
    # While a cycle runs, its draft rows may be in the fill: the least difference seen is the prompt's share.
    flight = [b.step(0.64, 6, fill_tokens=121), b.step(0.66, 8, fill_tokens=108)]
    target = b.seen(*POLLED, *begun(), *flight, b.idle(0.68, fill_tokens=108, held_ms=5.0))
    assert target.requests[0].generated == 8
    assert target.totals.cycles == 3


def test_a_request_met_in_the_middle_has_no_past() -> None:
    met = [b.busy(0.5, task=1, decoded=500, fill_tokens=600), b.step(0.52, 503), b.step(0.54, 509)]
    target = b.seen(*POLLED, *met, b.idle(0.56, fill_tokens=612, held_ms=5.0))
    assert [c.accepted for c in target.cycles] == [2, 5, 2]
    assert (target.totals.plain_steps, target.totals.generated) == (0, 12)
    (row,) = target.requests
    assert (row.whole, row.tau, row.ttft_ms) == (False, None, None)
    assert row.generated == 512
    assert target.cycles[0].position == 503
    assert [c.gap_ms for c in target.cycles] == [None, pytest.approx(20.0), pytest.approx(20.0)]


def test_the_first_look_at_an_idle_slot_then_work_is_a_request_from_its_begin() -> None:
    target = b.seen(*POLLED, b.idle(0.1, task=None), b.busy(0.5, decoded=3))
    assert target.requests[0].whole is True
    assert target.totals.plain_steps == 1


def test_a_reading_that_goes_back_within_a_request_is_passed_over() -> None:
    target = b.seen(*POLLED, *begun(), b.step(0.64, 2), b.step(0.66, 6))
    assert [c.accepted for c in target.cycles] == [2, 1]
    assert target.totals.generated == 6


def test_the_next_request_of_a_slot_ends_the_one_before() -> None:
    target = b.seen(*POLLED, *begun(), b.busy(0.9, task=2), b.step(1.0, 1, task=2))
    assert [(r.task, r.ended_at, r.generated) for r in target.requests] == [(1, b.T0 + 0.9, 4), (2, None, 1)]


def test_completeness_is_what_polling_saw_of_the_servers_count() -> None:
    work = Work(0, 1, 1.0, ((15, 5),) * 10)
    facts = [f for f in work.polls() if not isinstance(f, ev.SlotStepped) or f.decoded != 1 + 6 * 4]
    # One poll failed: the step after it held two cycles, and was not looked for in time.
    facts = [
        b.step(f.at - b.T0, f.decoded, held_ms=40.0) if getattr(f, "decoded", 0) == 1 + 6 * 5 else f for f in facts
    ]
    counts = b.counters(0.0, 0, 0, 0, generated=0), b.counters(9.0, 10, 150, 50, generated=61)
    target = b.seen(*POLLED, counts[0], *facts, b.sampled(polls=15, steps=10), counts[1])
    assert target.cycle_evidence == "polled"
    assert target.poll.completeness == 0.8
    assert (target.poll.merged, target.poll.per_step) == (1, 1.5)
    # What the server counted itself goes before what polling saw of it.
    assert (target.evidence, target.totals.cycles, target.totals.drafted) == ("counted", 10, 150)
    assert (target.totals.tau, target.totals.tau_draft, target.totals.acceptance) == (61 / 11, 6.0, 50 / 150)
    assert sum(target.totals.histogram) == 8


def test_completeness_of_an_n_gram_server_counts_its_plain_steps_among_what_could_be_seen() -> None:
    # Polling cannot tell a step without a draft from a draft of which nothing survived.
    work = Work(0, 1, 1.0, ((8, 5), None, None, (8, 0)))
    counts = b.counters(0.0, 0, 0, 0, generated=0), b.counters(9.0, 2, 16, 5, generated=10)
    target = b.seen(*POLLED, counts[0], *work.polls(), counts[1])
    assert target.poll.completeness == 1.0
    assert (target.totals.cycles, target.totals.plain_steps) == (2, 3)


def test_an_n_gram_server_that_never_drafted_has_no_cycles_once_its_counters_say_so() -> None:
    work = Work(0, 1, 1.0, (None,) * 20)
    counts = b.counters(0.0, 0, 0, 0, generated=0), b.counters(9.0, 0, 0, 0, generated=21)
    before, after = (b.seen(*POLLED, counts[0], *work.polls(), *more) for more in ([], [counts[1]]))
    assert (before.evidence, before.totals.cycles) == ("polled", 20)
    assert (after.evidence, after.totals.cycles, after.totals.plain_steps) == ("counted", 0, 21)
    assert (after.totals.tau, after.totals.tau_draft, after.totals.acceptance) == (1.0, None, None)
    assert after.totals.histogram == ()


def test_without_a_referee_there_is_no_completeness() -> None:
    assert b.seen(*POLLED, *begun()).poll.completeness is None


def test_tokens_of_cycles_that_polling_missed_are_no_plain_steps() -> None:
    # Of ten cycles polling missed the end of two: the log's total at the end proves only the prompt's own plain step.
    work = Work(0, 1, 1.0, ((15, 5),) * 10)
    polls = work.polls()[:-1]
    late = [b.step(polls[i].at - b.T0, polls[i].decoded, held_ms=35.0) for i in (5, 8)]
    seen = [*polls[:4], late[0], polls[6], late[1], *polls[9:]]
    target = b.seen(*POLLED, *seen, *work.log()[-2:])
    (row,) = target.requests
    assert (row.cycles, row.generated, row.seen_by) == (6, 61, "polled")
    assert row.tau == pytest.approx(61 / 11)
    assert (target.totals.plain_steps, target.rates.tau, target.poll.merged) == (1, 6.0, 2)


def test_without_the_servers_totals_tau_is_that_of_the_steps_seen() -> None:
    begin = [
        b.busy(0.5, fill_tokens=100),
        b.step(0.6, 1, fill_tokens=101),
        b.step(0.62, 7),
        b.step(0.7, 19, held_ms=70.0),
    ]
    (row,) = b.seen(*POLLED, *begin, b.idle(0.72, fill_tokens=125, held_ms=5.0)).requests
    assert (row.cycles, row.generated) == (2, 25)
    assert row.tau == (1 + 6 + 6) / 3


def test_a_request_whose_every_step_was_merged_has_the_servers_tau() -> None:
    steps = [b.busy(0.5), b.step(0.6, 1), b.step(0.65, 13, held_ms=49.0)]
    (row,) = b.seen(*POLLED, *steps, b.logged(0.66, generated=13, drafted=30, accepted=10)).requests
    assert (row.cycles, row.tau) == (None, 13 / 3)
    assert b.seen(*POLLED, *steps).requests[0].tau is None


def test_a_request_that_the_log_says_never_drafted_had_plain_steps_only() -> None:
    work = Work(0, 1, 1.0, (None,) * 20)
    target = b.seen(*POLLED, *work.polls()[:-1], *work.log()[-2:])
    assert (target.totals.cycles, target.totals.plain_steps, target.totals.tau) == (None, 21, 1.0)
    assert (target.cycles, target.requests[0].seen_by) == ((), None)
    assert target.rates.tok_s == pytest.approx(1 / 0.02, rel=0.01)


def test_accepted_tokens_seen_by_polling_are_believed_before_a_log_without_totals() -> None:
    work = Work(0, 1, 1.0, ((15, 5), (15, 3)))
    target = b.seen(*POLLED, *work.polls()[:-1], b.logged(2.0, generated=11))
    assert (target.totals.cycles, target.totals.plain_steps) == (2, 1)


def test_polls_slower_than_cycles_tell_no_cycles() -> None:
    """Every poll finds n_decoded moved: each step may hold several cycles, however regular it looks."""
    steps = [b.step(0.62 + 0.006 * i, 4 + 2 * i, held_ms=6.0) for i in range(1, 60)]
    target = b.seen(*POLLED, *begun(), *steps)
    assert target.poll.merged > 40
    assert (target.totals.cycles or 0) < 15


def test_more_accepted_than_the_server_counted_parts() -> None:
    facts = [
        *POLLED,
        b.counters(0.1, 0, 0, 0, generated=0),
        *begun(),
        *(b.step(0.62 + 0.02 * i, 4 + 3 * i) for i in range(1, 12)),
    ]
    told = b.counters(2.0, 25, 75, 4, generated=37)
    seen = b.seen(*facts, b.idle(1.0, fill_tokens=100 + 37), told)
    assert seen.cycle_evidence == "parted"
    assert (seen.evidence, seen.totals.cycles, seen.totals.accepted) == ("counted", 25, 4)


def test_no_tau_is_told_when_most_tokens_came_in_steps_that_cannot_be_split() -> None:
    rates = b.seen(*POLLED, *begun(), b.step(0.66, 34, held_ms=39.0), b.step(0.68, 40)).rates
    assert (rates.tau, rates.tau_draft) == (None, None)
    assert rates.tok_s == pytest.approx((3 + 30 + 6) / 0.08, rel=1e-4)


def test_a_length_no_draft_can_have_tells_nothing() -> None:
    target = b.seen(b.cycle(1.0, w=15, a=5), b.cycle(1.1, w=15, a=10**9))
    assert target.totals.histogram == (0, 0, 0, 0, 0, 1)


def test_where_polling_was_too_slow_after_a_trace_the_servers_own_totals_stand() -> None:
    """All its steps were merged: the traced cycles are not all there were, which is no reason to distrust them."""
    first = [b.began(0.5), b.traced(0.6, 15, 5), b.traced(0.62, 15, 3), b.idle(0.7)]
    second = [b.busy(2.0, task=2, fill_tokens=100), b.step(2.1, 1, task=2, fill_tokens=101)]
    second += [b.step(2.1 + 0.1 * i, 1 + 20 * i, task=2, held_ms=90.0, fill_tokens=101 + 20 * i) for i in range(1, 6)]
    target = b.seen(
        *POLLED,
        b.attached("trace", "trace"),
        b.counters(0.1, 0, 0, 0),
        *first,
        b.lost("trace", 1.0),
        *second,
        b.idle(2.7, task=2),
        b.counters(3.0, 22, 330, 88),
    )
    assert [r.seen_by for r in target.requests] == ["trace", None]
    assert target.poll.merged == 5
    assert (target.cycle_evidence, target.evidence) == ("polled", "counted")
    assert (target.totals.cycles, target.totals.drafted, target.totals.accepted) == (22, 330, 88)


def test_a_request_of_merged_steps_that_a_trace_then_tells_leaves_none() -> None:
    polled = [b.busy(0.5, fill_tokens=100), b.step(0.6, 1, fill_tokens=101), b.step(0.7, 21, held_ms=90.0)]
    before, after = b.seen(*POLLED, *polled), b.seen(*POLLED, *polled, b.traced(0.8, 15, 5))
    assert (before.poll.merged, after.poll.merged) == (1, 0)
    assert (after.cycle_evidence, after.totals.cycles) == ("unconfirmed", 1)
