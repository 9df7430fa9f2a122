"""``specscope recipe``: where no command line is seen, on recordings, and on a real server, where it is followed."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from programs import COMMAND, make_recording

from specscope.cli.main import main
from specscope.cli.pump import played
from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec
from specscope.recording import Recording
from specscope.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fake_server import FakeServer

RECORDED = str(Path(__file__).parent.parent / "recordings" / "dflash.jsonl.gz")


def test_a_server_whose_process_is_not_seen(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe", "plain", server.url, "--label", "code"]) == 0
    out, err = capsys.readouterr()
    assert "Its command line is not visible here (no process was found)" in out
    assert f"specscope record {server.url} -o plain.jsonl.gz --label code" in out
    assert err == f"watching {server.url} (polled)\n"


def test_of_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe", "width", "7", RECORDED]) == 0
    out = capsys.readouterr().out
    assert "--spec-draft-n-max 7 --port 42904\n" in out
    assert "-o width7.jsonl.gz &\n" in out  # without a label: the recording has two
    assert main(["recipe", "plain", RECORDED, "--label", "prose"]) == 0
    assert "plain.jsonl.gz --label prose" in capsys.readouterr().out


def test_what_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe", "width", "16", RECORDED]) == 2
    assert capsys.readouterr().err == "specscope: this drafter drafts at most 15 tokens\n"
    for words in (["recipe"], ["recipe", "width"], ["recipe", "width", "-1"], ["recipe", "wide", "7"]):
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code == 2
    path = make_recording(tmp_path / "r.jsonl")
    assert main(["recipe", "plain", str(path)]) == 0
    assert "not visible" in capsys.readouterr().out


@asynccontextmanager
async def bash(script: str, folder: Path, env: dict[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """A shell at work, ended with the block."""
    process = await asyncio.create_subprocess_exec("bash", "-c", script, cwd=folder, env=env)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@pytest.mark.server
async def test_the_printed_commands_give_a_run_without_speculation(tmp_path: Path) -> None:
    method = {"LLAMA_ARG_SPEC_TYPE": "ngram-simple"}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | method | {"PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    async with LabServer(ServerSpec(n_max=7, env=method)) as running:
        made = await asyncio.create_subprocess_exec(
            *COMMAND, "recipe", "plain", running.url, stdout=asyncio.subprocess.PIPE, env=env
        )
        text = (await made.communicate())[0].decode()
        assert await speculates(running.url)
        _, start, record, use = re.split(r"^# [123]\..*\n", text, flags=re.MULTILINE)
        url = re.search(r"record (\S+)", record)
        assert url is not None
        assert url[1] != running.url
        # The shell has the method in its environment too, and only the server is run by exec, so that it ends with it.
        async with bash(start.replace("\nenv ", "\nexec env "), tmp_path, env):
            await healthy(url[1])
            assert not await speculates(url[1])
            async with bash(record.replace("--tokens 256", "--tokens 120"), tmp_path, env) as recorded:
                assert await recorded.wait() == 0
    (target,) = played(Recording(tmp_path / "plain.jsonl.gz"), Settings()).session().targets
    assert target.economics.plain is not None
    assert target.economics.plain.how == "this run"
    assert target.totals.cycles is None
    assert len(target.requests) == 8
    assert use.strip() == f"specscope {running.url} --runs plain.jsonl.gz"


async def speculates(url: str) -> bool:
    async with httpx.AsyncClient(trust_env=False) as client:
        return bool((await client.get(f"{url}/slots")).json()[0]["speculative"])


async def healthy(url: str) -> None:
    async with asyncio.timeout(30), httpx.AsyncClient(trust_env=False) as client:
        while True:
            try:
                if (await client.get(f"{url}/health")).is_success:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)
