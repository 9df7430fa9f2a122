"""SPC128: above 8 rows a cycle takes much longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from benched import found_at, look_at, off
from economics_bench import Bench, flat, linear, stepped
from judged import evidence, look, said

from specscope.findings.speculation.verify_kernel_cliff import RULE

if TYPE_CHECKING:
    from collections.abc import Callable


def by_rows(w: int) -> float:
    """A CPU: all of a cycle is its rows."""
    return 1.2 * (w + 1)


def gentle(w: int) -> float:
    """A step of 20 %: more than rows cost, and less than a cliff."""
    return (10.0 if w < 8 else 12.0) + 0.05 * w


def test_a_step_at_the_ninth_row() -> None:
    finding = found_at(RULE, Bench(cost=stepped, requests=150).fold(off()))
    assert finding.severity == "info"
    assert finding.summary == "a cycle takes 15.3 ms with 8 drafted tokens and 10.2 with 7"
    assert evidence(finding)["width 7"].endswith("seen in cut drafts")
    assert "--spec-draft-n-max 7" in finding.advice


@pytest.mark.parametrize("cost", [linear, flat, by_rows, gentle])
def test_no_cliff(cost: Callable[[int], float]) -> None:
    assert look_at(RULE, Bench(cost=cost, requests=150).fold(off())) == ()


def test_a_server_without_a_device_has_no_such_kernels() -> None:
    fold = Bench(cost=stepped, requests=150).fold(off())
    assert found_at(RULE, fold)
    fold.apply(b.usage(accelerated=False))
    says = said(look_at(RULE, fold))
    assert says == "does not apply: the target is computed on the CPU, whose kernels have no such step"


def test_once_raised_it_stays_while_there_is_a_step() -> None:
    def smaller(w: int) -> float:
        return (10.0 if w < 8 else 12.5) + 0.05 * w

    assert look_at(RULE, Bench(cost=smaller, requests=150).fold(off())) == ()
    assert found_at(RULE, Bench(cost=smaller, requests=150).fold(off()), raised=["t0"])


def test_drafts_below_the_step_and_wide_ones_that_are_better() -> None:
    assert (
        said(look_at(RULE, Bench(cost=stepped, n_max=7, requests=100).fold(off())))
        == "does not apply: drafts have no more rows than the fast kernels take (8)"
    )
    sure = Bench(cost=stepped, rates=(0.98,) * 15, requests=200)
    economics = sure.target(off()).economics
    assert economics.curve[7].tok_s.high < economics.curve[15].tok_s.low
    assert look_at(RULE, Bench(cost=stepped, rates=(0.98,) * 15, requests=200).fold(off())) == ()


def test_widths_on_one_side_tell_of_no_step() -> None:
    assert (
        said(look_at(RULE, Bench(cost=stepped, ends=False).fold(off())))
        == "waits: cycles of drafts just below and just above 7 tokens (specscope recipe width 7)"
    )
    assert said(look_at(RULE, Bench(cost=stepped, requests=2).fold(off()))) == "waits: 100 draft cycles (49 so far)"
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
