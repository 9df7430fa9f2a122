"""Real servers that were started the wrong way, or that do not start: what is found, and nothing beside it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest
from routers import router, talk_to
from watched import older_build, target, until, watch

from specscope.cli.pump import Pump
from specscope.lab.errors import ServerDiedError
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.models import ModelSpec, model_path
from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec
from specscope.settings import Profile, Settings
from specscope.sources.merge import ServerWatch
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from specscope.findings.rule import Finding

pytestmark = pytest.mark.server
stock = pytest.mark.skipif(older_build() is None, reason="the wheel with the b10434 server is not installed")

ONE = LoadPlan(requests=1, tokens=48)


def found(pump: Pump, *, final: bool = False) -> dict[str, Finding]:
    return {f.name: f for f in pump.diagnosis(final=final).findings}


async def watched(spec: ServerSpec, *plans: LoadPlan, settings: Settings | None = None) -> dict[str, Finding]:
    """What is found on a server after some load."""
    async with LabServer(spec) as server, watch(server, settings) as pump:
        for plan in plans:
            await run_load(server.url, plan)
    return found(pump, final=True)


@contextlib.asynccontextmanager
async def any_answer(url: str, *, pid: int | None = None, log: Path | None = None) -> AsyncGenerator[Pump]:
    """A watch that goes on whatever the server answers."""
    clock = Clock()
    pump = Pump(Settings(), clock)
    source = ServerWatch(url, clock, pid=pid, log=str(log) if log else None)
    task = asyncio.create_task(source.run(pump.emit))
    try:
        await until(lambda: bool(pump.session().targets), "named")
        yield pump
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_a_table_that_never_drafts() -> None:
    # So hot a text does not repeat twelve tokens.
    plan = LoadPlan(requests=1, tokens=2050, sampling={"temperature": 3.0, "top_k": 0, "min_p": 0.0})
    spec = ServerSpec(types=(), extra=("--spec-type", "ngram-simple"))
    finding = (await watched(spec, plan))["ngram_never_drafts"]
    shown = dict(finding.evidence)
    assert (shown["generated"], shown["drafts"]) == ("2,050 tokens", "0")
    assert shown["ngram-simple"] == "needs 12 tokens that were there before"


@stock
async def test_none_takes_nothing_from_the_environment_and_old_variables_are_not_read() -> None:
    env = {
        "LLAMA_ARG_SPEC_TYPE": "ngram-simple",
        "LLAMA_ARG_DRAFT_P_MIN": "0.75",
        "LLAMA_ARG_TEMPERATURE": "0.3",
        "LLAMA_ARG_ENDPOINT_METRICS": "1",
    }
    spec = ServerSpec(types=(), binary=older_build(), metrics=False, env=env, extra=("--spec-type", "none"))
    findings = await watched(spec, ONE)
    assert set(findings) == {"env_keeps_speculation_on", "ignored_environment"}  # and the counters are on
    assert dict(findings["env_keeps_speculation_on"].evidence)["in force"] == "ngram-simple"
    assert set(dict(findings["ignored_environment"].evidence)) == {"LLAMA_ARG_DRAFT_P_MIN", "LLAMA_ARG_TEMPERATURE"}


async def test_two_requests_that_are_sampled_differently() -> None:
    # Long enough that /slots is looked at while each of them runs.
    plans = [LoadPlan(requests=1, tokens=250, sampling={"top_k": top_k}) for top_k in (40, 9)]
    findings = await watched(ServerSpec(types=()), *plans)
    assert set(findings) == {"sampler_drift"}
    assert findings["sampler_drift"].summary == "2 requests were sampled in 2 ways: top_k differs"


async def test_a_profile_that_nobody_followed() -> None:
    card = Profile(match="", sampling={"temperature": 1.0, "top_k": 64, "min_p": 0.0}, source="the model card")
    settings = Settings(profile={"card": card}, trace="off", gpu=False)
    findings = await watched(ServerSpec(types=()), settings=settings)
    assert set(findings) == {"hidden_min_p", "hidden_sampler_default"}
    assert findings["hidden_sampler_default"].advice.endswith("--temp 1 --top-k 64")


async def test_endpoints_that_are_off() -> None:
    findings = await watched(ServerSpec(types=(), metrics=False, slots_endpoint=False))
    assert set(findings) == {"metrics_disabled", "slots_disabled"}


async def test_a_key_that_was_not_given() -> None:
    async with (
        LabServer(ServerSpec(types=(), api_key="secret")) as server,
        any_answer(server.url, pid=server.pid) as pump,
    ):
        await until(lambda: target(pump).server == "needs_key", "refused")
    findings = found(pump, final=True)
    assert set(findings) == {"key_needed"}
    assert dict(findings["key_needed"].evidence)["answer"] == "Invalid API Key"


@pytest.mark.parametrize(
    ("extra", "drafter", "name", "shown"),
    [
        (("--spec-type", "draft-dflash"), None, "speculation_refused", "none given"),
        (("--spec-type", "draft-dflash"), "dspark", "drafter_wrong_arch", "made for draft-dspark"),
    ],
    ids=["no drafter", "a drafter of another kind"],
)
async def test_a_method_without_what_it_needs(
    extra: tuple[str, ...], drafter: str | None, name: str, shown: str
) -> None:
    model = ("-md", str(model_path(ModelSpec(drafter, "quick")))) if drafter else ()  # type: ignore[arg-type]
    findings = await watched(ServerSpec(types=(), extra=(*extra, *model)), ONE)
    assert set(findings) == {name}
    assert shown in dict(findings[name].evidence).values()


async def test_a_drafter_with_another_vocabulary(tmp_path: Path) -> None:
    key = b"tokenizer.ggml.add_bos_token" + (7).to_bytes(4, "little")  # a flag of one byte follows
    drafter = tmp_path / "drafter.gguf"
    drafter.write_bytes(model_path(ModelSpec("draft", "quick")).read_bytes().replace(key + b"\1", key + b"\0"))
    findings = await watched(ServerSpec(types=(), extra=("--spec-type", "draft-simple", "-md", str(drafter))))
    assert set(findings) == {"drafter_vocab_mismatch"}
    shown = dict(findings["drafter_vocab_mismatch"].evidence)
    assert shown["log"] == "draft model bos tokens must match the target's"
    assert shown["adds bos"] == "drafter no, target yes"


async def test_a_drafter_that_never_stops_and_one_that_p_min_does_not_stop() -> None:
    plan = LoadPlan(requests=2, tokens=200)
    findings = await watched(ServerSpec(types=("simple",), n_max=7), plan)
    assert set(findings) == {"drafter_never_stops", "drafter_mismatch"}, "a drafter of random weights"
    assert dict(findings["drafter_never_stops"].evidence)["p_min"] == "0"
    tables = ServerSpec(types=("ngram-simple",), extra=("--spec-draft-p-min", "0.5"))
    assert set(await watched(tables)) == {"p_min_has_no_effect"}


async def test_a_server_that_does_not_come_back(tmp_path: Path) -> None:
    """It is started anew on the same log, each time in another wrong way."""
    log = tmp_path / "server.log"
    async with LabServer(ServerSpec(types=()), log_path=log) as server, any_answer(server.url, log=log) as pump:
        await until(lambda: target(pump).server == "ready", "ready")
        await server.stop()
        await until(lambda: target(pump).server == "down", "down")
        port = int(server.url.rpartition(":")[2])
        wrong = {"mtp_head_missing": ServerSpec(types=(), port=port, extra=("--spec-type", "draft-mtp"))}
        if older_build() is not None:
            wrong["removed_flag"] = ServerSpec(types=(), port=port, binary=older_build(), extra=("--draft-max", "3"))
        for name, spec in wrong.items():
            with pytest.raises(ServerDiedError):
                await LabServer(spec, log_path=log).start()
            await until(lambda name=name: name in found(pump), name)


PRESET = """
[one]
model = {model}
ctx-size = 512
parallel = 1
spec-type = ngram-mod
spec-type = ngram-simple
"""


@stock
async def test_a_router_and_a_preset_whose_lines_replace_each_other(tmp_path: Path) -> None:
    preset = tmp_path / "models.ini"
    preset.write_text(PRESET.format(model=model_path(ModelSpec("target", "quick"))))
    async with router(preset) as (_, url):
        async with any_answer(url) as pump:
            await until(lambda: target(pump).server == "router", "a router")
            assert set(found(pump, final=True)) == {"router_needs_model"}
        async with talk_to(url) as client:
            (await client.post("/completion", json={"model": "one", "prompt": "a", "n_predict": 4})).raise_for_status()
            (model,) = (await client.get("/v1/models")).json()["data"]
        args = model["status"]["args"]
        async with any_answer(f"http://127.0.0.1:{args[args.index('--port') + 1]}") as pump:
            await until(lambda: "spec_type_overridden" in found(pump), "the preset's first line")
        finding = found(pump)["spec_type_overridden"]
        assert dict(finding.evidence)["in force"] == "ngram-simple"
