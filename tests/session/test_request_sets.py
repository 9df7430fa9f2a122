"""How requests differ in sampling: sets, changes, kinds of clients, within a bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest

from specscope.session.provenance.request_sets import MOST_CHANGES, MOST_SETS, REMEMBERED, RequestSets
from specscope.session.provenance.state import Change

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.provenance.state import RequestDrift

COLD = {"temperature": 0.0, "top_k": 40, "min_p": 0.05, "seed": 1, "n_predict": 64, "stream": True}
HOT = COLD | {"temperature": 1.0, "seed": 2}


def asked(task: int, params: dict[str, object] | None, *, slot: int = 0) -> list[ev.Event]:
    """A request of a second."""
    return [
        b.busy(float(task), slot=slot, task=task, params=params),
        b.idle(task + 0.5, slot=slot, task=task),
    ]


def drift(*requests: list[ev.Event]) -> RequestDrift:
    return b.seen(
        b.found(), b.idle(0.0, task=None), *(fact for request in requests for fact in request)
    ).provenance.requests


def test_requests_that_are_sampled_alike_are_one_set() -> None:
    seen = drift(asked(1, COLD), asked(2, COLD | {"seed": 9, "n_predict": 8}), asked(3, None))
    assert (seen.requests, len(seen.sets), seen.varying, seen.changed) == (3, 1, (), 0)
    assert seen.sets[0].requests == 3
    assert dict(seen.sets[0].values) == {"temperature": 0.0, "top_k": 40, "min_p": 0.05}


def test_what_changed_when_and_in_which_request() -> None:
    seen = drift(asked(1, COLD), asked(2, HOT), asked(3, HOT), asked(4, COLD))
    assert [(s.requests, dict(s.values)["temperature"]) for s in seen.sets] == [(2, 0.0), (2, 1.0)]
    assert seen.varying == ("temperature",)
    assert (seen.changed, seen.changes) == (
        2,
        (
            Change(b.T0 + 2, 0, 2, (("temperature", 0.0, 1.0),)),
            Change(b.T0 + 4, 0, 4, (("temperature", 1.0, 0.0),)),
        ),
    )
    assert (seen.sets[1].first_at, seen.sets[1].last_at) == (b.T0 + 2, b.T0 + 3)


def test_slots_are_compared_with_each_other() -> None:
    seen = drift(asked(1, COLD), asked(2, HOT, slot=1))
    assert (seen.changed, seen.changes[0].slot) == (1, 1)


def test_a_parameter_that_is_not_shown_is_none() -> None:
    seen = drift(asked(1, COLD), asked(2, {k: v for k, v in COLD.items() if k != "min_p"}))
    assert seen.changes[0].settings == (("min_p", 0.05, None),)
    assert seen.varying == ("min_p",)


def test_a_request_that_ran_before_the_watch_is_not_counted_but_compared_with() -> None:
    seen = b.seen(b.found(), b.idle(0.0, task=7, params=COLD), *asked(8, HOT)).provenance.requests
    assert (seen.requests, seen.changed, seen.changes[0].task) == (1, 1, 8)


def test_the_latest_of_several_slots_is_that_of_the_highest_task() -> None:
    first_look = [b.idle(0.0, slot=i, task=task, params=p) for i, (task, p) in enumerate([(9, HOT), (5, COLD)])]
    target = b.seen(b.found(), *first_look)
    assert target.provenance.asked_by == (0, 9)
    assert target.config.sampling["temperature"] == 1.0
    again = b.seen(b.found(), *first_look, *asked(10, None)).provenance.requests
    assert (again.requests, again.changed) == (1, 0)  # with the same parameters, which are told once


def test_a_slot_that_asks_as_before_is_the_latest_again() -> None:
    facts = [*asked(1, COLD), *asked(2, HOT, slot=1), *asked(3, None)]
    target = b.seen(b.found(), b.idle(0.0, task=None), *facts)
    assert target.provenance.asked_by == (0, 3)
    assert target.config.sampling == COLD


def test_a_request_that_was_over_before_the_next_look_is_counted() -> None:
    seen = b.seen(b.found(), b.idle(0.0, task=None), b.idle(1.0, task=3, params=COLD)).provenance.requests
    assert seen.requests == 1


def test_a_slot_that_tells_no_parameters_counts_nothing() -> None:
    assert drift(asked(1, None)).requests == 0


def test_what_tells_clients_apart() -> None:
    chat = COLD | {"chat_format": "peg-native"}
    raw = HOT | {"chat_format": "Content-only", "stream": False, "timings_per_token": True, "n_probs": 3}
    seen = drift(asked(1, chat), asked(2, chat), asked(3, raw))
    assert [s.kinds for s in seen.sets] == [
        (("chat, streamed", 2),),
        (("completion, at once, with timings, with probabilities", 1),),
    ]


def test_what_each_set_was_worth() -> None:
    facts = [b.attached("log", "cycles")]
    for task, params, accepted, ms in ((1, COLD, 8, 1000.0), (2, HOT, 2, 2000.0)):
        begins, ends = asked(task, params)
        cycles = [b.cycle(task + 0.1 * i, 10, accepted, task=task) for i in range(1, 4)]
        generated = 1 + 3 * (accepted + 1)
        facts += [begins, *cycles, b.logged(task + 0.4, task=task, generated=generated, generated_ms=ms), ends]
    found = {dict(s.values)["temperature"]: s for s in drift(facts).sets}
    assert (found[0.0].acceptance, found[1.0].acceptance) == (0.8, 0.2)
    assert (found[0.0].tok_s, found[1.0].tok_s) == (pytest.approx(27.0), pytest.approx(4.5))
    assert (found[0.0].tau, found[1.0].tau) == (pytest.approx(7.0), pytest.approx(2.5))


def test_a_client_that_draws_its_parameters_fills_no_memory() -> None:
    many = [asked(i, COLD | {"temperature": i / 10_000}) for i in range(1, 3 * REMEMBERED)]
    fold = b.fold(b.found(), b.idle(0.0, task=None), *(fact for request in many for fact in request))
    book = fold.targets["t0"].epoch.asked
    seen = fold.view().targets[0].provenance.requests
    assert (seen.requests, len(seen.sets), seen.unlisted) == (len(many), MOST_SETS, len(many) - MOST_SETS)
    assert (len(seen.changes), seen.changed) == (MOST_CHANGES, len(many) - 1)
    assert len(book._of_task) <= REMEMBERED


def test_counting_anew_keeps_what_runs_and_what_the_next_is_compared_with() -> None:
    fold = b.fold(b.found(), b.idle(0.0, task=None), *asked(1, COLD), b.busy(2.0, task=2, params=HOT))
    fold.reset()
    fold.apply(b.idle(2.5, task=2))
    assert fold.view().targets[0].provenance.requests.requests == 0
    for fact in asked(3, COLD):
        fold.apply(fact)
    seen = fold.view().targets[0].provenance.requests
    assert (seen.requests, seen.changed, seen.changes[0].settings) == (1, 1, (("temperature", 1.0, 0.0),))


def test_a_restart_forgets_all() -> None:
    fold = b.fold(b.found(), b.started("1"), b.idle(0.0, task=None), *asked(1, COLD), b.started("2", at=2.0))
    assert fold.view().targets[0].provenance.requests.requests == 0


def test_nothing_seen() -> None:
    assert RequestSets().view(()).sets == ()


def test_how_well_the_mean_tau_of_a_set_is_known() -> None:
    facts: list[list[ev.Event]] = []
    for task, accepted in ((1, 3), (2, 4), (3, 5)):
        begun = b.busy(task, task=task, params=COLD)
        cycles = [b.cycle(task + 0.01 * i, 7, accepted, task=task) for i in range(1, 31)]
        ended = b.logged(task + 0.45, task=task, generated=1 + 30 * (accepted + 1))
        facts.append([b.launched(task - 0.01, task=task), begun, *cycles, ended, b.idle(task + 0.5, task=task)])
    (cold,) = drift(*facts).sets
    assert (cold.decoded, cold.decode_tau) == (3, pytest.approx(5.0))  # 1 + the accepted ones: 4, 5, 6
    assert cold.tau < cold.decode_tau
    assert cold.decode_tau_se == pytest.approx(1 / 3**0.5)
    (one,) = drift(facts[0]).sets
    assert (one.decoded, one.decode_tau_se) == (1, None)
