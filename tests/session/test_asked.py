"""What a request was asked for, by its parameters."""

from __future__ import annotations

import builders as b
import pytest

from specscope.session.asked import UNSEEN, Asked, asked_of


@pytest.mark.parametrize(
    ("params", "asked"),
    [
        (
            {"n_predict": 64, "ignore_eos": True, "chat_format": "Content-only"},
            Asked(64, forced=True, kind="completion"),
        ),
        ({"n_predict": -1, "ignore_eos": False, "chat_format": "peg-native"}, Asked(-1, forced=False, kind="chat")),
        ({"max_tokens": 9, "chat_format": "Hermes 2 Pro", "grammar_lazy": True}, Asked(9, None, "tools")),
        ({"chat_format": "Hermes 2 Pro", "grammar_lazy": False}, Asked(None, None, "chat")),
        ({"n_predict": "9", "ignore_eos": 1, "chat_format": None}, UNSEEN),
        ({}, UNSEEN),
    ],
)
def test_what_the_parameters_say(params: dict[str, object], asked: Asked) -> None:
    assert asked_of(params) == asked


def test_it_stands_in_the_requests_row_once_slots_has_shown_it() -> None:
    unseen = b.seen(b.found(), *b.of_log([(7, 3)]))
    assert unseen.requests[0].asked == UNSEEN
    (row,) = b.seen(b.found(), b.busy(0.5, params={"n_predict": 12, "ignore_eos": True})).requests
    assert row.asked == Asked(12, forced=True)


def test_a_request_whose_name_was_put_right_takes_it_along() -> None:
    params = {"n_predict": 12}
    facts = [b.tracing(), b.began(0.6), b.traced(1.0), b.busy(1.1, params=params, decoded=3)]
    (row,) = b.seen(b.found(), b.idle(0.1, task=0), *facts).requests
    assert (row.task, row.asked.limit) == (1, 12)
