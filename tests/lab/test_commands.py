"""Serving and loading from a shell: what is printed, the exit status, and what is left behind (nothing)."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, TypeAlias

import psutil
import pytest

from specscope.lab.commands import drafting_words, load
from specscope.lab.load import LoadPlan
from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    StartServe: TypeAlias = Callable[..., subprocess.Popen[str]]

pytestmark = pytest.mark.server

SERVE = """
import asyncio, sys
from pathlib import Path
from specscope.lab.commands import serve
from specscope.lab.spec import ServerSpec
sys.exit(asyncio.run(serve(ServerSpec({fields}), log_path=Path({log!r}))))
"""
WAIT_S = 30


class Serving:
    """A ``serve`` in a process of its own, ready to serve."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.line = process.stderr.readline()
        self.next_line = process.stderr.readline()
        (self.server,) = psutil.Process(process.pid).children()

    def end(self) -> tuple[int, str]:
        """Returns the exit status and the rest of stderr, once it has ended and its server with it."""
        rest = self.process.communicate(timeout=WAIT_S)[1]
        self.server.wait(WAIT_S)
        return self.process.returncode, rest


@pytest.fixture
def start_serve(tmp_path: Path) -> Iterator[StartServe]:
    """Returns a function that starts ``serve``; what still runs at the end of the test is killed."""
    started = []

    def start(fields: str = "n_max=15") -> subprocess.Popen[str]:
        code = SERVE.format(fields=fields, log=str(tmp_path / "log"))
        command = [sys.executable, "-c", code]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            ServerSpec(types=("ngram-simple", "dflash"), n_max=7),
            "ngram-simple, draft-dflash, n_max 7, n-gram drafts up to 12",
        ),
        (ServerSpec(types=("ngram-mod",)), "ngram-mod, n-gram drafts up to 12"),
        (ServerSpec(n_max=99), "draft-dflash, n_max 15"),
        (ServerSpec(types=()), "no speculation"),
    ],
)
def test_the_widths_served_are_each_of_its_method(spec: ServerSpec, words: str) -> None:
    assert drafting_words(spec) == words


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_serving_in_order(start_serve: StartServe, number: signal.Signals) -> None:
    serving = Serving(start_serve())
    assert re.match(r"serving http://127\.0\.0\.1:\d+ \(draft-dflash, n_max 15\) log /\S+$", serving.line)
    url = serving.line.split()[1]
    assert serving.next_line == f"load it with: specscope lab load {url}\n"
    serving.process.send_signal(number)
    assert serving.end() == (0, "")


def test_a_server_that_dies_ends_serving_with_an_error(start_serve: StartServe) -> None:
    serving = Serving(start_serve())
    serving.server.kill()
    status, printed = serving.end()
    assert status == 1
    assert "the server died (signal 9): see /" in printed


def test_the_server_dies_with_the_process_that_serves_it(start_serve: StartServe) -> None:
    serving = Serving(start_serve())
    serving.process.kill()
    assert serving.end()[0] == -signal.SIGKILL


def test_a_port_in_use_ends_serving_with_a_usage_error(start_serve: StartServe) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = start_serve(f"port={port}")
        printed = process.communicate(timeout=WAIT_S)[1]
    assert process.returncode == 2
    assert printed.startswith(f"port {port} on 127.0.0.1 is in use")
    assert "Traceback" not in printed


def test_a_server_that_cannot_start_ends_serving_with_its_reason(start_serve: StartServe) -> None:
    process = start_serve("extra=('-m', '/nowhere.gguf')")
    printed = process.communicate(timeout=WAIT_S)[1]
    assert process.returncode == 1
    assert "failed to load model" in printed
    assert "Traceback" not in printed


async def test_load_prints_one_line_and_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    plan = LoadPlan(requests=2, tokens=50)
    async with LabServer(ServerSpec()) as server:
        assert await load(server.url, plan) == 0
        text = capsys.readouterr().out
        assert await load(server.url, plan, as_json=True) == 0
        figures = json.loads(capsys.readouterr().out)
    assert re.match(r"2 requests, 100 tokens, [\d.]+ tok/s, \d+/\d+ draft tokens accepted, first token \d+ ms$", text)
    assert (figures["requests"], figures["generated"], figures["failed"]) == (2, 100, 0)
    assert await load(server.url, plan) == 1
    assert await load(server.url, LoadPlan(requests=None)) == 2
