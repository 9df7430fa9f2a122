"""How many forwards reused the graph of the one before, from the running count that the log prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.graphs import GraphReuse


def graphs(*facts: ev.Event) -> GraphReuse | None:
    return b.seen(b.found(), *facts).graphs


def request(task: int, at: float, reused: int | None, **fields: object) -> list[ev.Event]:
    """A request of an H200 log: 1,500 tokens, 1,290 of them drafted and accepted."""
    figures = {"generated": 1500, "drafted": 3118, "accepted": 1290} | fields
    return [
        b.launched(at, task=task),
        b.logged(at + 3, task=task, graphs_reused=reused, **figures),
        b.released(at + 3, task=task),
    ]


def test_the_h200s_own_figures() -> None:
    told = graphs(*request(0, 1.0, 28), *request(31, 5.0, 229), *request(242, 9.0, 427, accepted=1292))
    assert told is not None
    assert (told.forwards, told.reused, told.requests) == (210 + 208, 427 - 28, 2)
    assert told.share == pytest.approx(0.955, abs=0.001)


def test_the_first_request_tells_nothing_alone() -> None:
    assert graphs(*request(0, 1.0, 28)) is None
    assert graphs(*request(0, 1.0, None), *request(1, 5.0, None)) is None


def test_a_count_that_fell_is_another_servers() -> None:
    assert graphs(*request(0, 1.0, 400), *request(1, 5.0, 20)) is None


def test_requests_that_ran_together_are_not_told_apart() -> None:
    together = [b.launched(5.0, task=1), b.launched(5.1, slot=1, task=2)]
    ends = [
        b.logged(8.0, task=1, generated=100, graphs_reused=100),
        b.logged(9.0, slot=1, task=2, generated=100, graphs_reused=180),
    ]
    assert graphs(*request(0, 1.0, 28), *together, *ends) is None
    after = request(3, 10.0, 380)
    told = graphs(*request(0, 1.0, 28), *together, *ends, *after)
    assert told is not None
    assert (told.forwards, told.reused) == (210, 200)


def test_plain_forwards_are_the_tokens() -> None:
    told = graphs(*request(0, 1.0, 199), *request(1, 5.0, 1694, drafted=None, accepted=None))
    assert told is not None
    assert (told.forwards, told.reused) == (1500, 1495)
