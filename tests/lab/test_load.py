"""Load: what a client sees of every request, and the facts it reports."""

from __future__ import annotations

import itertools
import os
import signal
from typing import TYPE_CHECKING

import pytest

from specscope.events import StreamEnded, StreamStepped
from specscope.lab.load import LoadPlan, run_load, summarize
from specscope.lab.prompts import lab_prompt
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

if TYPE_CHECKING:
    from pathlib import Path


def test_prompts_vary_and_stay_what_they_are() -> None:
    assert lab_prompt(1) == lab_prompt(1)
    assert len({lab_prompt(number) for number in range(50)}) == 50
    refrain = lab_prompt(1, repeat=True)
    assert refrain == refrain[: len(refrain) // 12] * 12


async def test_a_load_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="number of requests or a duration"):
        await run_load("http://127.0.0.1:1", LoadPlan(requests=None))


async def test_a_server_that_is_not_there_is_an_outcome() -> None:
    (outcome,) = await run_load("http://127.0.0.1:1", LoadPlan(requests=5))
    assert outcome.error
    assert summarize([outcome], 0.0).failed == 1


@pytest.mark.server
async def test_every_cycle_of_a_request_is_in_its_facts() -> None:
    facts = []
    ticks = itertools.count()
    async with LabServer(ServerSpec(n_max=15, rates=LAB_RATES)) as server:
        plan = LoadPlan(requests=1, tokens=200)
        (outcome,) = await run_load(server.url, plan, clock=lambda: float(next(ticks)), report=facts.append)
        cycles = server.log_path.read_text(errors="replace").count("draft tokens\n")
    steps = [fact for fact in facts if isinstance(fact, StreamStepped)]
    pairs = {(step.drafted, step.accepted) for step in steps if step.drafted}
    assert len(pairs) == cycles
    assert [step.at for step in steps] == sorted(step.at for step in steps)
    end = facts[-1]
    assert isinstance(end, StreamEnded)
    assert (end.generated, end.drafted, end.accepted) == (200, outcome.drafted, outcome.accepted)
    assert (end.stop, end.slot, outcome.stop) == ("limit", 0, "limit")
    assert outcome.ttft_ms == end.ttft_ms


@pytest.mark.server
async def test_hanging_up_cancels_and_the_server_goes_on() -> None:
    async with LabServer(ServerSpec(n_max=15, rates=LAB_RATES)) as server:
        plan = LoadPlan(requests=3, tokens=3000, cancel_after=10)
        outcomes = await run_load(server.url, plan)
        assert [(outcome.cancelled, outcome.error, outcome.generated) for outcome in outcomes] == [(True, None, 10)] * 3
        (after,) = await run_load(server.url, LoadPlan(requests=1, tokens=10))
    assert after.generated == 10


@pytest.mark.server
async def test_a_stop_word_ends_a_request_early() -> None:
    async with LabServer(ServerSpec(types=())) as server:
        plan = LoadPlan(requests=1, tokens=2000, stop=("a",))
        (outcome,) = await run_load(server.url, plan)
    assert outcome.stop == "word"
    assert outcome.generated < 2000


@pytest.mark.server
async def test_a_key_is_needed_and_given() -> None:
    async with LabServer(ServerSpec(api_key="key")) as server:
        (without,) = await run_load(server.url, LoadPlan(requests=1, tokens=5))
        (given,) = await run_load(server.url, LoadPlan(requests=1, tokens=5), api_key="key")
    assert without.error
    assert without.error.startswith("status 401")
    assert given.error is None


@pytest.mark.server
async def test_a_duration_ends_the_load() -> None:
    async with LabServer(ServerSpec()) as server:
        outcomes = await run_load(server.url, LoadPlan(requests=None, duration_s=0.3, tokens=10, concurrency=2))
    assert outcomes
    assert all(outcome.generated == 10 for outcome in outcomes)


@pytest.mark.server
async def test_a_server_killed_midway_is_an_outcome_not_a_traceback(tmp_path: Path) -> None:
    async with LabServer(ServerSpec(), log_path=tmp_path / "log") as server:

        def kill_midway(fact: object) -> None:
            if isinstance(fact, StreamStepped) and fact.generated == 20:
                os.kill(server.pid, signal.SIGKILL)

        outcomes = await run_load(server.url, LoadPlan(requests=4, tokens=3000), report=kill_midway)
    assert len(outcomes) == 1
    assert outcomes[0].error
    assert outcomes[0].generated >= 20
