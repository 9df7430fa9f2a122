"""Probes that take long to arm: the server is there all the same, and is watched without them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from watched import target, watch

from specscope.cli import watching
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec
from specscope.settings import Settings
from specscope.sources import merge

if TYPE_CHECKING:
    from specscope.sources.source import Emit

pytestmark = pytest.mark.server


class NeverArmed:
    """A trace that neither attaches nor says why not."""

    name = "trace"

    def __init__(self, *_: object, **__: object) -> None:
        pass

    async def run(self, _: Emit) -> None:
        await asyncio.Event().wait()


async def test_a_server_that_answers_is_not_given_up_while_the_probes_are_armed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merge, "TraceSource", NeverArmed)
    monkeypatch.setattr(merge, "TRACE_WAIT_S", 1.5)
    monkeypatch.setattr(watching, "REACH_WAIT_S", 0.3)
    async with LabServer(ServerSpec(n_max=7)) as server, watch(server, Settings(trace="auto")) as pump:
        assert target(pump).server == "ready"
        await run_load(server.url, LoadPlan(requests=1, tokens=60))
    seen = target(pump)
    assert seen.cycle_evidence == "exact"
    assert {c.seen_by for c in seen.cycles} == {"log"}
