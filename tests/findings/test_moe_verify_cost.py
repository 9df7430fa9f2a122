"""SPC130: each drafted token brings experts of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from benched import found_at, look_at, off
from economics_bench import Bench
from judged import evidence, look, said

from specscope.findings.rule import Collecting
from specscope.findings.speculation.moe_verify_cost import RULE

if TYPE_CHECKING:
    from specscope.session.economics.state import RecordedRun
    from specscope.session.fold import Fold

MOE = b.model(n_layer=1, hparams={"expert_count": 128, "expert_used_count": 8})


def served(cycle_ms: float, *runs: RecordedRun, line: str = "", requests: int = 60, **fields: bool) -> Fold:
    """Drafts of 2 tokens, half of them accepted, beside plain steps of 8 ms."""
    fold = Bench(
        cost=lambda _: cycle_ms,
        rates=(0.5, 0.5),
        n_max=2,
        method="draft-mtp",
        block=None,
        drafting=lambda _: 2.0,
        requests=requests,
        **fields,
    ).fold(*runs)
    fold.apply(MOE)
    if line:
        fold.apply(b.process(f"-m x --spec-type draft-mtp --spec-draft-n-max 2 {line}"))
    return fold


def test_two_drafted_tokens_take_two_plain_steps() -> None:
    finding = found_at(RULE, served(19.0, off()))
    assert finding.severity == "warning"  # it loses besides
    assert finding.summary.startswith("verifying a draft of 2 takes 2.1 plain steps at least")
    assert evidence(finding)["experts"] == "128, 8 for each token"
    assert "--spec-draft-p-min 0.75" in finding.advice


def test_what_the_drafter_takes_is_not_the_verification() -> None:
    assert look_at(RULE, served(14.5, off())) == ()  # 12.5 ms of it: 1.56 plain steps


def test_once_raised_it_stays_until_it_is_cheaper() -> None:
    assert found_at(RULE, served(14.5, off()), raised=["t0"])
    assert look_at(RULE, served(13.0, off()), raised=["t0"]) == ()


def test_where_it_pays_all_the_same_nothing_is_said() -> None:
    pays = Bench(
        cost=lambda _: 17.0, rates=(0.98, 0.97), n_max=2, method="draft-mtp", block=None, drafting=lambda _: 2.0
    ).fold(off())
    pays.apply(MOE)
    assert pays.view().targets[0].economics.speedup.low > 1
    assert look_at(RULE, pays) == ()


def test_a_dense_model_has_no_experts() -> None:
    fold = served(19.0, off())
    fold.apply(b.model(n_layer=1, hparams={"expert_count": 0}))
    assert said(look_at(RULE, fold)) == "does not apply: the model has no experts"


@pytest.mark.parametrize("line", ["--cpu-moe", "--n-cpu-moe 20", "-ot exps=CPU"])
def test_experts_on_the_cpu_of_which_nothing_is_measured(line: str) -> None:
    finding = found_at(RULE, served(19.0, line=line, ends=False))
    assert finding.severity == "info"
    assert evidence(finding)["experts"] == "128, 8 for each token, some on the CPU"
    assert evidence(finding)["cost"].startswith("not measured")
    assert (
        said(look_at(RULE, served(19.0, line="-ot exps=CUDA1", ends=False)))
        == "waits: plain decode time (specscope recipe plain, then --runs FILE)"
    )


def test_wide_drafts_share_experts_and_are_not_judged() -> None:
    wide = Bench(cost=lambda _: 40.0, requests=60, ends=False).fold(off())
    wide.apply(MOE)
    assert said(look_at(RULE, wide)) == "waits: cycles of 1 to 3 drafted tokens (specscope recipe width 3)"


def test_too_few_cycles_or_a_drafter_of_unknown_cost() -> None:
    assert isinstance(look_at(RULE, served(19.0, off(), requests=1)), Collecting)
    assert look_at(RULE, served(19.0, off(), told=False)) == Collecting(
        "the drafter's part of a cycle (--trace auto, or -lv 4)"
    )
    assert said(look(RULE, MOE)) == "waits: to know which methods draft (/slots, the log or the command line)"
