"""SPC503: the whole vocabulary is sorted at each verified position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said, state

from specscope.findings.host.full_vocabulary_sort import MIN_TURNS, RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.findings.rule import Finding

WIDE = b.busy(0.5, params={"top_k": 0, "min_p": 0.0, "top_p": 0.95, "temperature": 1.0})
TARGET = b.model(n_vocab=49_152)
GPU = b.tracing(asynchronous=True)


def turns(whole_us: int, sampling_us: int | None, *, count: int = 60, **fields: object) -> list[ev.Event]:
    rest = {"wait_us": 4_700, "samples": 7}
    return [b.turn(1 + i / 20, whole_us, sampling_us=sampling_us, **rest | fields) for i in range(count)]


SORTED = turns(50_700, 40_400)
"""The H200's slow cycle: 7 tokens in 40.4 ms."""
QUICK = turns(13_000, 3_700)
"""Its normal one."""


def static(*facts: ev.Event) -> Finding:
    """The finding from the parameters alone."""
    seen = look(RULE, *facts)
    assert not isinstance(seen, Collecting)
    (finding,) = seen
    assert (finding.code, finding.severity, finding.cost_ms) == ("SPC503", "info", None)
    return finding


def test_the_h200_measured() -> None:
    finding = found(RULE, TARGET, GPU, WIDE, *SORTED)
    assert finding.severity == "warning"
    assert evidence(finding) == {
        "sampling": "top_k 0, min_p 0, top_p 0.95 (the last request, /slots)",
        "each sampled token": "5.77 ms, 117 ns an entry (11 is usual)",
        "tokens sampled": "7.0 a turn",
    }
    assert finding.cost_ms == pytest.approx(50.7 - 13.0, abs=1.0)
    assert "--top-k 40" in finding.advice


def test_the_same_parameters_where_sorting_is_cheap() -> None:
    # A peaked distribution: top_p finds its few tokens without sorting the rest.
    assert look(RULE, TARGET, GPU, WIDE, *QUICK) == ()


def test_once_raised_it_stays_until_sorting_is_well_below() -> None:
    between = turns(17_000, 7_700)  # 22 ns an entry
    assert found(RULE, TARGET, GPU, WIDE, *between, raised=["t0"])
    assert look(RULE, TARGET, GPU, WIDE, *between) == ()
    assert look(RULE, TARGET, GPU, WIDE, *turns(15_000, 6_500), raised=["t0"]) == ()


def test_parameters_alone_are_information() -> None:
    finding = static(WIDE)
    assert evidence(finding) == {
        "sampling": "top_k 0, min_p 0, top_p 0.95 (the last request, /slots)",
        "cost": "not measured here; a trace shows it (--trace auto, as root)",
    }


def test_the_servers_defaults_count_until_a_request_shows_others() -> None:
    default = b.props(defaults={"top_k": -1, "min_p": 0, "top_p": 0.95})
    assert evidence(static(default))["sampling"] == "top_k -1, min_p 0, top_p 0.95 (/props)"
    assert look(RULE, default, b.busy(params={"top_k": 40, "min_p": 0.0, "top_p": 0.95})) == ()


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"top_k": 0, "min_p": 0.05000000074505806}, "top_k 0 leaves the whole vocabulary"),
        ({"top_k": 0, "min_p": 0.0, "temperature": 0.0}, "top_k 0 leaves the whole vocabulary"),
        ({"top_k": 5000, "min_p": 0.0}, "top_k 5000 leaves the 5,000 likeliest tokens"),
        ({"top_k": 0, "top_p": 1.0, "typical_p": 0.9}, "top_k 0 leaves the whole vocabulary"),
        ({"top_k": 0, "min_p": 0.05, "samplers": ["top_k", "top_p", "min_p"]}, "top_k 0 leaves the whole vocabulary"),
        ({"top_k": 40, "samplers": ["top_p", "min_p"]}, "no top_k before top_p leaves the whole vocabulary"),
        ({"top_k": 40, "samplers": ["top_p", "top_k"]}, "no top_k before top_p leaves the whole vocabulary"),
        ({"samplers": ["top_p", "temperature"]}, "no top_k before top_p leaves the whole vocabulary"),
    ],
    ids=[
        "min_p comes after top_p",
        "greedy requests sort too",
        "thousands",
        "typical_p sorts as well",
        "in that order",
        "top_k is not among the samplers",
        "top_k comes after the sort",
        "top_k is not even shown",
    ],
)
def test_what_narrows_nothing_before_the_sort(params: dict[str, object], said: str) -> None:
    finding = static(b.busy(params={"top_p": 0.95} | params))
    assert finding.summary == f"{said} to sort at each verified position"


def test_a_top_k_that_has_no_turn_before_the_sort_is_to_be_given_one() -> None:
    own_order = b.busy(params={"top_k": 40, "top_p": 0.95, "samplers": ["top_p", "temperature"]})
    finding = static(own_order)
    assert finding.advice.startswith("name top_k before top_p in --samplers")
    assert (
        evidence(finding)["sampling"] == "top_k 40, top_p 0.95, samplers top_p temperature (the last request, /slots)"
    )
    measured = found(RULE, TARGET, GPU, own_order, *SORTED)
    assert measured.summary == "sampling works on all 49,152 tokens of the vocabulary at each verified position"
    assert measured.advice == finding.advice


@pytest.mark.parametrize(
    "params",
    [
        {"top_k": 0, "min_p": 0.05, "samplers": ["min_p", "top_p"]},
        {"top_k": 0, "top_n_sigma": 1.0},
        {"top_k": 1000},
        {"top_k": 0, "mirostat": 2},
        {"top_k": 0, "samplers": ["temperature"]},
    ],
    ids=["min_p comes first", "top_n_sigma comes first", "hundreds", "mirostat", "nothing sorts"],
)
def test_what_leaves_little_to_sort(params: dict[str, object]) -> None:
    assert look(RULE, b.busy(params={"top_p": 0.95} | params)) == ()


@pytest.mark.parametrize(
    "facts",
    [
        [GPU, WIDE, *SORTED],
        [TARGET, GPU, WIDE, *turns(50_700, None)],
        [TARGET, GPU, WIDE, *turns(50_700, 40_400, wait_us=9)],
    ],
    ids=["vocabulary unknown", "cheap probes", "waiting hides in it"],
)
def test_what_cannot_be_measured_is_information(facts: list[ev.Event]) -> None:
    static(*facts)


def test_too_few_turns() -> None:
    few = look(RULE, TARGET, GPU, WIDE, *SORTED[: MIN_TURNS - 1])
    assert few == Collecting("50 traced turns (49 so far)")


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, "waits"),
        ({"top_k": 40, "min_p": 0.0, "top_p": 0.95}, "nothing"),
        ({"top_k": 0}, "nothing"),
        ({"top_p": 0.95}, "waits"),
        ({"top_k": None, "top_p": None}, "waits"),
        ({"top_k": 0, "min_p": 0.0, "top_p": 1.0}, "nothing"),
        ({"top_k": 0, "min_p": 0.0, "top_p": 0.95, "backend_sampling": True}, "does not apply"),
    ],
    ids=str,
)
def test_it_does_not_apply(params: dict[str, object], says: str) -> None:
    assert state(look(RULE, b.busy(params=params))) == says


def test_a_target_that_samples_on_the_device_sorts_there() -> None:
    tokens = b.copies(2.0, [("target", 4, 1200)], turns=75)
    assert said(look(RULE, TARGET, GPU, WIDE, *SORTED, tokens)) == "does not apply: tokens are sampled on the device"
