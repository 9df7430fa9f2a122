"""The economics judged: what specscope says of draft widths from a few recorded runs, beside what each width gives.

``python scripts/long/sweep.py --size quick|paying|gpu [--binary LLAMA_SERVER] --out FOLDER`` prints Markdown; the
figures are committed in ``results/sweep.md``, the recordings stay in the folder. A CUDA server on one H200 takes under
150 s with the defaults.

For each n_max, and for speculation off, a server of the lab answers requests of one length with the same prompt (seeds
1, 2, 3, ..), watched and recorded by specscope. The referee is the server's own ``timings`` of whole requests. All
servers are up at once and work in turns of half a second, so that a machine that drifts does so for all of them; with a
trace it is one after another. One more server at n_max 15 gets many short requests, whose last drafts are narrow: its
widths vary, as those of real requests do.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import platform
import random
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from sweep_tables import N_MAX, OFF, VARIED, Measured, name_of, print_all

from specscope import __version__
from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.lab.models import model_path
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.recording import Recorder
from specscope.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from sweep_tables import Figures

TOKENS = {"quick": 384, "paying": 384, "gpu": 600}
"""Of a request: the last cycles of each, cut to what is left, are then few."""

TURN_S = 0.5
PROMPT = 60
SHORTEST, LONGEST = 1, 24
"""Tokens of the requests of the run whose widths vary."""


def spec_of(base: ServerSpec, n_max: int) -> ServerSpec:
    """The server of a width; one without a drafter for speculation off."""
    if n_max == OFF:
        return replace(base, types=())
    return replace(base, types=("dflash",), n_max=n_max, rates=LAB_RATES[:n_max])


def prompt(tokens: int) -> list[int]:
    """Ids that every lab model has as ordinary tokens."""
    return [40 + 7 * i % 100 for i in range(tokens)]


async def ask(client: httpx.AsyncClient, url: str, tokens: int, seed: int, resident: int) -> dict[str, Any]:
    """One request; the server's own timings of it."""
    body = {"prompt": prompt(resident), "n_predict": tokens, "seed": seed, "ignore_eos": True, "cache_prompt": True}
    return (await client.post(f"{url}/completion", json=body, timeout=120)).json()["timings"]


def figures(timings: dict[str, Any]) -> Figures:
    """The first token comes with the prompt, and is left out."""
    tokens = timings["predicted_n"] - 1
    steps = tokens - timings.get("draft_n_accepted", 0)
    return timings["predicted_ms"] / tokens, timings["predicted_ms"] / steps, tokens / steps


def short_lengths() -> Iterator[int]:
    """Of the short requests: each length once, in an order that is always the same, over and over."""
    dice = random.Random(3)  # noqa: S311  varied, not secret
    while True:
        yield from dice.sample(range(SHORTEST, LONGEST + 1), LONGEST + 1 - SHORTEST)


@dataclass
class Running:
    """A server that answers, watched and recorded; ``rows``: the figures of its whole requests of this half."""

    name: str
    url: str
    client: httpx.AsyncClient
    tokens: int
    rows: list[Figures] = field(default_factory=list["Figures"])
    lengths: Iterator[int] = field(default_factory=short_lengths)
    seed: int = 0
    asked: int = 0

    @property
    def turns(self) -> int:
        """How many turns it has where others have one: what varies in width is spread over all of them."""
        return 3 if self.name == VARIED else 1

    async def work(self, seconds: float) -> None:
        """Requests for so long, one at least."""
        until = time.monotonic() + seconds
        while True:
            self.seed += 1
            self.asked += 1
            if self.name == VARIED:
                # As deep as the middle of the long requests, so that depth is no difference.
                await ask(self.client, self.url, next(self.lengths), self.seed, PROMPT + self.tokens // 2)
            else:
                self.rows.append(figures(await ask(self.client, self.url, self.tokens, self.seed, PROMPT)))
            if time.monotonic() >= until:
                return


@contextlib.asynccontextmanager
async def running(
    name: str, spec: ServerSpec, file: Path, trace: str, tokens: int | None = None
) -> AsyncGenerator[Running]:
    """Start a server, warm it up, watch it and record what is seen."""
    tokens = tokens or TOKENS[spec.size]
    async with LabServer(spec, start_timeout_s=120) as server, httpx.AsyncClient(trust_env=False) as client:
        await ask(client, server.url, tokens // 4, 99, PROMPT)
        with Recorder(file, tool_version=__version__, started=time.time()) as recorder:
            target = LiveTarget(server.url, server.pid)
            async with watching([target], Settings(trace=trace), recorder=recorder):
                yield Running(name, server.url, client, tokens)
                await asyncio.sleep(0.3)


async def in_turns(
    servers: dict[str, ServerSpec], out: Path, seconds: float, tokens: int | None = None, least: int = 2
) -> dict[str, Measured]:
    """All servers at once, each at work half a second at a time, so that a machine that drifts drifts for all of them.

    Args:
        servers: by name; the one called ``varied`` gets short requests.
        out: where their runs are recorded.
        seconds: of work for each, thrice that for ``varied``.
        tokens: of a whole request; left out, as many as suit the size.
        least: whole requests to each, however long they take.
    """
    measured = {name: Measured() for name in servers if name != VARIED}
    async with contextlib.AsyncExitStack() as stack:
        up: list[Running] = []
        for name, spec in servers.items():
            try:
                up.append(await stack.enter_async_context(running(name, spec, file_of(out, name), "off", tokens)))
            except Exception as error:  # noqa: BLE001  one server less, the others are still to be seen
                print(f"{name}: {type(error).__name__}: {error}\n", flush=True)
        for _ in range(2):
            until = time.monotonic() + seconds * sum(server.turns for server in up) / 2
            while any(2 * server.asked < least for server in up) or (up and time.monotonic() < until):
                for server in tuple(up):
                    try:
                        await server.work(server.turns * TURN_S)
                    except Exception as error:  # noqa: BLE001  as above
                        print(f"{server.name}: {type(error).__name__}: {error}\n", flush=True)
                        up.remove(server)
            for server in up:
                if server.rows:
                    measured[server.name].halves.append(server.rows)
                    server.rows = []
                server.asked = 0
    return measured


async def one_by_one(servers: dict[str, ServerSpec], out: Path, seconds: float, trace: str) -> dict[str, Measured]:
    """One server after another: probes on one would cost all those that have loaded the same library."""
    measured: dict[str, Measured] = {}
    for name, spec in servers.items():
        try:
            async with running(name, spec, file_of(out, name), trace) as server:
                await server.work(server.turns * seconds)
        except Exception as error:  # noqa: BLE001  as above
            print(f"{name}: {type(error).__name__}: {error}\n", flush=True)
            continue
        if name != VARIED:
            measured[name] = Measured([server.rows])
    return measured


def file_of(out: Path, name: str) -> Path:
    """Where a run is recorded; an older recording is removed."""
    file = out / f"{name}.jsonl.gz"
    file.unlink(missing_ok=True)
    return file


async def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--size", default="quick", choices=("quick", "paying", "gpu"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--seconds",
        type=float,
        default=9,
        help="of requests to each server",
    )
    parser.add_argument("--threads", type=int, help="of the servers' arithmetic: two starve on two cores at other work")
    parser.add_argument("--trace", default="off", choices=("off", "cheap", "auto"), help="off: cycles by LLAMA_TRACE")
    parser.add_argument("--only-print", action="store_true", help="judge what lies in the folder")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    extra = ("-ngl", "99", "-ngld", "99", "-fa", "on") if args.binary else ()
    base = ServerSpec(size=args.size, trace=args.trace == "off", binary=args.binary, extra=extra, threads=args.threads)
    for model in (base.target_model, spec_of(base, 1).draft_model):
        assert model is not None
        model_path(model)  # built before the clock runs
    print(f"kernel {platform.release()}, {time.strftime('%Y-%m-%d')}, size {args.size}, trace {args.trace}\n")
    kept = args.out / "measured.json"
    if args.only_print:
        measured = {name: Measured(halves) for name, halves in json.loads(kept.read_text()).items()}
    else:
        # The log at -lv 4 has the drafter's own time: without it, only what bounds it is known.
        servers = {VARIED: replace(spec_of(base, max(N_MAX)), verbosity=4)} | {
            name_of(n): spec_of(base, n) for n in N_MAX
        }
        began = time.monotonic()
        measured = (
            await in_turns(servers, args.out, args.seconds)
            if args.trace == "off"
            else await one_by_one(servers, args.out, args.seconds, args.trace)
        )
        print(f"{time.monotonic() - began:.0f} s in all\n", flush=True)
        kept.write_text(json.dumps({name: m.halves for name, m in measured.items()}))
    print_all(args.out, measured)


if __name__ == "__main__":
    asyncio.run(main())
