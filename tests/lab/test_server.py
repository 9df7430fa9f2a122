"""The real server of the lab, in every family and mode it is there for."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest

from specscope.lab.errors import PortInUseError, ServerDiedError, ServerSlowError
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.server

CYCLE = re.compile(r"accepted +(\d+)/ *(\d+) draft tokens(.*)")
GREEDY = {"temperature": 0.0}


def _cycles(server: LabServer) -> list[tuple[int, int, bool]]:
    """Returns accepted, drafted and whether a checkpoint was restored, of every line of the log."""
    text = server.log_path.read_text(errors="replace")
    return [(int(a), int(w), "restore" in rest) for a, w, rest in CYCLE.findall(text)]


def _behind_stderr(pid: int) -> Path:
    return Path(f"/proc/{pid}/fd/2").readlink()


async def _counters(server: LabServer) -> dict[str, float]:
    async with httpx.AsyncClient(trust_env=False) as client:
        text = (await client.get(f"{server.url}/metrics")).raise_for_status().text
    return {
        name.removeprefix("llamacpp:"): float(value)
        for name, value in re.findall(r"^(llamacpp:\w+) (\S+)$", text, re.MULTILINE)
    }


@pytest.mark.parametrize(
    "spec",
    [
        ServerSpec(types=()),
        ServerSpec(),
        ServerSpec(types=("draft-simple",)),
        ServerSpec(types=("draft-simple",), probabilistic=True),
        ServerSpec(types=("ngram-simple",)),
        ServerSpec(types=("ngram-mod",)),
        ServerSpec(types=("dflash", "ngram-map-k4v"), n_max=15),
        ServerSpec(types=("ngram-simple",), target="mamba"),
    ],
    ids=lambda spec: "+".join(spec.types) or "none",
)
async def test_every_method_runs_and_its_log_agrees_with_the_counters(spec: ServerSpec) -> None:
    plan = LoadPlan(requests=2, tokens=300, repeat=True, sampling=GREEDY)
    async with LabServer(spec) as server:
        outcomes = await run_load(server.url, plan)
        counters = await _counters(server)
        final = [(a, w) for a, w, restored in _cycles(server) if not restored]
    assert [outcome.error for outcome in outcomes] == [None, None]
    assert [outcome.generated for outcome in outcomes] == [300, 300]
    assert len(final) == counters["spec_decode_num_drafts_total"]
    assert bool(final) == bool(spec.types)


async def test_synthetic_rates_decide_how_much_is_accepted() -> None:
    spec = ServerSpec(n_max=20, rates=(1.0,) * 4)
    async with LabServer(spec) as server:
        await run_load(server.url, LoadPlan(requests=1, tokens=101))
        full = [(a, w) for a, w, _ in _cycles(server) if w == 15]
    assert full
    assert set(full) == {(4, 15)}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("probabilistic", [False, True])
async def test_a_draft_model_agrees_with_its_target_sometimes(temperature: float, probabilistic: bool) -> None:
    spec = ServerSpec(types=("draft-simple",), probabilistic=probabilistic)
    async with LabServer(spec) as server:
        plan = LoadPlan(requests=2, tokens=200, sampling={"temperature": temperature})
        outcomes = await run_load(server.url, plan)
    rate = sum(outcome.accepted for outcome in outcomes) / sum(outcome.drafted for outcome in outcomes)
    assert 0.05 < rate < 0.95


@pytest.mark.parametrize("name", ["ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod"])
async def test_ngram_methods_draft_from_repeated_text_and_some_of_it_is_accepted(name: str) -> None:
    async with LabServer(ServerSpec(types=(name,))) as server:
        plan = LoadPlan(requests=2, tokens=300, repeat=True, sampling=GREEDY)
        outcomes = await run_load(server.url, plan)
    assert 0 < sum(outcome.accepted for outcome in outcomes) < sum(outcome.drafted for outcome in outcomes)


async def test_a_recurrent_target_verifies_a_partly_accepted_draft_twice() -> None:
    async with LabServer(ServerSpec(types=("ngram-simple",), target="mamba")) as server:
        plan = LoadPlan(requests=3, tokens=300, repeat=True, sampling=GREEDY)
        await run_load(server.url, plan)
        cycles = _cycles(server)
    restored = [index for index, (_, _, is_restored) in enumerate(cycles) if is_restored]
    assert restored
    first = restored[0]
    assert cycles[first + 1][1] == cycles[first][0] + 1


async def test_two_slots_work_at_once() -> None:
    async with LabServer(ServerSpec(n_max=15, rates=LAB_RATES, slots=2)) as server:
        outcomes = await run_load(server.url, LoadPlan(requests=4, tokens=300, concurrency=2))
    assert {outcome.slot for outcome in outcomes} == {0, 1}


async def test_without_trace_the_log_has_no_cycles() -> None:
    async with LabServer(ServerSpec(trace=False)) as server:
        await run_load(server.url, LoadPlan(requests=1, tokens=20))
        assert _cycles(server) == []
        assert "LLAMA_TRACE" not in psutil.Process(server.pid).environ()


async def test_what_a_spec_switches_off_is_off() -> None:
    async with LabServer(ServerSpec(metrics=False, slots_endpoint=False, api_key="key")) as server:
        headers = {"Authorization": "Bearer key"}
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            assert (await client.get("/props")).status_code == 401
            assert (await client.get("/metrics", headers=headers)).status_code == 501
            assert (await client.get("/slots", headers=headers)).status_code == 501


async def test_sampling_defaults_come_from_the_model_unless_a_flag_says_otherwise() -> None:
    async def defaults(**fields: Mapping[str, float]) -> dict[str, float]:
        async with LabServer(ServerSpec(**fields)) as server, httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(f"{server.url}/props")).json()["default_generation_settings"]["params"]

    model = {"min_p": 0.0, "temp": 0.5}
    of_model = await defaults(model_sampling=model)
    assert (of_model["min_p"], of_model["temperature"]) == (0.0, 0.5)
    of_flag = await defaults(model_sampling=model, sampling={"temp": 0.25})
    assert (of_flag["min_p"], of_flag["temperature"]) == (0.0, 0.25)


async def test_its_command_line_reads_like_a_llama_server_and_its_log_is_behind_stderr() -> None:
    async with LabServer(ServerSpec(n_max=15)) as server:
        argv = psutil.Process(server.pid).cmdline()
        assert "specscope.lab.host" in argv
        assert argv[argv.index("--spec-type") + 1] == "draft-dflash"
        assert _behind_stderr(server.pid) == server.log_path
        log_dir = server.log_path.parent
    assert not log_dir.exists()


async def test_a_log_file_of_its_own_gets_the_same_lines(tmp_path: Path) -> None:
    path = tmp_path / "own.log"
    async with LabServer(ServerSpec(extra=("--log-file", str(path)))) as server:
        await run_load(server.url, LoadPlan(requests=1, tokens=20))
    assert CYCLE.search(path.read_text(errors="replace"))


async def test_a_port_in_use_is_noticed_before_anything_starts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUseError, match=f"port {port} on 127.0.0.1 is in use"):
            await LabServer(ServerSpec(port=port)).start()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (("--bogus",), "unrecognized arguments: --bogus"),
        (("-m", "/nowhere.gguf"), "failed to load model"),
        (("--spec-synth-rates", "0.9,0.8"), "must contain 3 values, got 2"),
    ],
)
async def test_a_server_that_cannot_start_says_why(extra: tuple[str, ...], message: str, tmp_path: Path) -> None:
    server = LabServer(ServerSpec(extra=extra), log_path=tmp_path / "log")
    with pytest.raises(ServerDiedError, match=message) as died:
        await server.start()
    assert died.value.returncode == 1


async def test_a_program_that_is_no_server_is_an_error(tmp_path: Path) -> None:
    server = LabServer(ServerSpec(binary=Path("/nowhere/llama-server")), log_path=tmp_path / "log")
    with pytest.raises(ServerDiedError, match="cannot run /nowhere/llama-server"):
        await server.start()


async def test_a_server_that_never_answers_is_stopped(tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o755)
    server = LabServer(ServerSpec(binary=silent), log_path=tmp_path / "log", start_timeout_s=0.2)
    with pytest.raises(ServerSlowError, match=r"not ready within 0\.2 s"):
        await server.start()
    assert not psutil.pid_exists(server.pid)
