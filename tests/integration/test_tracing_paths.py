"""Where tokens are chosen, as the copies of a real server show it, and the finding that follows."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from probed import TRACED, needs_probes, until_traced
from watched import target, until, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec
from specscope.sources.trace import lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.session.state import Target

pytestmark = [pytest.mark.server, pytest.mark.trace, needs_probes]

DFLASH = ServerSpec(n_max=15, trace=False)
ROWS = 16
"""Of a forward: the drafted tokens, and the one they follow."""

FLOAT = 4
"""Bytes of a logit."""

EACH_TURN = 0.5
"""A request's first and last turns have other rows than the rest."""


@pytest.fixture(autouse=True)
def _frequent_bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A burst that saw too few turns on a busy machine is followed by the next at once."""
    monkeypatch.setitem(lines.BURST_EVERY_S, "auto", 0.5)


def _tells_its_path(seen: Target) -> bool:
    return seen.backend_path.evidence == "exact"


async def _under_load(
    spec: ServerSpec, tokens: int = 400, told: Callable[[Target], bool] = _tells_its_path
) -> tuple[Target, set[str]]:
    """What is seen of a server at work once the copies tell its path, or what is asked for, and the findings."""
    async with LabServer(spec) as server, watch(server, TRACED) as pump:
        await until_traced(pump)
        load = asyncio.create_task(run_load(server.url, LoadPlan(requests=None, duration_s=60, tokens=tokens)))
        await until(lambda: told(target(pump)), "copies that tell it")
        seen, findings = target(pump), pump.diagnosis(final=True).findings
        load.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await load
    return seen, {f.name for f in findings}


def _logits(seen: Target, owner: str) -> dict[int, float]:
    """Copies a turn of whole rows of logits, by rows."""
    row = (seen.models["target"].n_vocab or 0) * FLOAT
    assert row > 0
    copies = [c for c in seen.copies if c.owner == owner and c.bytes_each % row == 0]
    return {c.bytes_each // row: c.per_turn for c in copies}


async def test_a_draft_chosen_on_the_host_copies_its_logits() -> None:
    seen, findings = await _under_load(replace(DFLASH, draft_backend_sampling=False))
    assert _logits(seen, "drafter")[ROWS] >= EACH_TURN
    assert _logits(seen, "target")[ROWS] >= EACH_TURN
    assert (seen.backend_path.draft, seen.backend_path.target) == ("host", "host")
    assert f"logits of {ROWS} rows" in seen.backend_path.draft_why
    assert "host_argmax" in findings


async def test_a_draft_chosen_on_the_device_copies_candidates_and_no_logits() -> None:
    seen, findings = await _under_load(DFLASH)
    assert _logits(seen, "drafter") == {}
    assert _logits(seen, "target")[ROWS] >= EACH_TURN
    assert (seen.backend_path.draft, seen.backend_path.target) == ("device", "host")
    assert "chosen on the device" in seen.backend_path.draft_why
    assert "host_argmax" not in findings


async def test_a_slots_state_that_goes_to_the_prompt_cache_is_told_apart() -> None:
    seen, _ = await _under_load(DFLASH, 40, lambda now: bool(now.saved) and _tells_its_path(now))
    layers = sum(seen.models[role].n_layer or 0 for role in ("target", "drafter"))
    for row in seen.saved:
        assert row.copies % (2 * layers) == 0  # keys and values of each layer, of both models
        assert row.meaning.startswith("slot state (K or V of ")
        assert row.meaning.endswith(" cells), saved to the prompt cache")
    longest = max(r.prompt_tokens or 0 for r in seen.requests)
    rows = [int(c.meaning.split(", ")[1].split()[0]) for c in seen.copies if "of a prompt" in c.meaning]
    assert all(number <= longest for number in rows)
    assert all(c.meaning for c in seen.copies)
    assert (seen.backend_path.draft, seen.backend_path.target) == ("device", "host")
