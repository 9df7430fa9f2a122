"""The economics judged: what specscope says of draft widths from a few recorded runs, beside what each width gives.

``python scripts/long/sweep.py --size quick|paying|gpu [--binary LLAMA_SERVER] --out FOLDER`` prints Markdown; the
figures are committed in ``results/sweep.md``, the recordings stay in the folder. A CUDA server on one H200 takes under
150 s with the defaults.

For each n_max, and for speculation off, a server of the lab answers requests of one length with the same prompt (seeds
1, 2, 3, ..), watched and recorded by specscope. The referee is the server's own ``timings`` of whole requests. Each
server is visited twice, the second time in reverse order, so that a machine that drifts shows. One more server at n_max
15 gets many short requests, whose last drafts are narrow: its widths vary, as those of real requests do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import random
import time
from dataclasses import replace
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
    from collections.abc import Iterator

TOKENS = {"quick": 384, "paying": 384, "gpu": 600}
"""Of a request: the last cycles of each, cut to what is left, are then few."""

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


def figures(timings: dict[str, Any]) -> tuple[float, float, float]:
    """(tokens per second, ms per step, tokens per step): the first token comes with the prompt, and is left out."""
    tokens = timings["predicted_n"] - 1
    steps = tokens - timings.get("draft_n_accepted", 0)
    return 1000 * tokens / timings["predicted_ms"], timings["predicted_ms"] / steps, tokens / steps


def lengths() -> Iterator[int]:
    """Of the short requests: each length once, in an order that is always the same, over and over."""
    dice = random.Random(3)  # noqa: S311  varied, not secret
    while True:
        yield from dice.sample(range(SHORTEST, LONGEST + 1), LONGEST + 1 - SHORTEST)


async def visit(spec: ServerSpec, file: Path, seconds: float, trace: str, *, varied: bool) -> list[Any]:
    """Start a server, warm it up, and record it under load. Returns the figures of its whole requests."""
    tokens, seen = TOKENS[spec.size], list[Any]()
    async with LabServer(spec, start_timeout_s=120) as server, httpx.AsyncClient(trust_env=False) as client:
        await ask(client, server.url, tokens, 99, PROMPT)
        with Recorder(file, tool_version=__version__, started=time.time()) as recorder:
            target = LiveTarget(server.url, server.pid)
            async with watching([target], Settings(trace=trace), recorder=recorder):
                until, some = time.monotonic() + seconds, lengths()
                seed = 0
                while time.monotonic() < until or (len(seen) < 2 and not varied):
                    seed += 1
                    if varied:
                        # As deep as the middle of the long requests, so that depth is no difference.
                        await ask(client, server.url, next(some), seed, PROMPT + tokens // 2)
                    else:
                        seen.append(figures(await ask(client, server.url, tokens, seed, PROMPT)))
                await asyncio.sleep(0.3)
    return seen


async def sweep(base: ServerSpec, args: argparse.Namespace) -> dict[str, Measured]:
    """Visit every server, and in reverse again while there is time. One that fails is named and left out."""
    began, measured = time.monotonic(), dict[str, Measured]()
    servers = [(name_of(n), spec_of(base, n)) for n in N_MAX]
    visits = [(0, VARIED, spec_of(base, max(N_MAX)))]
    for number in range(args.rounds):
        visits += [(number, *server) for server in (reversed(servers) if number % 2 else servers)]
    for number, name, spec in visits:
        if number and time.monotonic() - began > args.within:
            break
        varied = name == VARIED
        seconds = args.seconds if varied else args.seconds / args.rounds
        file = args.out / f"{name}{f'_{number + 1}' if number else ''}.jsonl.gz"
        file.unlink(missing_ok=True)
        try:
            rows = await asyncio.wait_for(visit(spec, file, seconds, args.trace, varied=varied), 90 + seconds)
        except Exception as error:  # noqa: BLE001  one server less, the others are still to be seen
            print(f"{name}: {type(error).__name__}: {error}\n", flush=True)
            continue
        if not varied:
            measured.setdefault(name, Measured()).rounds.append(rows)
    print(f"{time.monotonic() - began:.0f} s in all\n", flush=True)
    return measured


async def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--size", default="quick", choices=("quick", "paying", "gpu"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=9, help="of requests, for each width, all visits together")
    parser.add_argument("--rounds", type=int, default=2, help="visits of each server")
    parser.add_argument("--within", type=float, default=130, help="seconds after which no further visit begins again")
    parser.add_argument("--trace", default="off", choices=("off", "cheap", "auto"), help="off: cycles by LLAMA_TRACE")
    parser.add_argument("--only-print", action="store_true", help="judge what lies in the folder")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    extra = ("-ngl", "99", "-ngld", "99", "-fa", "on") if args.binary else ()
    base = ServerSpec(size=args.size, trace=args.trace == "off", binary=args.binary, extra=extra)
    for model in (base.target_model, spec_of(base, 1).draft_model):
        assert model is not None
        model_path(model)  # built before the clock runs
    print(f"kernel {platform.release()}, {time.strftime('%Y-%m-%d')}, size {args.size}, trace {args.trace}\n")
    kept = args.out / "measured.json"
    if args.only_print:
        measured = {name: Measured(rounds) for name, rounds in json.loads(kept.read_text()).items()}
    else:
        measured = await sweep(base, args)
        kept.write_text(json.dumps({name: m.rounds for name, m in measured.items()}))
    print_all(args.out, measured)


if __name__ == "__main__":
    asyncio.run(main())
