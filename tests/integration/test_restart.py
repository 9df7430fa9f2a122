"""The server dies and comes back while it is watched: said at once, resumed by itself, nothing leaks over."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from watched import target, until, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

pytestmark = pytest.mark.server


@pytest.mark.parametrize("trace", [True, False], ids=["by log", "by polling"])
async def test_a_killed_server_is_said_down_and_its_successor_starts_from_nothing(*, trace: bool) -> None:
    first = LabServer(ServerSpec(n_max=15, rates=LAB_RATES, trace=trace))
    async with first, watch(first) as pump:
        load = asyncio.create_task(run_load(first.url, LoadPlan(requests=1, tokens=3000)))
        await until(lambda: len(target(pump).cycles) > 20, "cycles of the first server")
        before = target(pump)
        os.kill(first.pid, signal.SIGKILL)
        await until(lambda: target(pump).server == "down", "down")
        await load
        down = target(pump)
        assert down.requests[-1].stop == "lost"
        assert down.sources
        port = int(first.url.rsplit(":", 1)[1])
        second = LabServer(ServerSpec(n_max=3, rates=LAB_RATES, trace=trace, port=port))
        async with second:
            await until(lambda: target(pump).server == "ready", "ready again")
            await until(lambda: target(pump).epoch == 2, "a second epoch")
            fresh = target(pump)
            assert fresh.cycles == ()
            assert fresh.totals.cycles is None
            assert fresh.rates.tok_s is None
            await until(lambda: target(pump).pid == second.pid, "the new process")
            await until(lambda: target(pump).referee.waiting != "waiting for all slots to be idle once", "a baseline")
            await run_load(second.url, LoadPlan(requests=2, tokens=120))
            await until(lambda: target(pump).referee.count is not None, "the counters")
            after = target(pump)
    assert after.epoch == 2
    assert len(after.restarts) == 1
    assert before.config.n_max_effective == 15
    assert after.config.n_max_effective == 3
    assert after.referee.count is not None
    assert after.referee.count.cycles == after.totals.cycles
    assert all(c.accepted <= 3 for c in after.cycles)
    assert after.evidence == ("exact" if trace else "counted")
    assert after.totals.generated == 2 * 120
