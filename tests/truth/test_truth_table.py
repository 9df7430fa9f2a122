"""The definitions, on the real server: log lines, the server's counters and the two probes count the same.

Every row of the table runs one kind of server under load. The counters are the referee; the log is what specscope
captures without root; the probes are what the server itself calls.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from probes import Probes, usable
from watched import older_build, target, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

if TYPE_CHECKING:
    from probes import Totals

pytestmark = [pytest.mark.server, pytest.mark.trace]

GREEDY = {"temperature": 0}
WARM = {"temperature": 1}


@dataclass(frozen=True)
class Row:
    """A server, a load, and what must come out besides equality."""

    name: str
    spec: ServerSpec
    plan: LoadPlan = field(default_factory=lambda: LoadPlan(requests=4, tokens=120))
    accepts: bool = True
    replays: bool = False
    finished: bool = True


def _plan(**changes: object) -> LoadPlan:
    return LoadPlan(**{"requests": 4, "tokens": 120} | changes)  # type: ignore[arg-type]


def _simple(*, probabilistic: bool = False) -> ServerSpec:
    return ServerSpec(types=("draft-simple",), n_max=4, probabilistic=probabilistic)


RATES = ServerSpec(n_max=15, rates=LAB_RATES)
TWO_SLOTS = ServerSpec(n_max=15, rates=LAB_RATES, slots=2)
NGRAM = ServerSpec(types=("ngram-simple",))

TABLE = [
    Row("dflash, synthetic rates", RATES),
    Row("dflash, real verification", ServerSpec(n_max=15), accepts=False),
    Row("draft-simple greedy, temperature 0", _simple(), _plan(sampling=GREEDY)),
    Row("draft-simple greedy, temperature 1", _simple(), _plan(sampling=WARM)),
    Row("draft-simple probabilistic, temperature 0", _simple(probabilistic=True), _plan(sampling=GREEDY)),
    Row("draft-simple probabilistic, temperature 1", _simple(probabilistic=True), _plan(sampling=WARM)),
    Row("ngram-simple", NGRAM, _plan(repeat=True, sampling=GREEDY)),
    Row("two slots", TWO_SLOTS, _plan(concurrency=2)),
    Row("two slots, one cancelled stream each", TWO_SLOTS, _plan(concurrency=2, cancel_after=15), finished=False),
    Row("cancelled streams", RATES, _plan(cancel_after=20), finished=False),
    Row("end of sequence", ServerSpec(types=("draft-simple",), n_max=4), _plan(tokens=400, ignore_eos=False)),
    Row("stop words", RATES, _plan(stop=("e", "a"))),
    Row("shrunk last drafts", RATES, _plan(tokens=9, requests=12)),
    Row(
        "replay on a recurrent target",
        ServerSpec(types=("ngram-simple",), target="mamba"),
        _plan(requests=6, tokens=160, repeat=True, sampling=GREEDY),
        replays=True,
    ),
]


@pytest.mark.skipif(bool(usable()), reason=f"the probes cannot run: {usable()}")
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
async def test_log_counters_and_probes_count_the_same(row: Row) -> None:
    async with LabServer(row.spec) as server:
        with Probes(server.pid, row.spec.slots, recurrent=row.spec.target == "mamba") as probes:
            async with watch(server) as pump:
                outcomes = await run_load(server.url, row.plan)
                await _until_released(server, pump)
        traced = probes.totals()
    seen = target(pump)
    count = seen.referee.count
    assert count is not None, seen.referee.waiting
    assert count.cycles > 0
    assert (count.captured_cycles, count.captured_drafted, count.captured_accepted) == (
        count.cycles,
        count.drafted,
        count.accepted,
    )
    assert (traced.cycles, traced.drafted, traced.accepted) == (count.cycles, count.drafted, count.accepted)
    assert traced.joint == {(w, a): n for w, a, n in seen.totals.joint}
    assert seen.evidence == seen.cycle_evidence == "exact"
    assert (count.accepted > count.cycles / 20) or not row.accepts
    assert any(c.replayed for c in seen.cycles) == row.replays
    if row.finished:
        assert sum(o.generated or 0 for o in outcomes) == sum(r.generated or 0 for r in seen.requests)
        assert count.drafted == sum((o.timings or {}).get("draft_n", 0) for o in outcomes)


async def _until_released(server: LabServer, pump: object) -> None:
    """A request cancelled by its client goes on for some cycles: wait until its slot was released."""
    for _ in range(200):
        view = target(pump)  # type: ignore[arg-type]
        if view.requests and all(r.ended_at is not None for r in view.requests):
            return
        await asyncio.sleep(0.05)
    pytest.fail("a request never ended")


async def test_watching_that_starts_in_mid_request_counts_only_what_lies_inside() -> None:
    async with LabServer(RATES) as server:
        early = asyncio.create_task(run_load(server.url, LoadPlan(requests=1, tokens=1500)))
        await asyncio.sleep(0.3)
        async with watch(server) as pump:
            await early
            await _until_compared(pump)
            assert target(pump).requests[0].whole is False
            await run_load(server.url, _plan())
    seen = target(pump)
    assert seen.referee.count is not None
    assert seen.referee.count.agrees
    assert seen.evidence == "exact"
    assert seen.totals.cycles is not None
    assert seen.totals.cycles > seen.referee.count.captured_cycles > 0


async def _until_compared(pump: object) -> None:
    for _ in range(200):
        if target(pump).referee.waiting != "waiting for all slots to be idle once":  # type: ignore[arg-type]
            return
        await asyncio.sleep(0.05)
    pytest.fail("the counters were never read with all slots idle")


@pytest.mark.skipif(older_build() is None, reason="the wheel with the b10434 server is not installed")
@pytest.mark.skipif(bool(usable()), reason=f"the probes cannot run: {usable()}")
@pytest.mark.parametrize("slots", [1, 2])
async def test_the_older_build_counts_the_same(slots: int) -> None:
    spec = ServerSpec(types=("ngram-simple",), slots=slots, binary=older_build())
    async with LabServer(spec) as server:
        with Probes(server.pid, slots) as probes:
            async with watch(server) as pump:
                await run_load(server.url, _plan(repeat=True, concurrency=slots, sampling=GREEDY))
        traced: Totals = probes.totals()
    count = target(pump).referee.count
    assert count is not None
    assert count.agrees
    assert count.cycles > 0
    assert (traced.cycles, traced.drafted, traced.accepted) == (count.cycles, count.drafted, count.accepted)


async def test_a_none_server_has_no_drafting_figures() -> None:
    async with LabServer(ServerSpec(types=())) as server, watch(server) as pump:
        await run_load(server.url, _plan(tokens=800))
    seen = target(pump)
    assert seen.config.types == ()
    assert seen.totals.tau == pytest.approx(1.0)
    assert seen.totals.generated == 4 * 800
    for figure in ("cycles", "drafted", "accepted", "tau_draft", "acceptance", "width_mean"):
        assert getattr(seen.totals, figure) is None
    assert seen.totals.histogram == ()
    assert seen.cycles == ()
    assert seen.rates.tau_draft is None
    assert seen.rates.tau == pytest.approx(1.0)
