"""``specscope demo``: a real llama-server with a DFlash pair, real load on it, and the screen attached."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING, Final

from specscope.cli.common import settings_of
from specscope.cli.exits import OK, CommandError
from specscope.cli.feeds import LiveFeed
from specscope.cli.live import need_terminal
from specscope.cli.snapshot import show as show_snapshot
from specscope.cli.targets import LiveTarget
from specscope.cli.watching import mark, sleep_or_signal, watching
from specscope.lab.demo_load import demo_load
from specscope.lab.errors import LabError
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.reports.text import summary

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncGenerator, Callable

    from specscope.settings import Settings

N_MAX: Final = 15
SECONDS: Final = 12.0


def run(args: Namespace) -> int:
    """Run the demo until q, Ctrl+C or ``--seconds``."""
    if not args.json:
        need_terminal("specscope demo --seconds 12")
    settings = settings_of(args)
    spec = ServerSpec(types=("dflash",), n_max=N_MAX, rates=LAB_RATES, slots=1, trace=not args.no_trace)
    try:
        return asyncio.run(_json(args, spec, settings) if args.json else _screen(args, spec, settings))
    except LabError as error:
        raise CommandError(str(error)) from error


async def _json(args: Namespace, spec: ServerSpec, settings: Settings) -> int:
    async with _server(spec) as server, watching([_target(server)], settings) as pump:
        mark(pump, "demo")
        async with demo_load(server.url):
            await sleep_or_signal(args.seconds or SECONDS)
    show_snapshot(pump, as_json=True)
    return OK


async def _screen(args: Namespace, spec: ServerSpec, settings: Settings) -> int:
    from specscope.views.app import SpecscopeApp  # noqa: PLC0415  Textual takes half a second to import

    async with _server(spec) as server:
        feed = LiveFeed([_target(server)], settings)
        app = SpecscopeApp(feed, settings)
        timer = asyncio.create_task(_exit_after(app.exit, args.seconds))
        try:
            async with demo_load(server.url):
                await app.run_async()
        finally:
            timer.cancel()
    sys.stdout.write(summary(feed.pump.session()) + "\n")
    return OK


def _target(server: LabServer) -> LiveTarget:
    return LiveTarget(server.url, server.pid, "demo", "xllamacpp")


@contextlib.asynccontextmanager
async def _server(spec: ServerSpec) -> AsyncGenerator[LabServer]:
    sys.stderr.write(
        "starting a llama-server with a small random DFlash pair (its text is noise, the machinery is real)\n"
    )
    async with LabServer(spec) as server:
        yield server


async def _exit_after(leave: Callable[[], None], seconds: float | None) -> None:
    if seconds is not None:
        await asyncio.sleep(seconds)
        leave()
