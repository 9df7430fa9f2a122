"""SPC131: the deeper the context, the less speculation gains."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import pytest
from benched import found_at, look_at, off
from economics_bench import Bench, flat
from judged import evidence, look, said
from replayed import folded

from specscope.findings.speculation.gain_fades_with_depth import RULE
from specscope.session.economics.recorded import recorded_run

if TYPE_CHECKING:
    from specscope.session.economics.state import RecordedRun

DEEP = partial(Bench, tokens=6000, requests=6, noise=0.02)


@cache
def plain(per_token_ms: float = 0.0005) -> RecordedRun:
    return recorded_run(DEEP(n_max=0, per_token_ms=per_token_ms).target(), "off.jsonl")


def test_a_drafter_that_takes_longer_with_each_token() -> None:
    # 3.8 x plain at 500 tokens, 1.7 x at 5,000.
    finding = found_at(RULE, DEEP(cost=flat, per_token_ms=0.004).fold(plain()))
    assert finding.severity == "info"
    assert finding.summary.startswith("beyond 4,096 tokens speculation has 1.")
    assert list(evidence(finding))[:2] == ["0 to 1,024 tokens", "1,024 to 2,048 tokens"]
    assert finding.advice.endswith("run long contexts without --spec-type")


def test_where_the_deep_end_loses_it_is_a_warning() -> None:
    finding = found_at(RULE, DEEP(cost=flat, per_token_ms=0.01).fold(plain()))
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("cycle", "step"), [(0.0005, 0.0005), (0.001, 0.0005), (0.0005, 0.004)], ids=["alike", "a little", "it gains more"]
)
def test_a_gain_that_holds(cycle: float, step: float) -> None:
    assert look_at(RULE, DEEP(cost=flat, per_token_ms=cycle).fold(plain(step))) == ()


def test_once_raised_it_stays_until_more_is_kept() -> None:
    between = partial(DEEP, cost=flat, per_token_ms=0.002)
    first, *_, last = between().target(plain()).economics.by_depth
    assert 0.5 < (last.speedup.value - 1) / (first.speedup.value - 1) < 0.65
    assert look_at(RULE, between().fold(plain())) == ()
    assert found_at(RULE, between().fold(plain()), raised=["t0"])


def test_an_h200_gains_more_with_depth() -> None:
    fold = folded("h200_fill_dflash")
    fold.targets["t0"].economics.runs = (recorded_run(folded("h200_fill_plain").view().targets[0], "plain"),)
    assert said(look_at(RULE, fold)) == "waits: 100 draft cycles (63 so far)"


def test_plain_decoding_that_was_seen_at_one_depth_alone() -> None:
    assert (
        said(look_at(RULE, DEEP(cost=flat, per_token_ms=0.004).fold(off())))
        == "waits: plain decode time and 50 cycles each at two context depths (specscope recipe plain)"
    )
    says = said(look_at(RULE, DEEP(cost=flat, per_token_ms=0.004).fold()))
    assert says == "waits: plain decode time and 50 cycles each at two context depths (specscope recipe plain)"


def test_one_depth_alone() -> None:
    assert (
        said(look_at(RULE, Bench(cost=flat, requests=40).fold(plain())))
        == "waits: plain decode time and 50 cycles each at two context depths (specscope recipe plain)"
    )
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
