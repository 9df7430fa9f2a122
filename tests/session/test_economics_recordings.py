"""Runs of a real server on an H200: the speedup that is told, and what a run with speculation off says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from replayed import folded

from specscope.session.economics.recorded import recorded_run

if TYPE_CHECKING:
    from specscope.session.state import Target


def seen(name: str, *runs: str) -> Target:
    recorded = tuple(recorded_run(seen(run), run) for run in runs)
    fold = folded(name)
    fold.targets["t0"].economics.runs = recorded
    return fold.view().targets[0]


def tok_s(target: Target) -> float:
    """Tokens per second of decoding by the server's own clock, over all requests."""
    return target.regimes[0].tok_s


@pytest.mark.parametrize("name", ["h200_dflash", "h200_host_argmax", "h200_top_k_0"])
def test_a_run_with_speculation_off_confirms_the_speedup(name: str) -> None:
    target, plain = seen(name, "h200_plain"), seen("h200_plain")
    speedup = target.economics.speedup
    assert tok_s(plain) == pytest.approx(343.4, abs=0.1)
    assert speedup.low <= tok_s(target) / tok_s(plain) <= speedup.high
    assert speedup.high / speedup.low < 1.4
    assert target.economics.plain.basis == "2,396 plain steps of h200_plain"


def test_drafts_that_are_always_full_do_not_tell_what_a_narrower_one_costs() -> None:
    economics = seen("h200_dflash", "h200_plain").economics
    assert economics.best_n_max is None
    assert economics.try_next.n_max == 7
    assert economics.drafting.by == "block"
    assert economics.drafting.share == pytest.approx(0.35, abs=0.03)


def test_sorting_the_whole_vocabulary_makes_off_the_better_choice() -> None:
    economics = seen("h200_top_k_0", "h200_plain").economics
    assert (economics.best_n_max, economics.sure) == (0, True)
    assert economics.gain_pct.low < 88 < economics.gain_pct.high  # 343.4 against 182.2 tok/s
    assert economics.tau.value > 6  # and yet six tokens are gained by each cycle
    assert economics.break_even_tau.low > 10


def test_without_a_recorded_run_plain_time_is_unknown_and_off_is_to_be_tried() -> None:
    economics = seen("h200_dflash").economics
    assert (economics.plain, economics.speedup, economics.break_even_tau) == (None, None, None)
    assert economics.curve[0].tok_s is None


def test_two_slots_share_their_turns() -> None:
    economics = seen("two_slots").economics
    assert economics.slots == 2
    assert economics.cycle_ms.value > 1.5 * seen("dflash").economics.cycle_ms.value


def test_an_ngram_servers_gaps_hold_plain_steps_and_are_no_cycle_times() -> None:
    economics = seen("ngram").economics
    assert economics.costs == ()
    assert economics.plain.how == "this run"  # a request in which the tables found nothing
    assert economics.best_n_max is None
