"""SPC202: parameters at the server's default although the model's recommendation is another value."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, said

from specscope.catalogue import Card, Mode
from specscope.findings.rule import Collecting
from specscope.findings.sampling.hidden_sampler_default import RULE
from specscope.settings import Profile

DEFAULTS = {"temperature": 0.800000011920929, "top_k": 40, "top_p": 0.949999988079071, "min_p": 0.05000000074505806}
PLAIN = b.process("-m m.gguf", {})
PROPS = b.props(build="b11434", defaults=DEFAULTS)
MINE = Profile(sampling={"temperature": 1.0, "top_k": 64, "top_p": 0.95, "min_p": 0.0}, source="the card")
NAMED = b.model(name="Thinker 30B")
TWO_MODES = Card(
    name="Thinker",
    match=("thinker-",),
    source="https://example.org/card",
    mode=(
        Mode(name="thinking", sampling={"temperature": 0.6}),
        Mode(name="not thinking", sampling={"temperature": 0.7}),
    ),
)


def test_what_nobody_set_and_the_profile_holds_otherwise() -> None:
    finding = found(RULE, PLAIN, PROPS, profile=MINE)
    assert finding.severity == "warning"
    assert finding.summary == "temperature and top_k are at the server's defaults, not as recommended"
    assert evidence(finding) == {
        "temperature": '0.8 (server default); recommended: 1 (profile "mine", the card)',
        "top_k": '40 (server default); recommended: 64 (profile "mine", the card)',
    }
    assert finding.advice == (
        'send "temperature": 1, "top_k": 64 with the requests, or start the server with --temp 1 --top-k 64'
    )


def test_one_alone() -> None:
    finding = found(RULE, PLAIN, PROPS, profile=Profile(sampling={"top_k": 64}))
    assert finding.summary == "top_k 40 is in force by default; 64 is recommended"


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"temperature": 0.0}, set()),
        ({"samplers": ["top_k", "top_p"]}, {"top_k"}),
        ({"samplers": ["top_p", "temperature"]}, {"temperature"}),
        ({"mirostat": 1}, {"temperature"}),
    ],
    ids=["greedy by the request", "no temperature", "no top_k", "mirostat"],
)
def test_parameters_without_effect_are_left_out(params: dict[str, object], names: set[str]) -> None:
    seen = look(RULE, PLAIN, PROPS, b.busy(params=DEFAULTS | params), profile=MINE)
    assert not isinstance(seen, Collecting)
    assert {name for finding in seen for name in evidence(finding)} == names


def test_a_card_with_two_modes() -> None:
    finding = found(RULE, PLAIN, PROPS, NAMED, cards=(TWO_MODES,))
    assert evidence(finding) == {
        "temperature": (
            "0.8 (server default); recommended: 0.6 (thinking) or 0.7 (not thinking) "
            "(the card of Thinker, https://example.org/card)"
        )
    }
    seven = b.busy(params=DEFAULTS | {"temperature": 0.7})
    assert look(RULE, PLAIN, PROPS, NAMED, seven, cards=(TWO_MODES,)) == ()


def test_ik_llama_does_not_read_the_models_own() -> None:
    ik = b.props(kind="ik_llama.cpp", defaults=DEFAULTS)
    assert "the model file" in evidence(found(RULE, PLAIN, ik, b.model(sampling={"temp": 1.0})))["temperature"]


def test_where_the_command_line_is_out_of_sight_it_says_so() -> None:
    shown = evidence(found(RULE, PROPS, profile=MINE))
    assert shown["top_k"].startswith("40 (server default, or a command line out of sight)")


@pytest.mark.parametrize(
    "facts",
    [
        [b.process("-m m.gguf --temp 0.8 --top-k 40", {}), PROPS],
        [b.process("-m m.gguf", {"LLAMA_ARG_TEMPERATURE": "0.8", "LLAMA_ARG_TOP_K": "40"}), PROPS],
        [PLAIN, b.props(defaults=DEFAULTS | {"temperature": 1.0, "top_k": 64})],
        [PLAIN, PROPS, b.busy(params={"temperature": 1.0, "top_k": 64})],
        [PLAIN, PROPS, b.busy(params={"temperature": 0.2, "top_k": 1})],
        [PLAIN, b.props(defaults=DEFAULTS | {"temperature": 1.00000001, "top_k": 64})],
    ],
    ids=[
        "set by flags",
        "set by the environment",
        "the server has the recommended",
        "the request sends them",
        "the request sets others on purpose",
        "a difference of printing",
    ],
)
def test_it_does_not_apply(facts: list[object]) -> None:
    assert look(RULE, *facts, profile=MINE) == ()


def test_where_nobody_recommends_there_is_nothing_to_say() -> None:
    assert said(look(RULE, PLAIN, PROPS)) == "does not apply: nobody recommends a value: no profile, model file or card"
    says = said(look(RULE, PLAIN, PROPS, profile=Profile(sampling={"min_p": 0.0})))
    assert says == "does not apply: nobody recommends a value: no profile, model file or card"
    says = said(look(RULE, PLAIN, PROPS, b.model(name="Other 7B"), cards=(TWO_MODES,)))
    assert says == "does not apply: nobody recommends a value: no profile, model file or card"


def test_a_recommendation_waits_for_the_values_in_force() -> None:
    assert look(RULE, profile=MINE) == Collecting("/props or a request on /slots")
