"""When a watch includes the machine's GPUs, and that it never waits or fails for them."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest
from nvml_standin import busy_h200
from nvml_watch import threads, until
from programs import COMMAND

from specscope.cli import watching
from specscope.cli.common import settings_of
from specscope.cli.main import main
from specscope.cli.parser import parse
from specscope.cli.targets import LiveTarget
from specscope.cli.watching import gpus_wanted, is_here
from specscope.events import MACHINE, GpuSampled, SourceAttached, SourceLost
from specscope.settings import Settings, SettingsError, load_settings
from specscope.sources.nvml.library import GONE, Code

if TYPE_CHECKING:
    from fake_server import FakeServer
    from nvml_standin import Gpus

    from specscope.events import Event
    from specscope.sources.source import Emit

NOT_LOADED = GONE[Code.DRIVER_NOT_LOADED]


@pytest.mark.parametrize(
    ("environ", "words", "gpu"),
    [
        ({}, [], True),
        ({"SPECSCOPE_GPU": "off"}, [], False),
        ({"SPECSCOPE_GPU": "0"}, [], False),
        ({"SPECSCOPE_GPU": "false"}, [], False),
        ({"SPECSCOPE_GPU": "on"}, [], True),
        ({"SPECSCOPE_GPU": "1"}, [], True),
        ({"SPECSCOPE_GPU": ""}, [], True),
        ({}, ["--no-gpu"], False),
        ({"SPECSCOPE_GPU": "off"}, ["--gpu"], True),
        ({"SPECSCOPE_GPU": "on"}, ["--no-gpu"], False),
    ],
)
def test_the_switch(environ: dict[str, str], words: list[str], *, gpu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPECSCOPE_GPU")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert settings_of(parse(["snapshot", "8080", *words])).gpu is gpu


def test_a_switch_that_is_neither() -> None:
    with pytest.raises(SettingsError, match="gpu"):
        load_settings(None, {"SPECSCOPE_GPU": "perhaps"}, {})


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:8080", True),
        ("http://127.8.0.1:8080", True),
        ("http://[::1]:8080", True),
        ("http://0.0.0.0:8080", True),
        ("http://localhost:8080/prefix", True),
        (f"http://{socket.gethostname()}:8080", True),
        ("http://192.0.2.7:8080", False),
        ("http://[2001:db8::7]:8080", False),
        ("https://llama.example", False),
    ],
)
def test_which_addresses_are_this_machines(url: str, *, here: bool) -> None:
    assert is_here(url) is here


def test_gpus_are_wanted_for_a_server_on_this_machine() -> None:
    far, near = LiveTarget("http://192.0.2.7:8080"), LiveTarget("http://127.0.0.1:8080")
    known = LiveTarget("http://192.0.2.7:8080", pid=7)
    assert [gpus_wanted([t], Settings()) for t in (far, near, known)] == [False, True, True]
    assert gpus_wanted([far, near], Settings())
    assert not gpus_wanted([near, known], Settings(gpu=False))


async def facts_of(server: FakeServer, seconds: float, settings: Settings) -> list[Event]:
    """The machine's facts of a watch that lasts so long once it has begun."""
    facts: list[Event] = []
    async with watching.watching([LiveTarget(server.url)], settings, listener=facts.append):
        await asyncio.sleep(seconds)
    await until(lambda: not threads())
    return [f for f in facts if f.target == MACHINE]


async def test_a_watch_has_the_gpus_facts_once_for_all_servers(gpus: Gpus, server: FakeServer) -> None:
    gpus.add(busy_h200())
    facts = await facts_of(server, 0.5, Settings(trace="off"))
    assert any(isinstance(f, GpuSampled) for f in facts)
    assert len([f for f in facts if isinstance(f, SourceAttached)]) == 1
    assert await facts_of(server, 0.2, Settings(trace="off", gpu=False)) == []


async def test_a_watch_does_not_wait_for_a_driver(gpus: Gpus, server: FakeServer) -> None:
    gpus.add(busy_h200())
    gpus.set("*", "InitWithFlags", ms=3000)
    assert await facts_of(server, 0.0, Settings(trace="off")) == []  # it began and ended while the driver was started


async def test_a_mistake_in_the_source_is_not_the_end_of_the_watch(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_: object, __: Emit) -> None:
        raise KeyError("x")

    monkeypatch.setattr(watching.NvmlSource, "run", fails)
    facts = await facts_of(server, 0.1, Settings(trace="off"))
    assert [(f.source, f.reason) for f in facts if isinstance(f, SourceLost)] == [
        ("nvml", "specscope failed: KeyError: 'x'")
    ]


def test_doctor_names_driver_and_devices(
    gpus: Gpus, server: FakeServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus.add(busy_h200())
    gpus.add(busy_h200())
    monkeypatch.setenv("SPECSCOPE_GPU", "on")
    assert main(["doctor", server.url]) == 0
    assert "OK    nvml: 2 devices, driver 580.159.04 (0: NVIDIA H200, 1: NVIDIA H200)\n" in capsys.readouterr().out


def test_doctor_says_what_is_missing(
    gpus: Gpus, server: FakeServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus.set("*", "InitWithFlags", ret=9)
    assert main(["doctor", server.url, "--gpu"]) == 0
    assert main(["doctor", server.url]) == 0
    monkeypatch.setattr("specscope.sources.nvml.library.SONAME", "libnvidia-ml-absent.so")
    assert main(["doctor", server.url, "--gpu"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "nvml" in line]
    assert lines == [
        f"WARN  nvml: {NOT_LOADED[0]}: GPU figures are unknown -> {NOT_LOADED[1]}",
        "INFO  nvml: off (--gpu watches this machine's GPUs)",
        "INFO  nvml: no NVIDIA driver here: GPU figures are unknown",
    ]


def test_a_program_of_its_own_meets_the_same_gpus(gpus: Gpus, server: FakeServer) -> None:
    gpus.add(busy_h200())
    command = [*COMMAND, "stream", server.url, "--seconds", "1"]
    made = subprocess.run(
        command, env=gpus.env() | {"SPECSCOPE_GPU": "on"}, capture_output=True, check=True, timeout=60
    )
    facts = [json.loads(line) for line in made.stdout.splitlines()]
    kinds = {f["k"] for f in facts if f.get("target") == MACHINE}
    assert kinds >= {"attached", "gpu", "gpu_now", "gpu_memory", "gpu_link"}
