"""What speculation gains at each depth, on servers whose costs at each depth are known."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from economics_bench import Bench, flat
from replayed import replayed

from specscope.session.economics.recorded import recorded_run

if TYPE_CHECKING:
    from specscope.session.economics.state import RecordedRun

DEEP = partial(Bench, tokens=6000, requests=4, noise=0.02)


@pytest.fixture(scope="module")
def off() -> RecordedRun:
    return recorded_run(DEEP(n_max=0, per_token_ms=0.0005).target(), "off.jsonl")


def test_the_speedup_in_each_band_of_depth(off: RecordedRun) -> None:
    server = DEEP(cost=flat, per_token_ms=0.002)
    rows = server.target(off).economics.by_depth
    assert [row.tokens for row in rows] == [0, 1024, 2048, 4096]
    for row in rows:
        depth = (max(row.tokens, server.prompt) + min(row.to_tokens, 6100)) / 2
        truth = server.tau(15) * (8.0 + 0.0005 * depth) / (flat(15) + 0.002 * depth)
        assert row.speedup.low < truth < row.speedup.high, row.tokens
        assert row.speedup.high < 1.6 * row.speedup.low, row.tokens
    assert rows[-1].speedup.high < rows[0].speedup.low


def test_a_plain_time_that_was_seen_shallow_alone_says_nothing_of_depth() -> None:
    shallow = recorded_run(Bench(n_max=0, requests=10).target(), "off.jsonl")
    rows = DEEP(cost=flat, per_token_ms=0.002).target(shallow).economics.by_depth
    assert [row.tokens for row in rows] == [0]


def test_without_plain_decoding_nothing_is_told() -> None:
    assert DEEP(cost=flat).target().economics.by_depth == ()


def test_steps_of_several_slots_are_not_set_against_each_other(off: RecordedRun) -> None:
    fold = DEEP(cost=flat, requests=2).fold(off)
    cells = fold.targets["t0"].epoch.book.costs.cells
    for key in [key for key in cells if key.band == 1]:
        cells[key._replace(slots=2)] = cells.pop(key)
    (target,) = fold.view().targets
    assert [row.tokens for row in target.economics.by_depth] == [0, 2048, 4096]


def test_too_few_steps_at_a_depth(off: RecordedRun) -> None:
    rows = DEEP(cost=flat, tokens=1300, requests=5).target(off).economics.by_depth
    assert [row.tokens for row in rows] == [0, 1024]
    assert [row.tokens for row in DEEP(cost=flat, tokens=950, requests=5).target(off).economics.by_depth] == [0]


def test_recordings_without_a_plain_run_tell_nothing() -> None:
    assert replayed("h200_fill_dflash").targets[0].economics.by_depth == ()
