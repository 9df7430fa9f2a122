"""Log lines for every cycle and the probes at once: both tell the same cycles, and each is counted once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import pytest
from probed import TRACED, needs_probes, until_traced
from watched import target, until, watch

from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.events import CycleLogged, CycleTraced
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

if TYPE_CHECKING:
    from specscope.events import Event

pytestmark = [pytest.mark.server, pytest.mark.trace, needs_probes]

GREEDY = {"temperature": 0}
SIMPLE = ServerSpec(types=("draft-simple",), n_max=4, trace=False)


class Told(NamedTuple):
    """A cycle, whoever told it."""

    slot: int
    drafted: int
    accepted: int
    replayed: bool


def by_log(facts: list[Event]) -> list[Told]:
    """The log's cycles. A draft that is verified again has the width of its first line, one token less at its last."""
    out: list[Told] = []
    widths: dict[int, int] = {}
    for fact in facts:
        if not isinstance(fact, CycleLogged):
            continue
        if fact.restored:
            widths.setdefault(fact.slot, fact.drafted)
        elif fact.slot in widths:
            out.append(Told(fact.slot, widths.pop(fact.slot), fact.accepted - 1, replayed=True))
        else:
            out.append(Told(fact.slot, fact.drafted, fact.accepted, replayed=False))
    return out


def by_trace(facts: list[Event]) -> list[Told]:
    """The probes' cycles."""
    return [Told(f.slot, f.drafted, f.accepted, f.replayed) for f in facts if isinstance(f, CycleTraced)]


@pytest.mark.parametrize(
    ("spec", "plan", "slots"),
    [
        pytest.param(ServerSpec(n_max=15, rates=LAB_RATES), LoadPlan(requests=3, tokens=150), {0}, id="one slot"),
        pytest.param(
            ServerSpec(n_max=15, rates=LAB_RATES, slots=2),
            LoadPlan(requests=4, tokens=150, concurrency=2),
            {0, 1},
            id="two slots",
        ),
        pytest.param(
            ServerSpec(types=("ngram-simple",), target="mamba"),
            LoadPlan(requests=4, tokens=160, repeat=True, sampling=GREEDY),
            {0},
            id="replay",
        ),
        pytest.param(
            ServerSpec(types=("ngram-simple",), target="mamba", slots=2),
            LoadPlan(requests=4, tokens=160, concurrency=2, repeat=True, sampling=GREEDY),
            {0, 1},
            id="replay, two slots",
        ),
    ],
)
async def test_log_and_trace_tell_the_same_cycles_and_each_counts_once(
    spec: ServerSpec, plan: LoadPlan, slots: set[int]
) -> None:
    facts: list[Event] = []
    async with (
        LabServer(spec) as server,
        watching([LiveTarget(server.url, server.pid)], TRACED, listener=facts.append) as pump,
    ):
        await until_traced(pump)
        await run_load(server.url, plan)
        await until(lambda: len(by_log(facts)) == len(by_trace(facts)), "as many cycles by log as by trace")
    seen = target(pump)
    logged, traced = by_log(facts), by_trace(facts)
    assert logged == traced
    assert {cycle.slot for cycle in traced} == slots
    assert any(cycle.replayed for cycle in traced) == (spec.target == "mamba")
    count = seen.referee.count
    assert count is not None, seen.referee.waiting
    assert count.agrees
    assert seen.totals.cycles == count.cycles == len(traced)
    assert seen.totals.accepted == sum(cycle.accepted for cycle in traced)
    assert sum(s.tally_cycles for s in seen.slots) == len(traced)
    assert sum(r.cycles or 0 for r in seen.requests) == len(traced)
    assert len(seen.requests) == plan.requests
    assert seen.evidence == seen.cycle_evidence == "exact"
    assert {s.name: s.tier for s in seen.sources}.items() >= {"log": "cycles", "trace": "trace"}.items()


async def test_requests_of_a_few_cycles_each_have_a_name_and_their_own_totals() -> None:
    """They follow one another at once, so that each source tells of several at a time."""
    async with LabServer(SIMPLE) as server, watch(server, TRACED) as pump:
        await until_traced(pump)
        await run_load(server.url, LoadPlan(requests=12, tokens=9))
        await until(lambda: all(r.ended_at is not None for r in target(pump).requests), "all requests ended")
    seen = target(pump)
    assert [r.generated for r in seen.requests] == [9] * 12
    assert None not in {r.task for r in seen.requests}
    assert (seen.referee.requests_checked, seen.referee.requests_parted) == (12, 0)
    assert seen.evidence == "exact"


async def _load_until(enough: asyncio.Event, url: str) -> None:
    while not enough.is_set():
        await run_load(url, LoadPlan(requests=4, tokens=40))


async def test_two_that_come_in_the_middle_of_a_load_both_tell_each_request_exactly() -> None:
    """Probes are armed while a request runs, whose last cycles may be read when the log tells of the next already."""
    enough = asyncio.Event()
    async with LabServer(ServerSpec(n_max=15, rates=LAB_RATES)) as server:
        load = asyncio.create_task(_load_until(enough, server.url))
        async with watch(server, TRACED) as one, watch(server, TRACED) as other:
            for pump in (one, other):
                await until_traced(pump)
            before = [target(pump).referee.requests_checked for pump in (one, other)]
            await until(lambda: target(other).referee.requests_checked > before[1] + 10, "ten more requests")
            enough.set()
            await load
    for pump, untraced in zip((one, other), before, strict=True):
        seen = target(pump)
        assert seen.referee.requests_checked > untraced + 10
        assert seen.referee.requests_parted == 0
        assert None not in {r.task for r in seen.requests}
        assert seen.cycle_evidence == "exact"
