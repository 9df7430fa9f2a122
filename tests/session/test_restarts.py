"""A server process that ends and another that begins: nothing counted before leaks into what follows."""

from __future__ import annotations

from itertools import permutations

import builders as b
import msgspec
import pytest
from simulated import Work

TRACED = [b.found(), b.attached("slots", "totals"), b.attached("log", "cycles")]
BEFORE = Work(0, 1, 1.0, ((15, 5), (15, 0), (15, 15)))
AFTER = Work(0, 1, 60.0, ((15, 3),))
FIRST = {"http": "17", "process": "4242@1.5", "contact": "1"}
SECOND = {"http": "18", "process": "4243@9.5", "contact": "2"}


def tokens(of: dict[str, str], kinds: tuple[str, ...], at: float) -> list[object]:
    return [b.started(of[kind], kind, at=at) for kind in kinds]


@pytest.mark.parametrize("before", list(permutations(FIRST)))
@pytest.mark.parametrize("after", list(permutations(SECOND)))
def test_three_witnesses_of_one_restart_are_one_restart(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    target = b.seen(*TRACED, *tokens(FIRST, before, 0.0), *BEFORE.log(), *tokens(SECOND, after, 50.0), *AFTER.log())
    assert (target.epoch, target.restarts) == (2, (b.T0 + 50.0,))
    assert target.totals.joint == ((15, 3, 1),)


@pytest.mark.parametrize("kinds", [("http",), ("process",), ("contact",), ("contact", "http")])
def test_any_witness_alone_is_enough(kinds: tuple[str, ...]) -> None:
    target = b.seen(*TRACED, *tokens(FIRST, kinds, 0.0), *BEFORE.log(), *tokens(SECOND, kinds, 50.0))
    assert (target.epoch, target.totals.cycles, target.cycles, target.requests) == (2, None, (), ())


def test_a_witness_that_comes_for_the_first_time_tells_of_no_restart() -> None:
    target = b.seen(*TRACED, b.started("17"), *BEFORE.log(), b.started("4242@1.5", "process"), b.started("17"))
    assert (target.epoch, target.totals.cycles) == (1, 3)


def test_restarts_one_after_the_other_are_counted() -> None:
    facts = [b.started(str(n), at=float(n)) for n in range(4)]
    target = b.seen(*TRACED, *facts)
    assert (target.epoch, target.restarts) == (4, (b.T0 + 1, b.T0 + 2, b.T0 + 3))


def test_nothing_of_before_is_left() -> None:
    told = [b.props(build="b1"), b.said("spec_type_detected", type="draft-mtp"), b.busy(0.9, fill_tokens=77)]
    counts = [b.counters(0.0, 0, 0, 0, generated=0), b.counters(8.0, 3, 45, 20, generated=25)]
    begin = [*TRACED, b.started("17"), *told, counts[0], *BEFORE.log(), counts[1], b.missed("log")]
    target = b.seen(*begin, b.started("18", at=50.0))
    assert (target.totals.cycles, target.totals.generated, target.evidence) == (None, None, "unknown")
    assert (target.cycles, target.requests, target.slots, target.log_said) == ((), (), (), {})
    assert (target.rates.steps, target.rates.tok_s) == (0, None)
    assert (target.referee.count, target.referee.missed, target.referee.requests_checked) == (None, 0, 0)
    assert (target.poll.merged, target.props, target.usage) == (0, None, None)
    assert target.referee.waiting == "waiting for all slots to be idle once"
    assert b.seen(*begin).props.build == "b1"


def test_what_outlives_a_process_stays() -> None:
    outlive = [b.process("-m m.gguf"), b.model(n_vocab=10), b.mark("code")]
    target = b.seen(*TRACED, *outlive, b.started("17"), b.started("18", at=50.0), *AFTER.log())
    assert (target.flags.model, target.models["target"].n_vocab) == ("m.gguf", 10)
    assert {s.name: s.state for s in target.sources} == {"slots": "attached", "log": "attached"}
    assert target.requests[0].label == "code"
    assert {c.seen_by for c in target.cycles} == {"log"}


def test_model_files_that_the_new_process_was_not_given_are_forgotten() -> None:
    files = [b.model(), b.model("drafter", arch="dflash")]
    old = [b.process("-m target.gguf -md drafter.gguf"), *files, b.started("4242@1.5", "process")]
    plain, other, same = (
        msgspec.structs.replace(b.process(line, at=50.0), pid=4243)
        for line in ("-m /models/target.gguf", "-m other.gguf", "-m target.gguf -md drafter.gguf")
    )
    assert set(b.seen(*TRACED, *old, b.model(), plain).models) == {"target"}
    assert set(b.seen(*TRACED, *old, plain, b.model()).models) == {"target"}
    assert set(b.seen(*TRACED, *old, other).models) == set()
    assert set(b.seen(*TRACED, *old, *files, same).models) == {"target", "drafter"}
    assert set(b.seen(*TRACED, *old, old[0]).models) == {"target", "drafter"}


def test_the_same_slot_and_task_after_a_restart_are_another_request() -> None:
    target = b.seen(*TRACED, b.started("17"), *BEFORE.log(), b.started("18", at=50.0), *AFTER.log())
    assert [(r.task, r.cycles) for r in target.requests] == [(1, 1)]
    assert [c.number for c in target.cycles] == [1]


def test_the_comparison_begins_anew() -> None:
    old = b.counters(8.0, 3, 45, 20, generated=25)
    new = [b.counters(55.0, 0, 0, 0, generated=0), *AFTER.log(), b.counters(70.0, 1, 15, 3, generated=5)]
    target = b.seen(*TRACED, b.started("17"), *BEFORE.log(), old, b.started("18", at=50.0), *new)
    assert (target.evidence, target.referee.count.cycles, target.epoch) == ("exact", 1, 2)


@pytest.mark.parametrize("back", [{"drafts": 2}, {"generated": 24}, {"prompt": 17}])
@pytest.mark.parametrize("idle", [True, False])
def test_counters_that_go_backwards_are_a_restart(back: dict[str, int], *, idle: bool) -> None:
    # Builds without the process's start time in a header: the counters of a new process begin at nought.
    counts = {"drafts": 3, "drafted": 45, "accepted": 20, "generated": 25, "prompt": 18}
    before, after = (b.counters(at, **c, idle=idle) for at, c in ((8.0, counts), (50.0, counts | back)))
    target = b.seen(*TRACED, *BEFORE.log(), before, after)
    assert (target.epoch, target.totals.cycles) == (2, None)
    same = b.seen(*TRACED, *BEFORE.log(), before, b.counters(50.0, **counts, idle=idle))
    assert (same.epoch, same.totals.cycles) == (1, 3)


@pytest.mark.parametrize("kinds", list(permutations(SECOND)))
def test_counters_that_go_backwards_and_the_witnesses_are_one_restart(kinds: tuple[str, ...]) -> None:
    before = [*tokens(FIRST, kinds, 0.0), *BEFORE.log(), b.counters(8.0, 3, 45, 20)]
    backwards = b.counters(50.0, 0, 0, 0)
    for cut in range(len(kinds) + 1):
        witnesses = tokens(SECOND, kinds, 50.0)
        target = b.seen(*TRACED, *before, *witnesses[:cut], backwards, *witnesses[cut:])
        assert target.epoch == 2


def test_counters_without_a_figure_do_not_go_backwards() -> None:
    target = b.seen(*TRACED, b.counters(1.0, 3, 45, 20), b.counters(2.0, None, None, None), b.counters(3.0, 3, 45, 20))
    assert target.epoch == 1


def test_requests_that_run_when_the_server_goes_down_are_lost() -> None:
    ended, running = Work(0, 1, 1.0, ((15, 5),)), Work(1, 2, 1.5, ((15, 5), (15, 3)))
    down = b.server("down", at=3.0)
    target = b.seen(*TRACED, b.server("ready"), *ended.log(), *running.log()[:2], down)
    assert [(r.task, r.stop, r.ended_at) for r in target.requests] == [
        (1, "finished", pytest.approx(b.T0 + ended.ends)),
        (2, "lost", b.T0 + 3.0),
    ]
    assert (target.server, target.server_since) == ("down", b.T0 + 3.0)


def test_a_server_that_stays_down_is_told_once() -> None:
    down = [b.server("down", at=3.0), b.server("down", at=4.0)]
    target = b.seen(*TRACED, *BEFORE.log()[:2], down[0], b.launched(3.5, task=9), down[1])
    assert [(r.task, r.stop) for r in target.requests] == [(1, "lost"), (9, None)]


def test_what_the_new_process_logged_before_its_first_answer_is_kept() -> None:
    # It prints its settings while it loads its model; only when it answers is the restart known.
    old = [b.said("build", number="1"), b.said("spec_type_detected", type="draft-mtp"), b.props(at=1.0)]
    new = [b.said("verbosity", at=48.0), b.said("build", at=48.0, number="2"), b.said("trace_on", at=49.0)]
    target = b.seen(*TRACED, *old, b.started("17"), b.server("down", at=40.0), *new, b.started("18", at=50.0))
    assert target.log_said == {"verbosity": {}, "build": {"number": "2"}, "trace_on": {}}
    assert target.epoch == 2


def test_what_the_old_process_logged_is_forgotten() -> None:
    old = [b.said("build", number="1"), b.said("spec_type_detected", type="draft-mtp"), b.idle(5.0)]
    assert b.seen(*TRACED, *old, b.started("17"), b.started("18", at=50.0)).log_said == {}


def test_a_new_start_in_the_log_voids_what_it_said_before() -> None:
    old = [b.said("build", number="1"), b.said("synthetic_acceptance")]
    new = [
        b.said("env_overridden", variable="LLAMA_ARG_PORT"),
        b.said("verbosity", level="3"),
        b.said("build", number="2"),
    ]
    target = b.seen(*TRACED, *old, *new)
    assert target.log_said == {
        "env_overridden": {"variable": "LLAMA_ARG_PORT"},
        "verbosity": {"level": "3"},
        "build": {"number": "2"},
    }


def test_a_stream_of_the_old_process_tells_nothing_of_the_new_one() -> None:
    chunks = BEFORE.stream()
    restarted = [b.started("17"), *chunks[:3], b.started("18", at=50.0)]
    target = b.seen(*TRACED, *restarted, *chunks[3:])
    assert (target.totals.cycles, target.requests) == (None, ())


def test_a_reset_keeps_what_is_no_count() -> None:
    said = [b.said("build", number="1"), b.props(build="b1"), b.busy(0.9, fill_tokens=77, n_ctx=4096)]
    fold = b.fold(*TRACED, b.started("17"), *said, *BEFORE.log(), b.mark("code"))
    fold.reset()
    (target,) = fold.view().targets
    assert (target.log_said, target.props.build, target.epoch) == ({"build": {"number": "1"}}, "b1", 1)
    assert (target.slots[0].fill_tokens, target.slots[0].n_ctx) == (77, 4096)
    assert (target.totals.cycles, target.cycles, target.requests, target.referee.requests_checked) == (None, (), (), 0)
    for fact in (b.started("17"), *Work(0, 2, 9.0, ((15, 1),)).log()):
        fold.apply(fact)
    (target,) = fold.view().targets
    assert (target.epoch, target.totals.joint, target.requests[0].label) == (1, ((15, 1, 1),), "code")


def test_a_request_that_runs_through_a_reset_has_no_begin() -> None:
    fold = b.fold(b.found(), b.attached("slots", "polled"), b.busy(0.5), b.step(0.6, 1), b.step(0.62, 7))
    fold.reset()
    for fact in (b.busy(0.63, decoded=7, n_ctx=4096), b.step(0.64, 12), b.step(0.66, 14)):
        fold.apply(fact)
    (target,) = fold.view().targets
    assert (target.requests[0].whole, target.totals.plain_steps) == (False, 0)
    assert [(c.accepted, c.gap_ms) for c in target.cycles] == [(4, None), (1, pytest.approx(20.0))]
