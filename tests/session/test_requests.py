"""The rows of requests, and what else a watch keeps: sources, marks, its own cost."""

from __future__ import annotations

import builders as b
import pytest
from simulated import Work

from specscope import events as ev
from specscope.session.fold import Fold

TRACED = [b.found(), b.attached("slots", "totals"), b.attached("log", "cycles")]
WORK = Work(0, 1, 1.0, ((15, 5), (15, 3)))


def only(*facts: object) -> object:
    (row,) = b.seen(*TRACED, *facts).requests
    return row


def test_speed_is_counted_as_the_server_does() -> None:
    # The first token comes with the prompt: `120 tokens .. 814.11 ms .. 146.17 tokens per second` in the log.
    row = only(b.launched(), b.logged(generated=120, generated_ms=814.11))
    assert row.tok_s == pytest.approx(146.17, abs=0.005)
    assert only(b.launched(), b.logged(generated=1, generated_ms=0.001)).tok_s is None
    assert only(b.launched(), b.logged(generated=9)).tok_s is None
    assert only(b.launched()).tok_s is None


def test_the_first_tokens_time_comes_from_the_client_then_the_server_then_polling() -> None:
    polled = [b.busy(1.0), b.step(1.25, 1)]
    assert only(*polled).ttft_ms == pytest.approx(250.0)
    assert only(*polled, b.logged(prompt_ms=240.0)).ttft_ms == 240.0
    assert only(*polled, b.logged(prompt_ms=240.0), b.chunk(1.26, 1), b.streamed(9.5, ttft_ms=260.0)).ttft_ms == 260.0
    assert only(b.launched()).ttft_ms is None


def test_a_limit_reached_is_the_reason_of_the_stop() -> None:
    begun = b.busy(0.5, params={"n_predict": 12})
    assert only(begun, b.logged(generated=12)).stop == "limit"
    assert only(begun, b.logged(generated=11)).stop == "finished"
    assert only(b.busy(0.5, params={"n_predict": -1}), b.logged(generated=11)).stop == "finished"
    assert only(b.busy(0.5, params={"max_tokens": 11}), b.logged(generated=11)).stop == "limit"


def test_what_the_stream_or_the_log_says_of_the_stop_is_kept() -> None:
    assert only(b.launched(), b.chunk(1.0, 1), b.streamed(stop="word"), b.logged(generated=3)).stop == "word"
    assert only(b.launched(), b.said("request_cancelled", task="1"), b.released()).stop == "cancelled"
    assert only(b.launched(), b.said("request_cancelled", task="2"), b.released()).stop == "finished"


def test_a_running_request_has_no_stop_and_grows() -> None:
    row = only(*WORK.log()[:-2])
    assert (row.stop, row.ended_at, row.generated, row.cycles) == (None, None, 10, 2)


def test_a_second_end_changes_neither_time_nor_count() -> None:
    target = b.seen(*TRACED, *WORK.log(), b.released(9.0), b.idle(9.1))
    assert target.requests[0].ended_at == pytest.approx(b.T0 + WORK.ends)


def test_marks_name_the_requests_that_begin_after_them() -> None:
    facts = [b.launched(1.0, task=1), b.mark("code", at=1.5), b.launched(2.0, task=2), b.mark("", at=2.5)]
    fold = b.fold(*TRACED, *facts, b.launched(3.0, task=3))
    view = fold.view()
    assert [r.label for r in view.targets[0].requests] == [None, "code", None]
    assert view.marks == ((b.T0 + 1.5, "code"), (b.T0 + 2.5, ""))


def test_a_label_is_that_of_the_moment_at_which_the_request_began_however_late_it_is_told() -> None:
    told_late = [b.mark("code", at=1.0), b.mark("prose", at=2.0), b.launched(1.9, task=1), b.launched(2.1, task=2)]
    assert [r.label for r in b.seen(*told_late).requests] == ["code", "prose"]
    assert [r.label for r in b.seen(b.launched(0.9, task=1), b.mark("code", at=1.0)).requests] == [None]


def test_a_mark_is_for_servers_that_are_found_later_too() -> None:
    fold = Fold()
    fold.apply(b.mark("code"))
    fold.apply(ev.RequestLaunched(at=b.T0 + 1, target="t1", slot=0, task=1))
    (target,) = fold.view().targets
    assert (target.id, target.requests[0].label) == ("t1", "code")


def test_two_servers_are_kept_apart() -> None:
    fold = b.fold(*TRACED, *WORK.log())
    for fact in (b.found(), b.cycle(w=7, a=1)):
        fold.apply(type(fact)(**{n: getattr(fact, n) for n in fact.__struct_fields__} | {"target": "t1"}))
    first, second = fold.view().targets
    assert (first.id, first.totals.cycles, second.id, second.totals.cycles) == ("t0", 2, "t1", 1)


def test_the_tier_is_the_best_of_what_delivers() -> None:
    assert b.seen(*TRACED).tier == "cycles"
    assert b.seen(*TRACED, b.lost("log")).tier == "totals"
    assert b.seen(b.found(), b.lost("log")).tier == "none"


def test_sources_say_how_they_fare() -> None:
    target = b.seen(*TRACED, b.lost("log", at=5.0, reason="no such file"))
    assert [(s.name, s.state, s.tier, s.since, s.detail) for s in target.sources] == [
        ("slots", "attached", "totals", b.T0, ""),
        ("log", "lost", "none", b.T0 + 5, "no such file"),
    ]


def test_the_watch_knows_its_own_cost_and_end() -> None:
    cost = ev.OwnCostSampled(at=b.T0, cpu_pct=0.8, rss_bytes=61_000_000)
    view = b.fold(*TRACED, cost, ev.WatchEnded(at=b.T0 + 9)).view()
    assert (view.own_cost.cpu_pct, view.own_cost.rss_bytes, view.own_cost.requests_per_s) == (0.8, 61_000_000, None)
    assert view.ended is True
    assert b.fold(*TRACED).view().ended is False


def test_what_was_found_out_about_the_server_is_shown() -> None:
    usage = ev.ProcessSampled(at=b.T0, cpu_pct=140.0)
    facts = [
        b.process("-m m.gguf --port 9"),
        usage,
        b.model(n_vocab=10),
        b.server("ready", at=2.0),
        b.props(build="b1"),
    ]
    target = b.seen(b.found(pid=7), *facts)
    assert (target.url, target.pid, target.server, target.server_since) == (
        "http://127.0.0.1:8080",
        4242,
        "ready",
        b.T0 + 2,
    )
    assert (target.flags.port, target.usage.cpu_pct, target.props.build) == (9, 140.0, "b1")
    assert target.models["target"].n_vocab == 10
    assert target.last_fact_at == b.T0


def test_a_target_named_again_keeps_what_the_second_naming_leaves_out() -> None:
    target = b.seen(b.found(pid=7), b.found(url=None, kind="ik_llama"))
    assert (target.url, target.pid, target.kind) == ("http://127.0.0.1:8080", 7, "ik_llama")


def test_slots_keep_their_last_reading_and_highest_fill() -> None:
    facts = [b.busy(1.0, slot=1, fill_tokens=900, n_ctx=4096), b.idle(2.0, slot=1), b.idle(3.0, slot=1, fill_tokens=12)]
    target = b.seen(b.found(), b.busy(0.5, fill_tokens=5), *facts)
    assert [s.id for s in target.slots] == [0, 1]
    slot = target.slots[1]
    assert (slot.busy, slot.n_ctx, slot.fill_tokens, slot.fill_max_tokens) == (False, 4096, 12, 900)
    assert target.slots[0].busy is True


def test_a_thousand_requests_on_other_slots_do_not_push_out_one_that_runs() -> None:
    fold = b.fold(*TRACED, b.launched(0.1, slot=3, task=0), b.cycle(0.2, 15, 5, slot=3, task=0))
    for number in range(1, 1200):
        fold.apply(b.launched(float(number), task=number))
        fold.apply(b.released(number + 0.5, task=number))
    fold.apply(b.cycle(1300.0, 15, 2, slot=3, task=0))
    (target,) = fold.view().targets
    assert len(target.requests) == 1000
    assert (target.requests[0].task, target.requests[0].cycles, target.requests[0].ended_at) == (0, 2, None)


def test_the_fold_ends_the_slots_earlier_request_when_the_next_begins() -> None:
    target = b.seen(*TRACED, b.launched(1.0, task=1), b.launched(2.0, task=2))
    assert [(r.task, r.ended_at) for r in target.requests] == [(1, b.T0 + 2.0), (2, None)]


def test_an_idle_reading_older_than_the_request_does_not_end_it() -> None:
    target = b.seen(*TRACED, b.launched(2.0, task=2), b.idle(1.9, task=None))
    assert target.requests[0].ended_at is None


def test_an_idle_reading_that_names_another_task_does_not_end_it() -> None:
    target = b.seen(*TRACED, b.launched(2.0, task=6), b.idle(9.0, task=5))
    assert target.requests[0].ended_at is None


def test_a_request_first_met_at_its_end_has_no_begin() -> None:
    row = only(b.logged(generated=9, generated_ms=100.0))
    assert (row.whole, row.tau, row.generated, row.tok_s) == (False, None, 9, 80.0)
    assert b.seen(*TRACED, b.logged(generated=9)).totals.generated is None


def test_figures_of_the_prompt_stay_when_a_later_reading_lacks_them() -> None:
    row = only(b.busy(1.0, processed_tokens=30, cached_tokens=12), b.busy(1.1, n_ctx=4096))
    assert (row.prompt_tokens, row.cached_tokens) == (30, 12)


def test_facts_that_change_no_count_are_folded() -> None:
    progress = ev.RequestProgressed(at=b.T0 + 3, slot=0, task=1, decoded=131)
    statistics = ev.StatisticsLogged(at=b.T0 + 4, method="ngram", drafts=1, drafts_accepted=1, drafted=1, accepted=1)
    target = b.seen(*TRACED, progress, statistics)
    assert (target.last_fact_at, target.requests, target.totals.cycles) == (b.T0 + 4, (), None)
