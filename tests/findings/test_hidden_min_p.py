"""SPC201: min_p is in force although nobody set it, and the model's recommendation is another value."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, said, state

from specscope.catalogue import Card, Mode
from specscope.findings.rule import Collecting
from specscope.findings.sampling.hidden_min_p import RULE
from specscope.settings import Profile

WIDENED = 0.05000000074505806
"""0.05 as the server prints it: a float32 in double."""

DEFAULTS = b.props(defaults={"min_p": WIDENED, "temperature": 0.8})
CARD = b.model(sampling={"min_p": 0.0})
PLAIN = b.process("-m m.gguf")
MINE = Profile(sampling={"min_p": 0.0}, source="the model card")


def request(min_p: float) -> object:
    return b.busy(params={"min_p": min_p})


def test_the_servers_default_against_the_models_own_recommendation() -> None:
    finding = found(RULE, PLAIN, DEFAULTS, CARD)
    assert finding.summary == "min_p 0.05 is in force by default; the GGUF's general.sampling.min_p says 0"
    assert evidence(finding) == {
        "effective min_p": "0.05 (/props)",
        "comes from": "server default",
        "recommended": "0 (the GGUF's general.sampling.min_p)",
    }
    assert finding.advice == 'send "min_p": 0 with the requests, or start the server with --min-p 0'


def test_a_request_that_sets_none_has_the_default_too() -> None:
    finding = found(RULE, PLAIN, DEFAULTS, CARD, request(WIDENED))
    assert evidence(finding)["effective min_p"] == "0.05 (the last request, /slots)"


def test_the_users_profile_goes_before_the_file() -> None:
    reads_no_file = b.props(kind="ik_llama.cpp", defaults={"min_p": WIDENED, "temperature": 0.8})
    finding = found(RULE, PLAIN, reads_no_file, b.model(sampling={"min_p": 0.1}), profile=MINE)
    assert evidence(finding)["recommended"] == "0 (the model card)"
    wanted = Profile(sampling={"min_p": 0.02})
    assert "--min-p 0.02" in found(RULE, PLAIN, DEFAULTS, profile=wanted).advice


def test_the_models_card_speaks_where_profile_and_file_do_not() -> None:
    mode = Mode(sampling={"temperature": 1.0, "top_k": 64, "min_p": 0.0})
    card = Card(name="Thirty", match=("thirty-",), source="https://example.org/card", mode=(mode,), implied=("min_p",))
    facts = [PLAIN, DEFAULTS, b.model(name="Thirty 30B")]
    finding = found(RULE, *facts, cards=(card,))
    assert evidence(finding)["recommended"].startswith("0 (the card of Thirty, https://example.org/card")
    assert found(RULE, *facts, cards=(card,), profile=MINE).summary.endswith("the model card says 0")
    assert (
        said(look(RULE, PLAIN, DEFAULTS, b.model(name="Forty"), cards=(card,)))
        == "does not apply: nobody recommends a value: no profile, model file or card"
    )


def test_what_the_model_file_set_is_taken_as_meant() -> None:
    by_file = b.props(defaults={"min_p": 0.02})
    assert look(RULE, PLAIN, by_file, b.model(sampling={"min_p": 0.02}), profile=MINE) == ()


def test_a_value_that_no_build_has_by_default_was_set_out_of_sight() -> None:
    assert look(RULE, b.props(defaults={"min_p": 0.1}), profile=MINE) == ()


@pytest.mark.parametrize(
    ("params", "matters"),
    [
        ({"samplers": ["top_k", "min_p", "temperature"]}, True),
        ({"samplers": ["top_k", "temperature"]}, False),
        ({"mirostat": 2}, False),
        ({"temperature": 0.0}, False),
        ({"temperature": 0.0, "dynatemp_range": 0.5}, True),
        ({"temperature": 0.0, "samplers": ["min_p"]}, True),
    ],
    ids=["among the samplers", "not among them", "mirostat", "greedy", "of a range of temperatures", "no temperature"],
)
def test_nothing_is_said_where_it_has_no_effect(params: dict[str, object], *, matters: bool) -> None:
    seen = look(RULE, PLAIN, DEFAULTS, CARD, b.busy(params={"min_p": WIDENED} | params))
    assert bool(seen) is matters


def test_a_profile_about_other_parameters_leaves_the_word_to_the_file() -> None:
    assert found(RULE, PLAIN, DEFAULTS, CARD, profile=Profile(sampling={"temperature": 1.0}))


def test_where_the_command_line_is_not_visible_the_finding_says_so() -> None:
    finding = found(RULE, DEFAULTS, CARD)
    assert evidence(finding)["comes from"] == "server default (or its command line, which is not visible from here)"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([b.process("-m m.gguf --min-p 0.05"), DEFAULTS, CARD], "nothing"),
        ([b.process("-m m.gguf", {"LLAMA_ARG_MIN_P": "0.05"}), DEFAULTS, CARD], "nothing"),
        ([PLAIN, DEFAULTS, CARD, request(0.0)], "nothing"),
        ([PLAIN, DEFAULTS, CARD, request(0.1)], "nothing"),
        ([PLAIN, b.props(defaults={"min_p": 0.0}), CARD, request(WIDENED)], "nothing"),
        ([PLAIN, DEFAULTS, b.model(sampling={"min_p": 0.05})], "nothing"),
        ([PLAIN, b.props(defaults={"min_p": 0.0}), CARD], "nothing"),
        ([PLAIN, DEFAULTS, b.model(sampling={"temperature": 1.0})], "does not apply"),
        ([PLAIN, DEFAULTS, b.model("drafter", sampling={"min_p": 0.0})], "does not apply"),
        ([PLAIN, DEFAULTS], "does not apply"),
        ([], "waits"),
    ],
    ids=[
        "set by a flag",
        "set by the environment",
        "the request sets what is recommended",
        "the request sets another value on purpose",
        "the request sets what would be the default elsewhere",
        "the recommendation is the default",
        "the server took the recommendation over",
        "the file recommends nothing about it",
        "only the drafter's file recommends",
        "nobody recommends",
        "nothing",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_a_recommendation_waits_for_the_effective_value() -> None:
    assert look(RULE, CARD) == Collecting("/props or a request on /slots")
    assert look(RULE, CARD, b.props(defaults={})) == Collecting("/props or a request on /slots")
    assert look(RULE, profile=MINE) == Collecting("/props or a request on /slots")


def test_without_props_only_the_builtin_default_can_be_one() -> None:
    # Any other value was set by somebody: by the request itself, or by the command line.
    assert evidence(found(RULE, PLAIN, CARD, request(WIDENED)))["comes from"] == "server default"
    assert look(RULE, PLAIN, CARD, request(0.1)) == ()


def test_a_difference_of_printing_is_none() -> None:
    assert look(RULE, PLAIN, DEFAULTS, profile=Profile(sampling={"min_p": 0.05})) == ()
    assert found(RULE, PLAIN, DEFAULTS, profile=Profile(sampling={"min_p": 0.0499}))
