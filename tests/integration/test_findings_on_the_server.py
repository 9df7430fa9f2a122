"""Findings on real servers started the wrong way, and none on a healthy one."""

from __future__ import annotations

import pytest
from watched import target, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.models import ModelSpec, model_path
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.settings import Profile, Settings

pytestmark = pytest.mark.server

CARD = Settings(
    trace="off", gpu=False, profile={"card": Profile(match="", sampling={"min_p": 0.0}, source="the model card")}
)


async def _found(spec: ServerSpec, settings: Settings | None = None, plan: LoadPlan | None = None) -> dict[str, object]:
    async with LabServer(spec) as server, watch(server, settings) as pump:
        pump.look_along()
        await run_load(server.url, plan or LoadPlan(requests=1, tokens=64))
        assert target(pump).server == "ready"
    return {f.name: f for f in pump.diagnosis(final=True).findings}


async def test_a_healthy_server_has_no_findings() -> None:
    assert await _found(ServerSpec(n_max=7)) == {}


async def test_a_pair_on_which_drafting_pays_is_only_told_that_its_acceptance_is_not_real() -> None:
    spec = ServerSpec(size="paying", n_max=7, rates=LAB_RATES, threads=1)
    assert set(await _found(spec, plan=LoadPlan(requests=2, tokens=250))) == {"synthetic_acceptance"}


async def test_a_server_that_just_started_and_idles_has_no_findings() -> None:
    async with LabServer(ServerSpec(n_max=7)) as server, watch(server) as pump:
        assert target(pump).server == "ready"
        said = pump.diagnosis(final=True)
    assert (said.findings, said.rules("failed")) == ((), ())


async def test_a_plain_start_hides_min_p_against_the_profile() -> None:
    found = await _found(ServerSpec(n_max=7), CARD)
    assert set(found) == {"hidden_min_p"}
    finding = found["hidden_min_p"]
    evidence = dict(finding.evidence)  # type: ignore[attr-defined]
    assert evidence["effective min_p"].startswith("0.05")
    assert evidence["comes from"] == "server default"
    assert "the model card" in evidence["recommended"]
    assert "--min-p 0" in finding.advice  # type: ignore[attr-defined]


async def test_min_p_set_by_the_request_is_not_hidden() -> None:
    assert await _found(ServerSpec(n_max=7), CARD, LoadPlan(requests=1, tokens=64, sampling={"min_p": 0.05001})) == {}


async def test_a_server_started_with_the_recommended_min_p_is_healthy() -> None:
    assert await _found(ServerSpec(n_max=7, sampling={"min_p": 0.0}), CARD) == {}


async def test_a_drafter_without_a_method_is_found() -> None:
    drafter = str(model_path(ModelSpec("draft", "quick")))
    found = await _found(ServerSpec(types=(), extra=("-md", drafter)))
    assert set(found) == {"speculation_off"}
    assert "--spec-type draft-simple" in found["speculation_off"].advice  # type: ignore[attr-defined]


async def test_a_width_beyond_the_block_is_found() -> None:
    found = await _found(ServerSpec(n_max=20))
    assert set(found) == {"draft_width_clamped"}
    evidence = dict(found["draft_width_clamped"].evidence)  # type: ignore[attr-defined]
    assert (evidence["asked for"], evidence["in force"], evidence["trained block"]) == ("20", "15", "16")


async def test_draft_selection_on_the_host_is_found() -> None:
    found = await _found(ServerSpec(n_max=7, draft_backend_sampling=False))
    assert set(found) == {"host_argmax"}


async def test_synthetic_acceptance_is_found() -> None:
    found = await _found(ServerSpec(n_max=15, rates=LAB_RATES))
    assert set(found) == {"synthetic_acceptance"}
    assert found["synthetic_acceptance"].severity == "critical"  # type: ignore[attr-defined]
