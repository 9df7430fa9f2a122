"""SPC603 and SPC604: the address is a router, or wants a key."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, said
from judged import state as state_of

from specscope import events as ev
from specscope.findings.server.key_needed import RULE as KEY
from specscope.findings.server.router_needs_model import RULE as ROUTER
from specscope.sources.answers import ROUTER as SAID
from specscope.sources.children import with_children

STATES: tuple[ev.ServerState, ...] = ("unknown", "loading", "ready", "sleeping", "hung", "down", "not_llama", "error")


def server(state: ev.ServerState, detail: str = "") -> ev.ServerChanged:
    return ev.ServerChanged(at=b.T0, state=state, detail=detail)


def test_a_router_with_loaded_models() -> None:
    children = ["smol-a at http://127.0.0.1:58783", "org/big:Q4"]
    finding = found(ROUTER, server("router", with_children(SAID, children)))
    assert finding.severity == "warning"
    assert finding.evidence == (
        ("/props", '"role": "router"'),
        ("loaded", "smol-a at http://127.0.0.1:58783"),
        ("loaded", "org/big:Q4"),
    )
    assert finding.advice == "watch the model's own server: specscope http://127.0.0.1:58783"


def test_a_router_that_has_loaded_nothing() -> None:
    finding = found(ROUTER, server("router", SAID))
    assert finding.evidence == (("/props", '"role": "router"'),)
    assert "127.0.0.1:PORT" in finding.advice


def test_a_server_that_wants_a_key() -> None:
    finding = found(KEY, server("needs_key", "Invalid API Key"))
    assert finding.severity == "warning"
    assert evidence(finding) == {"answer": "Invalid API Key"}
    assert "--api-key-file" in finding.advice
    told = found(KEY, b.process("-m m.gguf --api-key ***"), server("needs_key"))
    assert evidence(told) == {"answer": "401 Unauthorized", "command line": "a key is set there"}


@pytest.mark.parametrize("state", STATES)
def test_no_other_state_is_that(state: ev.ServerState) -> None:
    key = b.process("-m m.gguf --api-key ***")
    not_yet = state == "unknown"
    assert state_of(look(ROUTER, key, server(state))) == ("waits" if not_yet else "does not apply")
    expected = {"unknown": "waits", "down": "does not apply"}
    assert state_of(look(KEY, key, server(state))) == expected.get(state, "nothing")


def test_neither_is_said_of_a_server_that_nothing_is_known_of() -> None:
    assert said(look(ROUTER)) == said(look(KEY)) == "waits: the server's first answer"
    assert said(look(ROUTER, server("needs_key"))) == "does not apply: this is no router"
    assert look(KEY, server("router", SAID)) == ()
    assert look(KEY, server("needs_key"), b.server("ready", 1.0)) == ()
