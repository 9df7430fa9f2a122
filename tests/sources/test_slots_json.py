"""Bodies of /slots of every server generation, and bodies that are none."""

from __future__ import annotations

import json

import pytest
from fake_server import body
from hypothesis import given
from hypothesis import strategies as st

from specscope.sources.slots_json import read_params, read_slots


def test_newest_shape() -> None:
    fresh, used = read_slots(body("slots_b11434.json"))
    assert (fresh.id, fresh.n_ctx, fresh.speculative, fresh.busy) == (0, 8192, True, False)
    assert (fresh.task, fresh.decoded, fresh.n_prompt_tokens, fresh.was_used) == (None, None, None, False)
    assert (used.busy, used.task, used.decoded, used.was_used) == (True, 57, 69, True)
    assert (used.n_prompt_tokens, used.n_prompt_tokens_processed, used.n_prompt_tokens_cache) == (1312, 40, 1203)


def test_next_token_as_an_object() -> None:
    (slot,) = read_slots(body("slots_early_2025.json"))
    assert (slot.busy, slot.task, slot.decoded, slot.speculative) == (True, 7, 3, False)
    params = read_params(body("slots_early_2025.json"), 0)
    assert params is not None
    assert params["speculative.n_max"] == 16


def test_state_instead_of_is_processing() -> None:
    idle, busy = read_slots(body("slots_ik.json"))
    assert (idle.busy, idle.task, idle.decoded, idle.speculative) == (False, None, 0, None)
    assert (busy.busy, busy.task, busy.decoded) == (True, 4, 11)
    assert read_params(body("slots_ik.json"), 1) == {
        "temperature": 0.7,
        "min_p": 0.05,
    }


@pytest.mark.parametrize(
    "name", ["slots_b11434.json", "slots_debug.json", "slots_early_2025.json", "slots_ik.json"], ids=str
)
def test_nothing_a_user_wrote_is_taken_in(name: str) -> None:
    content = body(name)
    for slot in read_slots(content):
        kept = json.dumps(read_params(content, slot.id))
        assert "SECRET" not in kept
        assert "SECRET" not in repr(slot)


def test_kept_texts_are_names_only() -> None:
    row = {"id": 0, "params": {"temperature": 1, "samplers": ["top_k"], "chat_format": "x" * 5000, "lora": [{"id": 1}]}}
    assert read_params(json.dumps([row]).encode(), 0) == {"temperature": 1, "samplers": ["top_k"]}


def test_params_of_a_slot_that_shows_none() -> None:
    assert read_params(body("slots_b11434.json"), 0) is None
    assert read_params(body("slots_b11434.json"), 9) is None
    assert read_params(b"no json", 0) is None
    assert read_params(b"[" * 100_000, 0) is None
    assert read_params(b'{"id":0}', 0) is None


def test_a_field_of_an_odd_type_takes_nothing_from_the_others() -> None:
    content = (
        b'[{"id":0,"n_ctx":1e400},{"id":"1","n_ctx":"4096","speculative":{"a":1},"is_processing":true,"next_token":7}]'
    )
    with pytest.raises(ValueError, match="not JSON"):
        read_slots(content)
    _, odd = read_slots(content.replace(b"1e400", b"[1]"))
    assert (odd.id, odd.n_ctx, odd.speculative, odd.busy, odd.decoded) == (1, 4096, None, True, None)


def test_a_whole_number_beyond_any_count_is_unknown() -> None:
    endless = b"1" + b"0" * 400
    content = b'[{"id":0,"n_ctx":%b,"next_token":[{"n_decoded":%b}],"n_prompt_tokens":7,'
    content += b'"params":{"top_k":%b,"min_p":0.1}}]'
    content %= (endless, endless, endless)
    (slot,) = read_slots(content)
    assert (slot.n_ctx, slot.decoded, slot.n_prompt_tokens) == (None, None, 7)
    assert read_params(content, 0) == {"min_p": 0.1}


def test_absent_is_unknown() -> None:
    (slot,) = read_slots(b'[{"id":3,"next_token":[]}]')
    assert (slot.busy, slot.task, slot.decoded, slot.n_ctx, slot.speculative) == (None, None, None, None, None)
    assert read_slots(b"[]") == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html></html>",
        b'[{"id":0,"n_ctx":81',
        b'{"error":{"code":500}}',
        b'"text"',
        b"[1,2]",
        b"[[]]",
        b'[{"n_ctx":1}]',
        b'[{"id":null}]',
        b"[" * 200_000,
        b'[{"id":0,"deep":' + b"[" * 100_000 + b"]" * 100_000 + b"}]",
        b"\xff\xfe",
        b"null",
    ],
    ids=lambda content: content[:18].decode("latin-1"),
)
def test_what_is_no_list_of_slots_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|list of slots|without an id"):
        read_slots(content)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda c: (
            st.lists(c)
            | st.dictionaries(
                st.sampled_from(
                    ["id", "n_ctx", "is_processing", "next_token", "n_decoded", "params", "state", "id_task"]
                ),
                c,
            )
        ),
    )
)
def test_any_json_is_slots_or_a_value_error(value: object) -> None:
    content = json.dumps([value]).encode()
    try:
        rows = read_slots(content)
    except ValueError:
        return
    for row in rows:
        _ = (row.busy, row.task, row.decoded, read_params(content, row.id))
