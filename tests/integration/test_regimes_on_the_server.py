"""Two kinds of requests in turn on the real server: they come out as two, and one kind stays one."""

from __future__ import annotations

import asyncio

import pytest
from watched import target, until, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.models import model_path
from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec

pytestmark = pytest.mark.server

EACH = 7
PHRASE = 'root ::= ("bada kelu. ")+'
"""A grammar that leaves the model nothing but to say a phrase over and over."""

TABLES = ServerSpec(types=("ngram-simple",))


async def test_text_that_repeats_and_fresh_text_part_on_a_server_with_tables() -> None:
    repeating = LoadPlan(requests=1, tokens=80, sampling={"grammar": PHRASE})
    fresh = LoadPlan(requests=1, tokens=40, sampling={"temperature": 1})
    async with LabServer(TABLES) as server, watch(server) as pump:
        for _ in range(EACH):
            for plan in (repeating, fresh):
                await run_load(server.url, plan)
        await until(lambda: len(target(pump).regimes) > 1, "two kinds")
        await until(lambda: target(pump).regimes[0].requests == 2 * EACH, "all requests ended")
    whole, high, low = target(pump).regimes
    assert (high.name, low.name) == ("predictable", "hard to predict")
    assert (high.requests, low.requests) == (EACH, EACH)
    assert (high.tokens, low.tokens) == (EACH * 79, EACH * 39)
    assert high.tau - 2 * (high.tau_se or 0.0) > 1.5 > low.tau + 2 * (low.tau_se or 0.0)
    assert high.drafted_share > 4 * low.drafted_share
    assert low.tau < whole.tau < high.tau
    assert "mixed_regimes_averaged" in {finding.name for finding in pump.diagnosis(final=True).findings}


async def test_fresh_text_alone_is_one_kind() -> None:
    async with LabServer(TABLES) as server, watch(server) as pump:
        await run_load(server.url, LoadPlan(requests=2 * EACH, tokens=60, sampling={"temperature": 1}))
        await until(lambda: bool(target(pump).regimes), "requests ended")
    (whole,) = target(pump).regimes
    assert whole.requests == 2 * EACH
    assert "mixed_regimes_averaged" not in {finding.name for finding in pump.diagnosis(final=True).findings}


async def test_requests_of_high_and_of_low_acceptance_part_although_two_slots_do_them_at_once() -> None:
    # The drafter is the target itself: at temperature 0 all of a draft is accepted, at 2 little of it.
    target_path = model_path(ServerSpec().target_model)
    itself = ServerSpec(types=("draft-simple",), n_max=7, slots=2, extra=("-md", str(target_path)))
    sure, unsure = (LoadPlan(requests=EACH, tokens=48, sampling={"temperature": t}) for t in (0, 2.0))
    async with LabServer(itself) as server, watch(server) as pump:
        await asyncio.gather(run_load(server.url, sure), run_load(server.url, unsure))
        await until(lambda: len(target(pump).regimes) > 1, "two kinds")
        await until(lambda: target(pump).regimes[0].requests == 2 * EACH, "all requests ended")
    _, high, low = target(pump).regimes
    assert (high.requests, low.requests) == (EACH, EACH)
    assert high.acceptance == 1.0
    assert low.acceptance < 0.3
    assert high.tau > 2 * low.tau
    assert max(slot.tally_cycles for slot in target(pump).slots) < sum(slot.tally_cycles for slot in target(pump).slots)
