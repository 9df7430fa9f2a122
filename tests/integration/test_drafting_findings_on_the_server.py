"""Findings about drafts on real servers that draft badly, or are measured badly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from watched import target, until, watch

from specscope.findings.engine import diagnose
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, NgramSizes, ServerSpec

if TYPE_CHECKING:
    from specscope.findings.rule import Finding
    from specscope.session.state import Session

pytestmark = pytest.mark.server


async def _watched(spec: ServerSpec, *plans: LoadPlan) -> Session:
    """The state after these loads, one after another."""
    async with LabServer(spec) as server, watch(server) as pump:
        for plan in plans:
            await run_load(server.url, plan)
        requests = sum(plan.requests or 0 for plan in plans)
        await until(lambda: sum(r.ended_at is not None for r in target(pump).requests) == requests, "all ended")
    return pump.session()


def _found(session: Session, against: Session | None = None) -> dict[str, Finding]:
    diagnosis = diagnose(session, against)
    assert not diagnosis.rules("failed")
    return {finding.name: finding for finding in diagnosis.findings}


async def test_two_tables_and_a_model_that_may_not_stop() -> None:
    tables = ServerSpec(types=("ngram-simple", "ngram-mod"), ngram=NgramSizes(match=2), verbosity=4)
    greedy = LoadPlan(requests=3, tokens=500, ignore_eos=True, repeat=True, sampling={"temperature": 0})
    found = _found(await _watched(tables, greedy))
    assert set(found) == {"ngram_tables_compete", "degenerate_loop", "mean_length_misleads"}
    assert dict(found["ngram_tables_compete"].evidence)["asked in this order"] == "ngram-simple, ngram-mod"
    assert "like loops" in found["degenerate_loop"].summary


async def test_a_drafter_of_random_weights_and_answers_of_two_tokens() -> None:
    short, long = LoadPlan(requests=8, tokens=2), LoadPlan(requests=2, tokens=130, seed=50)
    found = _found(await _watched(ServerSpec(n_max=3), short, long))
    assert set(found) == {"drafter_mismatch", "short_answers"}
    assert dict(found["drafter_mismatch"].evidence)["first token accepted"].startswith("0%")


async def test_less_is_accepted_than_in_the_recorded_run() -> None:
    good = ServerSpec(n_max=7, rates=LAB_RATES)
    plan = LoadPlan(requests=4, tokens=120)
    before = await _watched(good, plan)
    now = await _watched(replace(good, rates=(0.6, 0.4, 0.2, 0.1, 0.1, 0.0, 0.0)), plan)
    assert "acceptance_regressed" not in _found(before, before)
    finding = _found(now, before)["acceptance_regressed"]
    assert "spec_synth_rates" in dict(finding.evidence)["what differs"]
