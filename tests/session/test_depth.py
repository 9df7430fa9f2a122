"""Speed and tau by KV depth."""

from __future__ import annotations

import builders as b
import pytest

from specscope.session.depth import MIN_STEPS


def test_steps_stand_in_the_band_of_the_tokens_they_attended_to() -> None:
    shallow = [b.step(1 + 0.02 * i, 1 + 5 * i, fill_tokens=100 + 5 * i) for i in range(30)]
    deep = [b.step(9 + 0.05 * i, 1 + 5 * i, task=2, fill_tokens=40_000 + 5 * i) for i in range(30)]
    facts = [
        b.found(),
        b.idle(0.1, task=0),
        b.busy(0.5, decoded=0),
        *shallow,
        b.busy(8.5, task=2, decoded=0),
        *deep,
    ]
    low, high = b.seen(*facts).by_depth
    assert (low.tokens, low.to_tokens) == (0, 1024)
    assert (high.tokens, high.to_tokens) == (32_768, 65_536)
    assert low.tok_s == pytest.approx(5 / 0.02)
    assert high.tok_s == pytest.approx(5 / 0.05)
    assert low.tau == high.tau == pytest.approx(5.0)


def test_too_few_steps_make_no_speed() -> None:
    few = [b.step(1 + 0.02 * i, 1 + 5 * i, fill_tokens=100 + 5 * i) for i in range(MIN_STEPS)]
    assert b.seen(b.found(), b.idle(0.1, task=0), b.busy(0.5, decoded=0), *few).by_depth == ()


def test_without_a_fill_the_depth_is_unknown() -> None:
    cycles = [b.cycle(1 + 0.02 * i) for i in range(60)]
    assert b.seen(b.found(), b.launched(), *cycles).by_depth == ()


def test_what_a_stronger_source_tells_again_is_counted_once() -> None:
    facts = [b.found(), b.idle(0.1, task=0), b.busy(0.5, decoded=0)]
    polled = [b.step(1 + 0.02 * i, 1 + 6 * i, fill_tokens=100 + 6 * i) for i in range(40)]
    logged = [b.cycle(1.0 + 0.02 * i, 15, 5) for i in range(1, 40)]
    (row,) = b.seen(*facts, *polled, *logged).by_depth
    assert row.steps == pytest.approx(39, abs=1)
    assert row.tau == pytest.approx(6.0)


def test_bands_double() -> None:
    facts = [b.found(), b.idle(0.1, task=0), b.busy(0.5, decoded=0)]
    facts += [b.step(1 + 0.01 * i, 1 + 16 * i, fill_tokens=1 + 16 * i) for i in range(600)]
    rows = b.seen(*facts).by_depth
    assert [r.tokens for r in rows] == [0, 1024, 2048, 4096, 8192]
    assert [r.to_tokens for r in rows] == [1024, 2048, 4096, 8192, 16384]


def test_a_suspended_machine_is_no_slow_step() -> None:
    facts = [b.found(), b.idle(0.1, task=0), b.busy(0.5, decoded=0)]
    facts += [b.step(1 + 0.05 * i, 1 + i, fill_tokens=100 + i) for i in range(100)]
    facts += [b.step(3600 + 0.05 * i, 101 + i, fill_tokens=200 + i) for i in range(100)]
    (row,) = b.seen(*facts).by_depth
    assert row.tok_s == pytest.approx(20.0)
