"""SPC601 and SPC602: /metrics or /slots is switched off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look

from specscope.findings.server import metrics_disabled, slots_disabled

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

METRICS, SLOTS = metrics_disabled.RULE, slots_disabled.RULE
EACH = pytest.mark.parametrize(("rule", "name"), [(METRICS, "metrics"), (SLOTS, "slots")], ids=["metrics", "slots"])


def refused(name: str) -> object:
    return b.lost(name, reason=f"This server does not support {name} endpoint. Start it with `--{name}`")


@EACH
def test_props_say_so(rule: Rule, name: str) -> None:
    finding = found(rule, b.props(**{f"endpoint_{name}": False}))
    assert finding.severity == "info"
    assert finding.settled
    assert evidence(finding)["/props"] == f'"endpoint_{name}": false'
    assert finding.advice == (
        f"start the server with --{name}, or with LLAMA_ARG_ENDPOINT_{name.upper()}=1 in its environment"
    )


@EACH
def test_older_builds_refuse_it_in_words(rule: Rule, name: str) -> None:
    assert f"--{name}" in evidence(found(rule, b.props(), refused(name)))[f"/{name}"]


def test_what_is_lost_without_it() -> None:
    off = b.props(endpoint_metrics=False)
    assert evidence(found(METRICS, off))["cycles"] == "not seen one by one either"
    assert evidence(found(METRICS, off, b.attached("log", "cycles")))["cycles"] == "seen one by one"


def test_what_switches_it_on_again() -> None:
    off = b.props(endpoint_slots=False)
    assert found(SLOTS, off, b.process("-m m.gguf --no-slots")).advice.startswith("drop --no-slots")
    seen = b.process("-m m.gguf")
    inside = type(seen)(at=seen.at, pid=1, argv=["/usr/bin/python3", "serve.py"], host="python")
    assert "CommonParams.endpoint_slots = True" in found(SLOTS, off, inside).advice


@EACH
@pytest.mark.parametrize("case", ["nothing", "on", "on again", "a key", "gone", "no such page", "another endpoint"])
def test_it_does_not_apply(rule: Rule, name: str, case: str) -> None:
    other = "slots" if name == "metrics" else "metrics"
    facts = {
        "nothing": [],
        "on": [b.props(**{f"endpoint_{name}": True}), b.attached(name, "totals")],
        "on again": [b.props(), refused(name), b.attached(name, "totals", 1.0)],
        "a key": [b.props(), b.lost(name, reason="Invalid API Key")],
        "gone": [b.props(), b.lost(name, reason="connection refused")],
        "no such page": [b.props(), b.lost(name, reason=f"/{name} is not there")],
        "another endpoint": [b.props(**{f"endpoint_{other}": False}), refused(other)],
    }
    assert look(rule, *facts[case]) == ()
