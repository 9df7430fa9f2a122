"""SPC134: averages over two kinds of requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import builders as b
import pytest
from benched import found_at, look_at
from economics_bench import Bench
from judged import evidence, look, said, state

from specscope.findings.rule import Case
from specscope.findings.speculation.mixed_regimes_averaged import RULE
from specscope.session.fold import Fold

if TYPE_CHECKING:
    from specscope import events as ev

EASY = (0.9,) * 7
HARD = (0.3,) * 7
"""1.4 tokens a cycle instead of 5.7."""


def served(easy: int, hard: int, *facts: ev.Event) -> Fold:
    """Requests of two kinds in one server, one after another."""
    fold, at, task = Fold(), 1.0, 1
    for number, kind in ((easy, EASY), (hard, HARD)):
        server = Bench(rates=kind, n_max=7, block=8, requests=number, seed=task)
        for fact in (*(server.begin() if task == 1 else ()), *server.facts(at=at, first_task=task)):
            fold.apply(fact)
        for fact in facts:
            fold.apply(fact)
        at, task = at + 100.0, task + number
    return fold


def test_two_kinds_that_nobody_named() -> None:
    finding = found_at(RULE, served(8, 8))
    assert finding.severity == "info"
    assert finding.summary.startswith("tau 2.")
    assert finding.summary.endswith("is the mean of two kinds of requests: 5.50 and 1.43")
    assert list(evidence(finding)) == ["all", "predictable", "hard to predict"]
    assert "--label" in finding.advice


def test_labelled_kinds_are_told_apart_already() -> None:
    assert (
        said(look_at(RULE, served(8, 8, b.mark("prose", 50.0)))) == "does not apply: the kinds of requests are labelled"
    )


@pytest.mark.parametrize("hard", [0, 3, 4], ids=["one kind", "a few strays", "too few requests for two kinds"])
def test_one_kind(hard: int) -> None:
    assert state(look_at(RULE, served(7, hard))) == "waits"


@pytest.mark.parametrize(("tau", "share", "is_kept"), [(1.2, 0.5, True), (1.1, 0.5, False), (2.0, 0.95, False)])
def test_once_raised_it_stays_while_they_are_apart(tau: float, share: float, is_kept: bool) -> None:
    session = served(8, 8).view()
    whole, high, low = session.targets[0].regimes
    high, low = (replace(high, tau=3.0 * tau, share_tokens=share), replace(low, tau=3.0, share_tokens=1 - share))
    target = replace(session.targets[0], regimes=(whole, high, low))
    for raised in (frozenset[str](), frozenset({"t0"})):
        seen = RULE.look(Case(target, session, raised))
        assert bool(seen) is (is_kept and bool(raised))


def test_nothing_is_nothing() -> None:
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
