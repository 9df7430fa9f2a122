"""The lab from a shell: serve until told to stop, and drive load. Each returns the process's exit status."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import httpx

from specscope.lab.errors import DemoMissingError, LabError, PortInUseError
from specscope.lab.load import run_load, summarize
from specscope.lab.server import LabServer

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from specscope.lab.load import LoadPlan, LoadSummary
    from specscope.lab.spec import ServerSpec

OK, FAILED, USAGE = 0, 1, 2


async def serve(spec: ServerSpec, *, log_path: Path | None = None) -> int:
    """Runs a server until SIGINT, SIGTERM or its death. All messages go to stderr.

    Returns:
        0 when told to stop, 1 when the server died, 2 when it could not be started as asked.
    """
    server = LabServer(spec, log_path=log_path)
    with _signals() as told_to_stop:
        stop = asyncio.create_task(told_to_stop.wait())
        run = asyncio.create_task(_run(server))
        try:
            await asyncio.wait({stop, run}, return_when=asyncio.FIRST_COMPLETED)
            return OK if stop.done() else run.result()
        finally:
            for task in (stop, run):
                task.cancel()
            await asyncio.gather(stop, run, return_exceptions=True)
            await server.stop()


async def load(url: str, plan: LoadPlan, *, api_key: str | None = None, as_json: bool = False) -> int:
    """Drives load and prints one line about it to stdout, as JSON if asked.

    Returns:
        0 when every request went well, 1 when one failed, 2 when the plan makes no sense.
    """
    began = time.monotonic()
    try:
        outcomes = await run_load(url, plan, api_key=api_key)
    except ValueError as error:
        _say(str(error))
        return USAGE
    summary = summarize(outcomes, time.monotonic() - began)
    sys.stdout.write((_as_json(summary) if as_json else _as_text(summary)) + "\n")
    for error in dict.fromkeys(outcome.error for outcome in outcomes if outcome.error):
        _say(f"specscope: {_shown(url)}: {error}")
    return FAILED if summary.failed else OK


async def _run(server: LabServer) -> int:
    try:
        await server.start()
    except (PortInUseError, DemoMissingError) as error:
        _say(str(error))
        return USAGE
    except (LabError, OSError) as error:
        _say(str(error))
        return FAILED
    spec = server.spec
    _say(f"serving {server.url} ({drafting_words(spec)}) log {server.log_path}")
    _say(f"load it with: specscope lab load {server.url}" + (" --api-key KEY" if spec.api_key else ""))
    status = await server.wait()
    _say(f"the server died ({_how(status)}): see {server.log_path}")
    return FAILED


def drafting_words(spec: ServerSpec) -> str:
    """Methods and widths: ``draft-dflash, n_max 7``. The tables' width does not follow ``--spec-draft-n-max``."""
    words = list(spec.server_types) or ["no speculation"]
    words += [f"n_max {spec.drafter_width}"] if spec.drafter_width else []
    words += [f"n-gram drafts up to {spec.table_width}"] if spec.table_width else []
    return ", ".join(words)


@contextmanager
def _signals() -> Generator[asyncio.Event]:
    """Yields an event that SIGINT and SIGTERM set while the block runs."""
    event = asyncio.Event()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, event.set)
    try:
        yield event
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _as_text(summary: LoadSummary) -> str:
    requests = "1 request" if summary.requests == 1 else f"{summary.requests} requests"
    parts = [requests, f"{summary.generated} tokens", f"{summary.tok_s:.1f} tok/s"]
    if summary.drafted:
        parts.append(f"{summary.accepted}/{summary.drafted} draft tokens accepted")
    if summary.ttft_ms is not None:
        parts.append(f"first token {summary.ttft_ms:.0f} ms")
    parts += [
        f"{count} {what}" for count, what in ((summary.cancelled, "cancelled"), (summary.failed, "failed")) if count
    ]
    return ", ".join(parts)


def _as_json(summary: LoadSummary) -> str:
    return json.dumps({**asdict(summary), "tok_s": summary.tok_s})


def _shown(url: str) -> str:
    """The address without name and password."""
    return str(httpx.URL(url).copy_with(userinfo=b""))


def _how(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
