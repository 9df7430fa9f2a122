"""The second of like cycles in a row, in which a CUDA device captures its graph: apart where it is dearer."""

from __future__ import annotations

import pytest
from economics_bench import Bench

from specscope.session.economics.cost_book import CAPTURED

SHORT = 40
"""Tokens of a request of some seven cycles."""


def cost(n: int) -> float:
    return 6.0 + 0.3 * n


def test_a_captured_graph_is_in_the_mean_cycle_and_not_in_the_cost_of_a_width() -> None:
    steady = Bench(cost=cost, tokens=SHORT, requests=80).target().economics
    captured = Bench(cost=cost, tokens=SHORT, requests=80, captured_ms=5.0).target().economics
    for economics in (steady, captured):
        assert economics is not None
        (widest,) = (p for p in economics.costs if p.width == 15)
        assert widest.low < cost(15) < widest.high
        assert widest.ms == pytest.approx(cost(15), rel=0.03)
    assert steady.cycle_ms.value == pytest.approx(cost(15), rel=0.1)
    assert captured.cycle_ms.value > steady.cycle_ms.value + 0.5


def test_where_nothing_is_captured_second_cycles_count_like_all_others() -> None:
    fold = Bench(cost=cost, tokens=SHORT, requests=80).fold()
    costs = fold.targets["t0"].epoch.book.costs
    counted = sum(c.times.mean().n for k, c in [*costs.cells.items(), *costs.captured.items()] if k.width == 15)
    economics = fold.view().targets[0].economics
    assert next(p for p in economics.costs if p.width == 15).cycles == counted


def test_which_cycle_is_the_second_is_told_by_request() -> None:
    fold = Bench(cost=cost, tokens=SHORT, requests=5).fold()
    costs = fold.targets["t0"].epoch.book.costs
    assert CAPTURED == 2
    assert sum(cell.steps for cell in costs.captured.values() if cell.steps) >= 5
    assert all(key.width in range(1, 16) for key in costs.captured)
