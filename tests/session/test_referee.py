"""The server's own counters against what was captured: the check that makes a number exact."""

from __future__ import annotations

import builders as b
import pytest
from simulated import Load, Work

from specscope.session.referee_state import SinceStart

TRACED = [b.found(), b.attached("slots", "totals"), b.attached("log", "cycles")]
WORK = Work(0, 1, 1.0, ((15, 5), (15, 0), (15, 15), (3, 1)))
LOAD = Load((WORK, Work(0, 2, 2.0, ((15, 2), (15, 3)))))
LOG = [f for w in LOAD.work for f in w.log()]
BASE = LOAD.counters(0.0, last=False)


def evidence(*facts: object) -> tuple[str, str]:
    target = b.seen(*TRACED, *facts)
    return target.evidence, target.cycle_evidence


def test_before_the_first_idle_read_nothing_is_compared() -> None:
    target = b.seen(*TRACED, *LOG)
    assert target.evidence == "exact"  # by the totals that the log printed for each request
    assert target.referee.count is None
    assert target.referee.waiting == "waiting for all slots to be idle once"
    assert evidence(*LOG[:3]) == ("unconfirmed", "unconfirmed")


def test_after_the_first_idle_read_the_next_one_is_waited_for() -> None:
    assert b.seen(*TRACED, BASE).referee.waiting == "the counters are read when the slots are idle"


def test_counts_that_agree_make_the_captured_exact() -> None:
    target = b.seen(*TRACED, BASE, *LOG, LOAD.counters(9.0))
    count = target.referee.count
    assert (count.cycles, count.drafted, count.accepted) == (6, 78, 26)
    assert (count.captured_cycles, count.captured_drafted, count.captured_accepted) == (6, 78, 26)
    assert count.agrees
    assert (target.evidence, target.cycle_evidence) == ("exact", "exact")
    assert target.referee.waiting == ""


def test_the_baseline_is_what_the_server_had_counted_before() -> None:
    before = b.counters(0.0, 1000, 15_000, 4000, generated=5000)
    after = b.counters(9.0, 1006, 15_078, 4026, generated=5034)
    target = b.seen(*TRACED, before, *LOG, after)
    assert target.evidence == "exact"
    assert target.referee.count.cycles == 6
    assert target.referee.since_start == SinceStart(generated=5034, drafts=1006, drafted=15_078, accepted=4026)


@pytest.mark.parametrize("dropped", [1, 4, 8])
def test_one_line_dropped_parts_the_counts_at_once(dropped: int) -> None:
    facts = [f for i, f in enumerate(LOG) if i != dropped]
    target = b.seen(*TRACED, BASE, *facts, LOAD.counters(9.0))
    assert (target.evidence, target.cycle_evidence) == ("parted", "parted")
    assert target.referee.count.captured_cycles == 5
    # What was captured is still shown as captured: the screen says that it parted.
    assert target.totals.cycles == 5


@pytest.mark.parametrize(("drafts", "drafted", "accepted"), [(7, 78, 26), (6, 79, 26), (6, 78, 27), (5, 78, 26)])
def test_any_of_the_three_counts_parts(drafts: int, drafted: int, accepted: int) -> None:
    # Without the log's own totals of its requests, only the counters tell.
    lines = [f for f in LOG if type(f).__name__ != "RequestLogged"]
    assert evidence(BASE, *lines, b.counters(9.0, 6, 78, 26)) == ("exact", "exact")
    assert evidence(BASE, *lines, b.counters(9.0, drafts, drafted, accepted)) == ("parted", "parted")


def test_counts_that_part_and_agree_again_are_exact_again() -> None:
    lines = [f for f in LOG if type(f).__name__ != "RequestLogged"]
    late = [BASE, *lines[:-2], b.counters(9.0, 6, 78, 26)]
    assert evidence(*late)[0] == "parted"
    assert evidence(*late, lines[-2], b.counters(9.5, 6, 78, 26))[0] == "exact"


def test_a_request_met_in_the_middle_is_no_part_of_the_comparison() -> None:
    # Its cycles from before the watch are in the server's count of it, which moves when its slot is released.
    middle = [b.busy(0.1, task=9, decoded=300), b.cycle(0.2, 15, 5, task=9), b.cycle(0.3, 15, 5, task=9)]
    idle = [b.released(0.5, task=9), b.counters(0.6, 100, 1500, 500)]
    target = b.seen(*TRACED, *middle, *idle, *LOG, b.counters(9.0, 106, 1578, 526))
    assert target.referee.count.cycles == 6
    assert (target.evidence, target.totals.cycles) == ("exact", 8)
    assert target.requests[0].agrees is None


def test_a_read_while_slots_work_is_no_baseline() -> None:
    busy = LOAD.counters(0.0, idle=False, last=False)
    assert b.seen(*TRACED, busy, *LOG).referee.waiting == "waiting for all slots to be idle once"


def test_a_busy_read_confirms_the_requests_that_have_ended() -> None:
    running = [b.launched(3.0, slot=1, task=3), b.cycle(3.1, 15, 9, slot=1, task=3)]
    lines = [f for f in LOG if type(f).__name__ != "RequestLogged"]
    confirmed = b.seen(*TRACED, BASE, *lines, *running, LOAD.counters(9.0, idle=False))
    assert (confirmed.evidence, confirmed.referee.count.cycles) == ("exact", 6)
    assert confirmed.totals.cycles == 7


def test_a_busy_read_never_refutes() -> None:
    # A request may be ending that very moment: its cycles counted by the server, its last line not yet read.
    lines = [f for f in LOG if type(f).__name__ != "RequestLogged"]
    for drafts in (0, 5, 7):
        busy = b.counters(9.0, drafts, 78, 26, idle=False)
        target = b.seen(*TRACED, BASE, *lines, busy)
        assert (target.evidence, target.referee.count) == ("unconfirmed", None)


def test_a_busy_read_that_differs_leaves_the_last_comparison_as_it_was() -> None:
    more = b.counters(9.5, 9, 100, 30, idle=False)
    assert evidence(BASE, *LOG, LOAD.counters(9.0), more) == ("exact", "exact")


@pytest.mark.parametrize("fact", [b.missed("log", 2, at=8.0), b.lost("log", at=8.0)])
def test_lines_known_to_be_missed_take_the_exactness_until_the_counts_agree_again(fact: object) -> None:
    so_far = [BASE, *LOG, LOAD.counters(7.0), fact]
    target = b.seen(*TRACED, *so_far)
    assert (target.evidence, target.cycle_evidence) == ("unconfirmed", "unconfirmed")
    assert target.referee.missed >= 1
    again = b.seen(*TRACED, *so_far, LOAD.counters(9.0))
    assert (again.evidence, again.referee.missed) == ("exact", 0)


def test_lines_that_were_really_missed_part_the_counts() -> None:
    target = b.seen(*TRACED, BASE, *LOG, LOAD.counters(7.0), b.missed("log"), b.counters(9.0, 8, 108, 30))
    assert target.evidence == "parted"
    assert target.referee.missed == 1


def test_what_a_source_missed_is_kept_with_it() -> None:
    target = b.seen(*TRACED, b.missed("log", 2), b.missed("log", 3), b.missed("nobody"))
    assert {s.name: s.missed for s in target.sources} == {"slots": 0, "log": 5}
    back = b.seen(*TRACED, b.missed("log", 2), b.lost("log"), b.attached("log", "cycles"))
    assert {s.name: (s.state, s.missed) for s in back.sources}["log"] == ("attached", 2)


@pytest.mark.parametrize(
    "facts", [[b.missed("slots", 4)], [b.lost("slots")], [b.attached("log", "log"), b.lost("log")]]
)
def test_what_tells_no_cycles_cannot_miss_any(facts: list[object]) -> None:
    assert evidence(BASE, *LOG, LOAD.counters(7.0), *facts) == ("exact", "exact")


def test_totals_that_the_log_prints_for_a_request_are_compared_too() -> None:
    target = b.seen(*TRACED, *LOG)
    assert (target.referee.requests_checked, target.referee.requests_parted) == (2, 0)
    assert [r.agrees for r in target.requests] == [True, True]


@pytest.mark.parametrize(("drafted", "accepted"), [(49, 21), (48, 20)])
def test_a_request_whose_totals_differ_parts(drafted: int, accepted: int) -> None:
    wrong = b.logged(task=1, generated=26, drafted=drafted, accepted=accepted)
    target = b.seen(*TRACED, BASE, *WORK.log()[:-2], wrong)
    assert (target.evidence, target.referee.requests_parted) == ("parted", 1)
    assert target.requests[0].agrees is False


def test_a_request_without_printed_totals_is_not_judged() -> None:
    target = b.seen(*TRACED, *WORK.log()[:-2], b.logged(task=1, generated=26))
    assert (target.requests[0].agrees, target.referee.requests_checked) == (None, 0)


def test_polled_cycles_are_compared_without_widths_and_never_exact() -> None:
    polls = [f for w in LOAD.work for f in w.polls()]
    target = b.seen(b.found(), b.attached("slots", "polled"), BASE, *polls, LOAD.counters(9.0))
    count = target.referee.count
    assert (count.captured_cycles, count.captured_drafted, count.captured_accepted) == (6, None, 26)
    assert count.agrees
    assert (target.cycle_evidence, target.poll.completeness) == ("polled", 1.0)


def test_a_server_without_draft_counters_confirms_nothing_and_refutes_nothing() -> None:
    none = [b.counters(at, None, None, None, generated=int(at)) for at in (0.0, 9.0)]
    target = b.seen(*TRACED, none[0], *LOG[:4], none[1])
    assert (target.evidence, target.referee.count) == ("unconfirmed", None)
    assert target.referee.waiting == "this server has no draft counters"


def test_with_metrics_off_there_is_no_count_to_wait_for() -> None:
    assert b.seen(b.found(), b.props(endpoint_metrics=False)).referee.waiting == "/metrics is off"
    assert b.seen(b.found(), b.props(endpoint_metrics=True)).referee.waiting.startswith("waiting for all slots")


def test_draft_counters_that_appear_with_the_first_draft_begin_the_comparison() -> None:
    absent, first = b.counters(0.0, None, None, None), b.counters(5.0, 6, 78, 26)
    more = Work(0, 3, 6.0, ((15, 4),))
    target = b.seen(*TRACED, absent, *LOG, first, *more.log(), b.counters(9.0, 7, 93, 30))
    assert target.referee.count.cycles == 1
    assert target.evidence == "exact"


def test_the_counters_tell_the_positions_of_accepted_tokens() -> None:
    before = b.counters(0.0, 100, 1500, 300, accepted_per_position=[90, 50])
    after = b.counters(9.0, 110, 1650, 320, accepted_per_position=[98, 55, 2], generated=None)
    target = b.seen(b.found(), before, after)
    assert [(p.share, p.among_wide) for p in target.totals.survival] == [(0.8, None), (0.5, None), (0.2, None)]
    assert (target.totals.generated, target.totals.tau, target.totals.plain_steps) == (None, None, None)
    assert (target.totals.tau_draft, target.totals.width_mean) == (3.0, 15.0)
