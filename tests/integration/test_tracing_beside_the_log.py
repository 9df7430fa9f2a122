"""Log lines for every cycle and the probes at once: both tell the same cycles, and each is counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from probed import TRACED, needs_probes, until_traced
from watched import target, until

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
