"""Where settings of real servers come from, by the state, the JSON and the Config screen alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from routers import router, talk_to
from watched import older_build, target, until, watch

from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.models import ModelSpec, model_path
from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec
from specscope.reports.snapshot import snapshot
from specscope.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from specscope.cli.pump import Pump
    from specscope.session.state import Target

pytestmark = pytest.mark.server
stock = pytest.mark.skipif(older_build() is None, reason="the wheel with the b10434 server is not installed")

FILE = {"top_k": 70, "temp": 0.5}


def _claims(server: Target, name: str) -> list[tuple[str, object, bool]]:
    setting = server.provenance.setting(name)
    assert setting is not None
    return [(claim.origin, claim.value, claim.won) for claim in setting.claims]


async def _watched(spec: ServerSpec, *sampling: dict[str, object]) -> Pump:
    """A watch of a server that is asked once with each of these; each request is seen before the next."""
    async with LabServer(spec) as server, watch(server) as pump:
        for number, asked in enumerate(sampling):
            await run_load(server.url, LoadPlan(requests=1, tokens=64, seed=number, sampling=asked))
            await until(lambda number=number: target(pump).provenance.requests.requests > number, "the request seen")
    return pump


@stock
async def test_file_environment_and_request_say_three_things() -> None:
    environment = {"LLAMA_ARG_TOP_K": "50", "LLAMA_ARG_TEMPERATURE": "0.3"}
    spec = ServerSpec(types=(), binary=older_build(), model_sampling=FILE, env=environment)
    pump = await _watched(spec, {"top_k": 30})
    server = target(pump)
    assert server.provenance.build == 10434
    assert _claims(server, "top_k") == [
        ("request", 30, True),
        ("environment", 50, False),
        ("GGUF", 70, False),
        ("server default", 40, False),
    ]
    assert _claims(server, "temperature") == [  # this build does not read that variable
        ("environment", 0.3, False),
        ("GGUF", 0.5, True),
        ("server default", 0.8, False),
    ]
    session = pump.session()
    (row,) = (s for s in snapshot(session, pump.diagnosis(session))["config"]["settings"] if s["name"] == "top_k")
    assert (row["value"], row["origin"]) == (30, "request")
    assert [(c["name"], c["value"], c["won"]) for c in row["claims"]] == [
        ('"top_k"', 30, True),
        ("LLAMA_ARG_TOP_K", 50, False),
        ("general.sampling.top_k", 70, False),
        ("built in", 40, False),
    ]


@stock
async def test_a_flag_goes_before_the_environment() -> None:
    spec = ServerSpec(types=(), binary=older_build(), sampling={"top_k": 20}, env={"LLAMA_ARG_TOP_K": "50"})
    server = target(await _watched(spec))
    assert _claims(server, "top_k") == [
        ("command line", 20, True),
        ("environment", 50, False),
        ("server default", 40, False),
    ]
    assert server.log_said["env_overridden"] == {"variable": "LLAMA_ARG_TOP_K", "argument": "--top-k"}


async def test_the_file_counts_when_nothing_else_speaks_and_python_reads_no_variable() -> None:
    spec = ServerSpec(types=(), model_sampling=FILE, env={"LLAMA_ARG_TOP_K": "50"})
    server = target(await _watched(spec, {}))
    assert _claims(server, "top_k") == [
        ("environment", 50, False),
        ("GGUF", 70, True),
        ("server default", 40, False),
    ]
    setting = server.provenance.setting("top_k")
    assert setting is not None
    assert setting.claims[0].why == "a server inside Python reads no LLAMA_ARG_* variable"


@stock
async def test_what_a_router_starts_a_server_with_is_its_preset(tmp_path: Path) -> None:
    preset = tmp_path / "models.ini"
    preset.write_text(f"[small]\nmodel = {model_path(ModelSpec('target', 'quick'))}\nmin-p = 0\nctx-size = 512\n")
    async with router(preset) as (process, url):
        async with talk_to(url) as client:
            asked = await client.post("/completion", json={"model": "small", "prompt": "a", "n_predict": 1})
            assert asked.is_success
        (child,) = process.children()
        port = child.cmdline()[child.cmdline().index("--port") + 1]
        settings = Settings(trace="off", gpu=False)
        async with watching([LiveTarget(f"http://127.0.0.1:{port}", child.pid)], settings) as pump:
            server = target(pump)
    assert _claims(server, "min_p") == [("preset", 0.0, True), ("server default", 0.05, False)]
    assert _claims(server, "ctx_size") == [("preset", 512, True), ("server default", 0, False)]


async def test_two_requests_that_are_sampled_differently() -> None:
    server = target(await _watched(ServerSpec(n_max=7), {}, {}, {"temperature": 1.0, "top_k": 9}))
    drift = server.provenance.requests
    assert (drift.requests, [s.requests for s in drift.sets], drift.changed) == (3, [2, 1], 1)
    assert drift.varying == ("temperature", "top_k")
    (change,) = drift.changes
    assert {name: now for name, _, now in change.settings} == {"temperature": 1.0, "top_k": 9}
    assert all(s.tau is not None and s.tok_s is not None for s in drift.sets)
