"""SPC508: the compute graph is built anew for most forwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said

from specscope.findings.host.graphs_rebuilt import RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from specscope import events as ev

SIMPLE = b.process("-md d.gguf --spec-type draft-simple --draft-p-min 0.75")


def requests(*reused: int, generated: int = 400, accepted: int = 240) -> list[ev.Event]:
    """Requests of 160 forwards, with the server's running count after each."""
    told: list[ev.Event] = []
    for task, count in enumerate(reused, 1):
        at = 10.0 * task + 1
        told += [b.launched(at, task=task)]
        totals = {"generated": generated, "drafted": 300, "accepted": accepted}
        told += [b.logged(at + 5, task=task, graphs_reused=count, **totals), b.released(at + 5, task=task)]
    return told


def test_drafts_of_many_widths() -> None:
    cycles = b.of_log([(2, 1), (3, 2), (7, 4)] * 20, task=0, at=0.1)
    finding = found(RULE, SIMPLE, *cycles, *requests(100, 120))
    assert finding.severity == "info"
    assert evidence(finding) == {
        "graphs reused": "20 of 160 forwards of 1 request(s)",
        "forwards that built theirs": "88%",
        "draft widths": "3 different ones, 2 to 7",
        "cost": "not measured here",
    }
    assert "--draft-p-min 0" in finding.advice
    assert finding.cost_ms is None


def test_without_p_min_slots_may_be_the_reason() -> None:
    finding = found(RULE, b.process("-md d.gguf --spec-type draft-simple"), *requests(100, 120))
    assert "--parallel 1" in finding.advice
    assert "draft widths" not in evidence(finding)


@pytest.mark.parametrize("reused", [152, 85], ids=["an H200's share", "above a half"])
def test_what_is_reused_enough(reused: int) -> None:
    assert look(RULE, SIMPLE, *requests(100, 100 + reused)) == ()


def test_once_raised_it_stays_until_more_is_reused() -> None:
    assert found(RULE, SIMPLE, *requests(100, 200), raised=["t0"])
    assert look(RULE, SIMPLE, *requests(100, 210), raised=["t0"]) == ()


def test_tables_draft_what_they_find() -> None:
    assert (
        said(look(RULE, b.process("--spec-type ngram-mod"), *requests(100, 105)))
        == "does not apply: n-gram tables draft what they find: widths change by nature"
    )


def test_too_little_is_seen() -> None:
    few = look(RULE, SIMPLE, *requests(100, 105, generated=130, accepted=40))
    assert few == Collecting("100 forwards of requests that run alone, by the log (90 so far)")
    none = look(RULE, SIMPLE, *requests(100))
    assert none == Collecting("100 forwards of requests that run alone, by the log (0 so far)")


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ([b.process("-m m.gguf", env={"LLAMA_GRAPH_REUSE_DISABLE": "1"})], "LLAMA_GRAPH_REUSE_DISABLE=1"),
        ([b.said("graph_reuse_disabled")], "graph reuse disabled"),
        ([b.process("-m m.gguf"), b.props(kind="ik_llama.cpp")], "neither -gr nor --graph-reuse"),
    ],
    ids=["variable", "log", "ik_llama"],
)
def test_where_it_is_switched_off(facts: list[ev.Event], told: str) -> None:
    finding = found(RULE, *facts)
    assert (finding.severity, finding.settled) == ("info", True)
    assert told in evidence(finding).values()


@pytest.mark.parametrize(
    "facts",
    [
        [b.process("-m m.gguf", env={"LLAMA_GRAPH_REUSE_DISABLE": "0"})],
        [b.process("-m m.gguf", env={"LLAMA_GRAPH_REUSE_DISABLE": ""})],
        [b.process("-m m.gguf", env={"LLAMA_GRAPH_REUSE_DISABLE": "\N{SUPERSCRIPT TWO}"})],
        [b.process("-m m.gguf -gr"), b.props(kind="ik_llama.cpp")],
        [b.process("-m m.gguf --graph-reuse"), b.props(kind="ik_llama.cpp")],
        [b.props(kind="ik_llama.cpp")],
        [b.process("-m m.gguf"), b.props()],
    ],
    ids=["0", "empty", "no number", "-gr", "--graph-reuse", "command line not known", "llama.cpp"],
)
def test_where_it_is_not(facts: list[ev.Event]) -> None:
    assert said(look(RULE, *facts)) == "waits: 100 forwards of requests that run alone, by the log (0 so far)"
