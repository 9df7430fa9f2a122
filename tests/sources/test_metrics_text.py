"""The counters of every server generation, relabelled ones, and what is no exposition at all."""

from __future__ import annotations

import pytest
from fake_server import body
from hypothesis import given
from hypothesis import strategies as st

from specscope.events import CountersRead
from specscope.sources.metrics_text import read_counters


def read(text: str) -> CountersRead:
    return read_counters(text, at=5.0, target="t1", idle=True)


def test_newest_build() -> None:
    counters = read(body("metrics_b11434.txt").decode())
    assert counters == CountersRead(
        at=5.0,
        target="t1",
        idle=True,
        drafts=900,
        drafted=13500,
        accepted=3310,
        accepted_per_position=[800, 640, 0, 0, 0, 0, 0, 0, 0, 0, 5],
        generated=4211,
        prompt=1203,
        cached=77,
        decodes=900,
        generated_s=61.5,
        prompt_s=3.25,
        tokens_max=1312,
    )


def test_older_build_has_no_draft_counters() -> None:
    counters = read(body("metrics_early_2025.txt").decode())
    assert (counters.generated, counters.tokens_max) == (40, 52)
    assert (counters.drafts, counters.accepted, counters.accepted_per_position) == (None, None, None)


def test_labels_that_split_a_total_are_added_up_and_others_are_not() -> None:
    counters = read(body("metrics_relabelled.txt").decode())
    assert counters.generated == 123, "two models of one backend"
    assert counters.prompt is None, "completion and embedding count different things"
    assert counters.drafted == 42, "two methods"


def test_a_total_beside_its_parts_is_not_counted_twice() -> None:
    text = 'tokens_predicted_total 10\ntokens_predicted_total{slot="0"} 4\ntokens_predicted_total{slot="1"} 6\n'
    assert read(text).generated == 10


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "1e999", "-3", "e", "--", "1.2.3", "", "ten"])
def test_a_value_that_no_counter_has_is_unknown(value: str) -> None:
    text = f"prompt_tokens_total 3\ntokens_predicted_total {value}\n"
    assert read(text).generated is None
    assert read(text).prompt == 3


def test_positions_that_are_none() -> None:
    per_position = "spec_decode_num_accepted_tokens_per_pos_total"
    text = f'prompt_tokens_total 3\n{per_position}{{position="4000000000"}} 1\n{per_position}{{position="x"}} 1\n'
    assert read(text).accepted_per_position is None
    assert read(f'{text}{per_position}{{position="2"}} 1\n').accepted_per_position == [0, 0, 1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html><body>Sign in</body></html>",
        "llamaswap_requests_total 5\n",
        "# performance monitor not available",
        "{}",
    ],
)
def test_what_holds_no_counter(text: str) -> None:
    with pytest.raises(ValueError, match="no llama-server counter"):
        read(text)


@given(st.text())
def test_any_text_is_counters_or_a_value_error(text: str) -> None:
    for content in (text, f"prompt_tokens_total{{{text}}} 1\n", f"prompt_tokens_total {text}\n"):
        try:
            read(content)
        except ValueError as error:
            assert "no llama-server counter" in str(error)  # noqa: PT017  the only one it may be
