"""Without LLAMA_TRACE: cycles by polling /slots, judged by a LLAMA_TRACE log that specscope is not given.

How many are seen depends on how busy the machine is: scripts/long/polling.py measures that. That those shown are
true hardly does. A load that met too little of the processor is given again, so that only what never comes fails.
"""

from __future__ import annotations

import asyncio
import difflib
import re
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from watched import relay_lines, target, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from specscope.lab.shapes import Size
    from specscope.lab.streaming import RequestOutcome
    from specscope.session.state import Target

pytestmark = pytest.mark.server

ATTEMPTS = 3
CYCLE = re.compile(r"id +\d+ \| task (\d+) \| accepted +(\d+)/")


@pytest.mark.parametrize("size", ["quick", "paying"])
async def test_what_polling_shows_is_what_the_log_would_have_shown(size: Size, tmp_path: Path) -> None:
    total, shown, matched = 0, 0, 0
    for attempt in range(ATTEMPTS):
        log, plain = tmp_path / f"{attempt}.server.log", tmp_path / f"{attempt}.plain.log"
        plain.touch()
        total, shown, matched = await _polled(size, log, plain)
        assert total > 100
        assert matched / shown >= 0.9
        if matched / total >= 0.3:
            return
    pytest.fail(f"of {total} cycles polling showed {shown}, {matched} of them rightly")


async def _polled(size: Size, log: Path, plain: Path) -> tuple[int, int, int]:
    """How many cycles the log told of a load, how many polling showed, and how many of these were the log's."""
    spec = ServerSpec(n_max=15 if size == "quick" else 3, rates=LAB_RATES, size=size, threads=1)
    async with LabServer(spec, log_path=log) as server:
        relay = asyncio.create_task(relay_lines(log, plain, keep=_printed_without_trace))
        async with watch(server, Settings(log=str(plain), trace="off")) as pump:
            await run_load(server.url, LoadPlan(requests=4, tokens=200))
        relay.cancel()
    view = target(pump)
    assert view.cycle_evidence == "polled"
    said: dict[int, list[int]] = defaultdict(list)
    for match in CYCLE.finditer(await asyncio.to_thread(log.read_text, errors="replace")):
        said[int(match[1])].append(int(match[2]))
    seen: dict[int, list[int]] = defaultdict(list)
    for cycle in view.cycles:
        seen[cycle.task].append(cycle.accepted)
    matched = sum(_matched(seen[task], told) for task, told in said.items())
    return sum(len(told) for told in said.values()), len(view.cycles), matched


def _printed_without_trace(line: bytes) -> bool:
    return b"LLAMA_TRACE" not in line and b" draft tokens" not in line


def _matched(seen: list[int], told: list[int]) -> int:
    """How many of the log's cycles were seen, in order and with their own accepted length."""
    blocks = difflib.SequenceMatcher(None, seen, told, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)


async def test_totals_are_the_counters_and_the_tape_moves() -> None:
    for _ in range(ATTEMPTS):
        async with LabServer(ServerSpec(n_max=15, rates=LAB_RATES, trace=False)) as server, watch(server) as pump:
            outcomes = await run_load(server.url, LoadPlan(requests=4, tokens=300))
        seen = target(pump)
        _the_counters(seen, outcomes)
        if len(seen.cycles) > (seen.totals.cycles or 0) / 4:
            return
    pytest.fail("of the cycles the tape showed less than a quarter")


def _the_counters(seen: Target, outcomes: list[RequestOutcome]) -> None:
    count = seen.referee.count
    assert count is not None
    assert seen.cycle_evidence == "polled"
    assert seen.evidence == "counted"
    assert (seen.totals.cycles, seen.totals.drafted, seen.totals.accepted) == (
        count.cycles,
        count.drafted,
        count.accepted,
    )
    assert seen.totals.drafted == sum((o.timings or {})["draft_n"] for o in outcomes)
    assert seen.totals.generated == sum(o.generated or 0 for o in outcomes)
    assert all(c.drafted is None and c.seen_by == "polled" for c in seen.cycles)
    assert seen.totals.survival
    log = next(s for s in seen.sources if s.name == "log")
    assert "LLAMA_TRACE=1" in log.hint
