"""Findings about context, caches and graphs, provoked on real servers."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import httpx
import pytest
from watched import watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from specscope.findings.rule import Finding

pytestmark = pytest.mark.server

BESIDES = {"drafter_mismatch", "sampler_drift"}
"""What is right of any pair of random weights, and of requests that differ where both were seen."""

SMALL = 512
"""A context that runs full within a second."""


@contextlib.asynccontextmanager
async def findings_on(spec: ServerSpec) -> AsyncGenerator[tuple[LabServer, dict[str, Finding]]]:
    """A server, and the findings by name, which are there once the block has been left."""
    found: dict[str, Finding] = {}
    async with LabServer(spec) as server:
        async with watch(server) as pump:
            yield server, found
        found.update({f.name: f for f in pump.diagnosis(final=True).findings})


async def ask(server: LabServer, prompt: str, tokens: int, **body: object) -> None:
    async with httpx.AsyncClient(timeout=60) as client:
        asked = {"prompt": prompt, "n_predict": tokens, "ignore_eos": True} | body
        (await client.post(f"{server.url}/completion", json=asked)).raise_for_status()


async def test_an_answer_that_fills_the_context_behind_a_coarse_drafter() -> None:
    coarse = ServerSpec(
        n_max=7, ctx=SMALL, draft_cache_type_k="q4_0", draft_cache_type_v="q4_0", extra=("--backend-sampling",)
    )
    async with findings_on(coarse) as (server, found):
        await ask(server, "ba be", 8, grammar='root ::= "ba" " " "be"*')
        await run_load(server.url, LoadPlan(requests=1, tokens=2 * SMALL))
    names = ("context_nearly_full", "draft_kv_too_coarse", "backend_sampling_disabled")
    assert set(found) - BESIDES == set(names)
    full, kv, sampling = (dict(found[name].evidence) for name in names)
    assert found["context_nearly_full"].severity == "warning"
    assert full["filled"].startswith("511 of 512")
    assert full["the latest answer"].startswith("cut off by it after")
    assert kv["drafter's cache"] == "q4_0 (--spec-draft-type-k), q4_0 (--spec-draft-type-v)"
    assert sampling["log"] == "backend sampling is not compatible with grammar (1 times)"


async def test_a_context_that_is_shifted() -> None:
    async with findings_on(ServerSpec(types=(), ctx=SMALL, extra=("--context-shift",))) as (server, found):
        await run_load(server.url, LoadPlan(requests=1, tokens=SMALL + 20))
    assert set(found) == {"context_shift"}
    assert dict(found["context_shift"].evidence)["shifts"] == "1 in 1 of the latest 1 request(s)"
    assert "n_discard = 255" in dict(found["context_shift"].evidence)["log"]


async def test_a_recurrent_target_without_checkpoints_computes_each_prompt_again() -> None:
    forgetful = ServerSpec(types=(), target="mamba", verbosity=4, extra=("--ctx-checkpoints", "0"))
    history = "ba be bi bo bu da de di do du " * 202
    async with findings_on(forgetful) as (server, found):
        for turn in range(3):
            await ask(server, history + "fa fe " * turn, 2)
    assert set(found) == {"prompt_reprocessed"}
    evidence = dict(found["prompt_reprocessed"].evidence)
    assert evidence["computed again"] == "2 of 2 long prompts that their slot held"
    assert evidence["log"] == "forcing full prompt re-processing, for 2 of them"
    assert "--ctx-checkpoints (now 0)" in found["prompt_reprocessed"].advice


async def test_drafts_of_changing_width_rebuild_the_graph() -> None:
    changing = ServerSpec(types=("draft-simple",), n_max=15, extra=("--spec-draft-p-min", "0.3"))
    async with findings_on(changing) as (server, found):
        # Enough forwards to judge graphs by, and too few for a verdict on what this drafter of random weights costs.
        await run_load(server.url, LoadPlan(requests=3, tokens=75))
    assert set(found) - BESIDES == {"graphs_rebuilt"}
    assert "different ones" in dict(found["graphs_rebuilt"].evidence)["draft widths"]
    assert "--spec-draft-p-min 0" in found["graphs_rebuilt"].advice
