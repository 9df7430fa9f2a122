"""The sentence on how far the figures can be trusted, in each case."""

from __future__ import annotations

from specscope.session.referee_state import Referee, RefereeCount
from specscope.session.request_state import Slot
from specscope.session.state import PollView, Target, Totals
from specscope.views.referee_words import referee_sentence

AGREES = RefereeCount(521, 7815, 2900, 521, 7815, 2900)
TOO_MUCH = RefereeCount(30, 90, 9, 40, None, 134)


def said(target: Target) -> str:
    return referee_sentence(target, speculating=True)[0]


def test_exact_by_the_log_before_any_counter() -> None:
    waiting = Referee(None, 3, 0, 0, "the counters are read when the slots are idle")
    checked = "3 of 3 requests = log totals; "
    assert said(Target("t0", cycle_evidence="exact", referee=waiting)) == (
        checked + "counters are compared when the slots are idle"
    )
    never = Referee(None, 3, 0, 0, "this server has no draft counters")
    assert said(Target("t0", cycle_evidence="exact", referee=never)) == checked + "this server has no draft counters"
    off = Referee(None, 3, 0, 0, "/metrics is off")
    assert said(Target("t0", cycle_evidence="exact", referee=off)) == checked + "/metrics is off"
    assert said(Target("t0", cycle_evidence="unconfirmed", referee=off)).startswith(
        "not yet confirmed: /metrics is off"
    )
    assert said(Target("t0", referee=off)) == "no cycle seen yet"


def test_exact_by_the_count_tells_what_it_does_not_cover() -> None:
    def target(cycles: int, *, busy: bool = True) -> Target:
        slots = (Slot(0, busy=busy),)
        return Target("t0", cycle_evidence="exact", totals=Totals(cycles=cycles), referee=Referee(AGREES), slots=slots)

    assert said(target(521)) == "cycles 521 = server 521, accepted 2,900 = 2,900"
    assert said(target(567)).startswith("cycles 521 = server 521, 46 since then not yet compared, accepted")
    assert said(target(567, busy=False)).startswith("cycles 521 = server 521, 46 more not compared, accepted")


def test_unconfirmed_says_what_it_waits_for() -> None:
    waiting = Referee(None, 0, 0, 0, "waiting for all slots to be idle once")
    assert said(Target("t0", cycle_evidence="unconfirmed", referee=waiting)) == (
        "not yet confirmed: waiting for all slots to be idle once"
    )
    missed = Referee(AGREES, 2, 0, 3)
    assert said(Target("t0", cycle_evidence="unconfirmed", referee=missed)) == (
        "not yet confirmed: 3 missed since cycles 521 = server 521, 2 of 2 requests = log totals"
    )


def test_polling_that_is_too_slow_is_loud() -> None:
    polled = Target("t0", cycle_evidence="parted", referee=Referee(TOO_MUCH), poll=PollView(1.2, 1.0))
    assert referee_sentence(polled, speculating=True) == (
        "POLLING IS TOO SLOW HERE: it saw 134 accepted, the server counted 9: LLAMA_TRACE=1 shows every cycle",
        True,
    )
    lines = Target("t0", cycle_evidence="parted", referee=Referee(TOO_MUCH))
    assert said(lines) == "NOT EXACT: cycles 40 ≠ server 30, accepted 134 ≠ server 9"
