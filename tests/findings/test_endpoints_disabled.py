"""SPC601 and SPC602: /metrics or /slots is switched off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import case, evidence, found, look, state

from specscope import events as ev
from specscope.findings.server import metrics_disabled, slots_disabled

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

METRICS, SLOTS = metrics_disabled.RULE, slots_disabled.RULE
INSIDE = ev.ProcessSeen(at=b.T0, pid=1, argv=["/usr/bin/python3", "serve.py"], host="python")
EACH = pytest.mark.parametrize(("rule", "name"), [(METRICS, "metrics"), (SLOTS, "slots")], ids=["metrics", "slots"])


def refused(name: str) -> ev.Event:
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
    assert (
        evidence(found(rule, b.props(), refused(name)))[f"/{name}"] == f"This server does not support {name} endpoint"
    )


def test_what_is_lost_without_it() -> None:
    off = b.props(endpoint_metrics=False)
    assert evidence(found(METRICS, off))["cycles"] == "not seen one by one either"
    assert evidence(found(METRICS, off, b.attached("log", "cycles")))["cycles"] == "seen one by one"


def test_the_logs_totals_are_counts_of_the_servers_own_too() -> None:
    off, log = b.props(endpoint_metrics=False), b.attached("log", "cycles")
    assert found(METRICS, off).summary.endswith("nothing can be checked against the server's own counts")
    assert found(METRICS, off, log).summary.endswith("none was compared yet")
    one = [b.launched(), b.cycle(1.0, 15, 5), b.cycle(1.1, 15, 3), b.released()]
    told = found(METRICS, off, log, *one, b.logged(generated=11, drafted=30, accepted=8))
    assert told.summary == "/metrics is off: only the log's totals of each request check the cycles that were seen"
    assert evidence(told)["requests"] == "1 of 1 = the log's totals"
    wrong = found(METRICS, off, log, *one, b.logged(generated=11, drafted=30, accepted=9))
    assert evidence(wrong)["requests"] == "0 of 1 = the log's totals"


def test_what_switches_it_on_again() -> None:
    off = b.props(endpoint_slots=False)
    assert found(SLOTS, off, b.process("-m m.gguf --no-slots")).advice.startswith("drop --no-slots")
    assert "CommonParams.endpoint_slots = True" in found(SLOTS, off, INSIDE).advice


@EACH
@pytest.mark.parametrize("told", [True, False])
def test_the_source_gives_the_same_advice_as_the_rule(rule: Rule, name: str, *, told: bool) -> None:
    off = b.props(**{f"endpoint_{name}": False}) if told else b.props()
    advice: set[str] = set()
    for process in ([], [b.process("-m m.gguf")], [INSIDE], [b.process("-m m.gguf --no-slots")]):
        facts = [off, refused(name), *process]
        (source,) = case(*facts).target.sources
        assert source.hint == found(rule, *facts).advice
        assert "--" not in source.detail
        advice.add(source.hint)
    assert len(advice) == (3 if name == "slots" else 2)


def test_the_hint_of_an_endpoint_that_fails_otherwise_is_the_sources_own() -> None:
    key = ev.SourceLost(at=b.T0, source="metrics", reason="Invalid API Key", hint="give the key")
    (source,) = case(b.props(), key).target.sources
    assert (source.detail, source.hint) == ("Invalid API Key", "give the key")


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
    assert state(look(rule, *facts[case])) == ("nothing" if case in ("on", "on again") else "waits")
