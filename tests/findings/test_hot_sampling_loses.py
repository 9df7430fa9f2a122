"""SPC124: at this temperature too little is accepted for speculation to pay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from benched import found_at, look_at
from economics_bench import Bench
from judged import evidence, look, said, state

from specscope.findings.rule import Collecting
from specscope.findings.speculation.hot_sampling_loses import RULE
from specscope.session.economics.recorded import recorded_run
from specscope.session.fold import Fold

if TYPE_CHECKING:
    from specscope.session.economics.state import RecordedRun

OFF = recorded_run(Bench(n_max=0, plain_ms=8.0, requests=10).target(), "off.jsonl")

GOOD = (0.9,) * 7
METHOD = "draft-dflash"

POOR = (0.4,) + (0.3,) * 6
"""1.6 tokens a cycle, and a cycle takes 2 plain steps."""


def served(
    *kinds: tuple[float, tuple[float, ...], int], run: RecordedRun | None = OFF, build: str = "b11434-1a2b3c4"
) -> Fold:
    """Requests at each (temperature, rates of acceptance, how many), one kind after another."""
    fold, at, task = Fold(), 1.0, 1
    for temperature, rates, requests in kinds:
        server = Bench(cost=lambda _: 16.0, rates=rates, n_max=7, block=8, requests=requests, seed=task, method=METHOD)
        if task == 1:
            for fact in (*server.begin(), b.props(build=build)):
                fold.apply(fact)
            fold.targets["t0"].economics.runs = () if run is None else (run,)
        params = {"temperature": temperature, "speculative.types": METHOD}
        for fact in server.facts(at=at, first_task=task):
            fold.apply(fact)
            if type(fact) is type(b.launched()):
                fold.apply(b.busy(fact.at - b.T0 + 0.0005, task=fact.task, params=params, speculative=True))
        at, task = at + 100.0, task + requests
    return fold


def test_hot_requests_lose_where_cool_ones_gain() -> None:
    finding = found_at(RULE, served((0.0, GOOD, 8), (1.0, POOR, 20)))
    assert finding.severity == "info"
    assert finding.summary.startswith("at temperature 1 a cycle yields 1.60 tokens")
    shown = evidence(finding)
    assert shown["tau at temperature 1"].endswith("20 requests")
    assert shown["tau at temperature 0"].startswith("5.")
    assert shown["pays from"].startswith("tau 2.0")
    assert finding.cost_ms == pytest.approx(16.0 - 1.6 * 8.0, abs=0.5)
    assert finding.advice.startswith("try --spec-draft-sampling probabilistic, else --spec-draft-n-max 2")


def test_hot_requests_alone_lose_too() -> None:
    assert found_at(RULE, served((0.8, POOR, 20)))


@pytest.mark.parametrize(
    ("build", "advice"),
    [
        ("b10434-7e4c0a9", "try --spec-draft-n-max 2, or a server"),
        ("b1-aaaaaaa", "try --spec-draft-sampling probabilistic (from b11434 on), else"),
    ],
)
def test_older_builds_have_no_flag_for_the_drafters_sampling(build: str, advice: str) -> None:
    assert found_at(RULE, served((1.0, POOR, 20), build=build)).advice.startswith(advice)


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        ([(1.0, GOOD, 20)], "nothing"),
        ([(0.7, POOR, 20)], "waits"),
        ([(0.0, POOR, 8), (1.0, POOR, 20)], "nothing"),
        ([(1.0, (0.55, 0.5, 0.4, 0.3, 0.3, 0.3, 0.3), 20)], "nothing"),
    ],
    ids=["hot and fine", "cool and poor", "poor at any temperature", "about what it takes"],
)
def test_it_is_not_the_temperature_that_loses(kinds: list[tuple[float, tuple[float, ...], int]], says: str) -> None:
    assert state(look_at(RULE, served(*kinds))) == says


def test_where_no_draft_can_pay_it_is_not_the_temperature_either() -> None:
    dear = recorded_run(Bench(n_max=0, plain_ms=1.9, requests=10).target(), "off.jsonl")  # it takes 8.4 of 8 tokens
    assert look_at(RULE, served((1.0, POOR, 20), run=dear)) == ()


def test_without_plain_decoding_nothing_is_claimed() -> None:
    assert look_at(RULE, served((1.0, POOR, 20), run=None)) == ()


def test_acceptance_by_chance_is_not_the_temperatures() -> None:
    fold = served((1.0, POOR, 20))
    fold.apply(b.said("synthetic_acceptance"))
    assert said(look_at(RULE, fold)) == "does not apply: drafts are accepted by chance (--spec-synth-rates)"


def test_too_few_hot_requests() -> None:
    waits = look_at(RULE, served((0.0, GOOD, 12), (1.0, POOR, 4)))
    assert waits == Collecting("5 hot requests that ended (4 so far)")
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
