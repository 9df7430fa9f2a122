"""A router of the older build: a real llama-server that starts a server for each model of its preset."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest
from watched import older_build

import specscope

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@contextlib.asynccontextmanager
async def router(preset: Path) -> AsyncGenerator[tuple[psutil.Process, str]]:
    """One that answers, and its address; with its servers gone on leaving."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    words = [str(older_build()), "--models-preset", str(preset), "--models-max", "1", "--port", url.rpartition(":")[2]]
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "specscope.lab.tether", *words),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(specscope.__file__).parent.parent)},
    )
    process = psutil.Process(running.pid)
    try:
        await _answers(url)
        yield process, url
    finally:
        children = process.children(recursive=True)
        running.terminate()
        await running.wait()
        _, alive = psutil.wait_procs(children, 10)
        for left in alive:
            left.kill()


def talk_to(url: str) -> httpx.AsyncClient:
    """A client with a connection for each request: a router closes an idle one just when it is used."""
    once = httpx.Limits(max_keepalive_connections=0)
    return httpx.AsyncClient(base_url=url, trust_env=False, timeout=60, limits=once)


async def _answers(url: str) -> None:
    async with talk_to(url) as client:
        for _ in range(400):
            with contextlib.suppress(httpx.TransportError):
                if (await client.get("/health")).is_success:
                    return
            await asyncio.sleep(0.05)
    pytest.fail(f"{url} never answered")
