"""Prompts apart from decoding."""

from __future__ import annotations

import builders as b
import pytest
from economics_bench import Bench

from specscope.session.economics.recorded import recorded_run
from specscope.session.economics.state import PlainPoint, RecordedRun


def prompts(*times: tuple[int, float, int]) -> list[b.ev.Event]:
    """Requests with so many computed tokens in so many milliseconds, and so many from the cache."""
    facts: list[b.ev.Event] = [b.found()]
    for task, (tokens, ms, cached) in enumerate(times, 1):
        facts += [
            b.launched(10.0 * task, task=task),
            b.busy(10.0 * task, task=task, processed_tokens=tokens, cached_tokens=cached),
            b.logged(10.0 * task + 5, task=task, prompt_tokens=tokens, prompt_ms=ms, generated=10, generated_ms=100.0),
        ]
    return facts


def test_speed_cache_and_first_token() -> None:
    prefill = b.seen(b.found(), *prompts((1000, 500.0, 0), (3000, 1500.0, 4000), (50, 40.0, 8000))[1:]).prefill
    assert (prefill.requests, prefill.tokens, prefill.cached_tokens) == (3, 4050, 12000)
    assert prefill.cache_share == pytest.approx(12000 / 16050)
    assert prefill.tok_s == pytest.approx(4050 / 2.040)
    assert (prefill.ttft_ms, prefill.ttft_p95_ms) == (500.0, 1500.0)
    assert (prefill.drafter_ms, prefill.pays_back_tokens) == (None, None)


def test_a_prompt_whose_tokens_nobody_told_is_unknown_and_not_nought() -> None:
    prefill = b.seen(b.found(), b.launched(), b.cycle(), b.released()).prefill
    assert (prefill.tokens, prefill.cache_share, prefill.tok_s, prefill.ttft_ms) == (None, None, None, None)


def test_before_a_request_there_is_none() -> None:
    assert b.seen(b.found()).prefill is None


def test_beside_a_run_without_a_drafter_its_share_and_when_it_is_paid_back() -> None:
    # 100 tokens in 50 ms with the drafter; without it prompts go at 2,500 a second: 10 ms of 50 are the drafter's.
    plain = (PlainPoint(160.0, 8.0, 7.9, 8.1, 1000),)
    run = RecordedRun("off.jsonl", plain=plain, depth=160.0, prefill_tok_s=2500.0, prompt_tokens=100)
    target = Bench(cost=lambda _w: 10.0).target(run)
    assert target.prefill.drafter_ms == pytest.approx(10.0)
    assert target.prefill.drafter_share == pytest.approx(0.2)
    # A token takes 8 ms plain and 10 ms / tau drafted: the ten are gained back within a few tokens.
    plain_ms = target.economics.plain.ms
    saved = plain_ms - plain_ms / target.economics.speedup.value
    assert target.prefill.pays_back_tokens == pytest.approx(10.0 / saved)
    assert 1 < target.prefill.pays_back_tokens < 3


def test_a_drafter_whose_part_cannot_be_told_is_unknown_and_not_nought() -> None:
    # Prompts go at 2,000 a second with the drafter, and went at 1,900 in the run without it.
    plain = (PlainPoint(160.0, 8.0, 7.9, 8.1, 1000),)
    run = RecordedRun("off.jsonl", plain=plain, depth=160.0, prefill_tok_s=1900.0, prompt_tokens=100)
    told = Bench(cost=lambda _w: 10.0).target(run).prefill
    assert (told.drafter_ms, told.drafter_share, told.pays_back_tokens) == (None, None, None)
    assert told.basis == "not told apart: prompts were no faster in off.jsonl, without a drafter"


def test_where_speculation_loses_nothing_is_ever_paid_back() -> None:
    plain = (PlainPoint(160.0, 8.0, 7.9, 8.1, 1000),)
    run = RecordedRun("off.jsonl", plain=plain, depth=160.0, prefill_tok_s=2500.0, prompt_tokens=100)
    target = Bench(cost=lambda _w: 60.0).target(run)
    assert target.prefill.drafter_ms == pytest.approx(10.0)
    assert target.prefill.pays_back_tokens is None


def test_a_recorded_run_keeps_its_prompt_speed_and_whether_it_drafted() -> None:
    off, on = Bench(n_max=0, requests=3).target(), Bench(requests=10).target()
    assert (recorded_run(off, "a").drafts, recorded_run(on, "b").drafts) == (False, True)
    assert recorded_run(off, "a").prefill_tok_s == pytest.approx(2000.0)
