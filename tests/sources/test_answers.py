"""Answers of servers, routers, proxies and what is neither, and what each means."""

from __future__ import annotations

import json

import pytest
from fake_server import body

from specscope.events import PropsRead
from specscope.sources.answers import Answer, Verdict, error_message, judge_health, judge_props, shorten
from specscope.sources.children import router_children, swap_children, with_children

KEY_ERROR = b'{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}'
LOADING = b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'
NOT_FOUND = b'{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}'


def props(answer: Answer) -> tuple[Verdict, PropsRead | None]:
    return judge_props(answer, at=1.0, target="t0")


@pytest.mark.parametrize(
    ("status", "content", "state", "says"),
    [
        (200, b'{"status":"ok"}', "ready", ""),
        (200, b' {"status":"ok","slots_idle":1}', "ready", ""),
        (200, b"OK", "not_llama", "llama-swap"),
        (200, b"OK\n", "not_llama", "llama-swap"),
        (200, b"", "not_llama", "an empty body"),
        (200, b"<!doctype html><title>Sign in</title>", "not_llama", "Sign in"),
        (503, LOADING, "loading", "Loading model"),
        (503, b'{"status":"loading model"}', "loading", "loading model"),
        (503, b'{"status":"no slot available"}', "ready", ""),
        (503, b"<html>Service Unavailable</html>", "error", "Service Unavailable"),
        (401, KEY_ERROR, "needs_key", "Invalid API Key"),
        (403, b"", "needs_key", "/health answered 403"),
        (404, b'{"detail":"Not Found"}', "not_llama", "llama-cpp-python"),
        (404, b"404 page not found", "not_llama", "ollama"),
        (404, NOT_FOUND, "not_llama", "--api-prefix"),
        (500, b"boom", "error", "/health answered 500: boom"),
        (502, b"<h1>Bad Gateway</h1>", "error", "Bad Gateway"),
    ],
)
def test_health(status: int, content: bytes, state: str, says: str) -> None:
    verdict = judge_health(Answer(status, content))
    assert verdict.state == state
    assert says in verdict.detail


def test_no_answer_is_down_with_its_reason() -> None:
    assert judge_health(Answer(0, text="Connection refused")) == Verdict("down", "Connection refused")


def test_a_redirect_names_where_it_leads_without_its_query() -> None:
    verdict = judge_health(Answer(302, headers={"location": "https://u:p@login.example/auth?token=SECRET"}))
    assert verdict.state == "error"
    assert "login.example/auth" in verdict.detail
    assert "SECRET" not in verdict.detail
    assert "u:p" not in verdict.detail
    assert "answered 301:" in judge_health(Answer(301, headers={"location": "http://[bad"})).detail


def test_props_of_the_newest_build() -> None:
    verdict, read = props(Answer(200, body("props_b11434.json")))
    assert verdict == Verdict("ready")
    assert read is not None
    assert (read.build, read.kind, read.model_alias, read.n_ctx) == ("b11434-1a2b3c4", "llama.cpp", "granite", 8192)
    assert (read.total_slots, read.endpoint_slots, read.sleeping, read.vision) == (2, True, False, False)
    assert read.defaults["samplers"] == [
        "penalties",
        "dry",
        "top_n_sigma",
        "top_k",
        "typ_p",
        "top_p",
        "min_p",
        "xtc",
        "temperature",
    ]
    assert "secret" not in json.dumps(read.defaults)


def test_props_of_older_builds_and_of_ik_llama() -> None:
    _, ik = props(Answer(200, body("props_ik.json")))
    assert ik is not None
    assert (ik.kind, ik.build, ik.model_alias, ik.n_ctx) == ("ik_llama.cpp", None, "mixtral", 32768)
    assert ik.defaults == {"n_predict": -1, "temperature": 0.8, "min_p": 0.05}
    _, old = props(Answer(200, body("props_early_2025.json")))
    assert old is not None
    assert (old.kind, old.n_ctx, old.endpoint_slots, old.sleeping) == ("llama.cpp", 4096, None, None)
    assert old.defaults["speculative.n_max"] == 16


def test_a_router_has_no_props_of_its_own() -> None:
    verdict, read = props(Answer(200, body("props_router.json")))
    assert (verdict.state, read) == ("router", None)


def test_a_sleeping_server() -> None:
    content = body("props_b11434.json").replace(b'"is_sleeping":false', b'"is_sleeping":true')
    verdict, read = props(Answer(200, content))
    assert verdict.state == "sleeping"
    assert read is not None
    assert read.sleeping is True


@pytest.mark.parametrize(
    ("answer", "state", "says"),
    [
        (Answer(401, KEY_ERROR), "needs_key", "Invalid API Key"),
        (Answer(403), "needs_key", "403"),
        (Answer(503, LOADING), "loading", "Loading model"),
        (Answer(404, b"nothing"), "ready", "/props answered 404: nothing"),
        (Answer(500, b'{"error":"text"}'), "ready", "/props answered 500"),
        (Answer(0, text="/props did not answer within 3 s"), "ready", "did not answer"),
        (Answer(200, b'{"build_info":'), "ready", "no JSON object"),
        (Answer(200, b"<html>"), "ready", "no JSON object"),
        (Answer(200, b"[1]"), "ready", "no JSON object"),
        (Answer(200, b"[" * 200_000), "ready", "no JSON object"),
        (Answer(200, b'{"a":"\xff"}'), "ready", "no JSON object"),
    ],
)
def test_props_that_are_none(answer: Answer, state: str, says: str) -> None:
    verdict, read = props(answer)
    assert (verdict.state, read) == (state, None)
    assert says in verdict.detail


def test_props_whose_fields_are_of_odd_types() -> None:
    content = b'{"default_generation_settings":null,"total_slots":true,"build_info":7,"modalities":[],"model_path":{}}'
    verdict, read = props(Answer(200, content))
    assert verdict == Verdict("ready")
    assert read == PropsRead(at=1.0, target="t0")


def test_props_with_numbers_beyond_any_count() -> None:
    endless = b"1" + b"0" * 400
    content = b'{"total_slots":2,"default_generation_settings":{"n_ctx":%b,"params":{"top_k":%b,"min_p":0.1}}}'
    _, read = props(Answer(200, content % (endless, endless)))
    assert read == PropsRead(at=1.0, target="t0", total_slots=2, defaults={"min_p": 0.1})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (KEY_ERROR, "Invalid API Key"),
        (b'{"error":"flat"}', '{"error":"flat"}'),
        (b'{"error":{"message":null}}', "None"),
        (b"[]", "[]"),
        (b"", ""),
        (b"plain \x1b[31mred\n text", "plain [31mred text"),
        (b'{"error":{"message":"\\u001b[2J gone"}}', "[2J gone"),
        (b'{"error":{"message":"\xff"}}', '{"error":{"message":"\ufffd"}}'),
    ],
)
def test_error_messages_are_safe_to_show(content: bytes, message: str) -> None:
    assert error_message(content) == message


def test_long_bodies_are_cut() -> None:
    assert len(shorten("é".encode() * 10_000)) == 200
    assert len(error_message(b'{"error":{"message":"' + b"x" * 10_000 + b'"}}')) == 200


def test_children_of_a_router() -> None:
    answer = Answer(200, body("models_router.json"))
    assert router_children(answer) == ["org/qwen:Q4 at http://127.0.0.1:58783"]
    assert "sk-hidden" not in str(router_children(answer))


def test_children_of_llama_swap() -> None:
    answer = Answer(200, body("running_swap.json"))
    assert swap_children(answer) == ["a at http://127.0.0.1:5801", "c at http://127.0.0.1:5803"]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(0),
        Answer(404, b"x"),
        Answer(200, b"x"),
        Answer(200, b'{"data":[3]}'),
        Answer(200, b'{"data":{"a":1},"running":7}'),
    ],
)
def test_children_that_cannot_be_read(answer: Answer) -> None:
    assert router_children(answer) == []
    assert swap_children(answer) == []
    assert with_children("a router", []) == "a router"
