"""What tracing sees on a GPU, and what it costs the server there.

``python scripts/long/on_a_gpu.py --binary LLAMA_SERVER --out FOLDER`` as root, with bpftrace, on a machine with one
GPU. Prints Markdown; the figures are committed in ``results/on_a_gpu.md``, the recordings in ``tests/recordings``.
``--size quick`` and no ``--binary`` try the script on a CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import random
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from specscope import __version__
from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.recording import Recorder
from specscope.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from specscope.session.state import Target

TOKENS = 600
WAYS = ("cheap", "auto", "full", "polled")


def servers(base: ServerSpec) -> list[tuple[str, ServerSpec, dict[str, object]]]:
    """The servers that are looked into, each with its requests' sampling."""
    dflash = replace(base, types=("dflash",), n_max=15, rates=LAB_RATES)
    return [
        ("plain", replace(base, types=()), {}),
        ("dflash", dflash, {}),
        ("dflash, host argmax", replace(dflash, draft_backend_sampling=False), {}),
        ("dflash, top_k 0, min_p 0", dflash, {"top_k": 0, "min_p": 0.0}),
        ("dflash, two slots", replace(dflash, slots=2), {}),
        ("dflash, real verification", replace(dflash, rates=None), {}),
        ("draft-simple, n_max 4", replace(base, types=("draft-simple",), n_max=4), {}),
        ("ngram-mod", replace(base, types=("ngram-mod",)), {"temperature": 0}),
    ]


async def look(name: str, spec: ServerSpec, sampling: dict[str, object], seconds: float, out: Path) -> Target:
    """Watch one server under load with everything, and record it."""
    file = out / f"{name.replace(', ', '_').replace(' ', '_')}.jsonl.gz"
    file.unlink(missing_ok=True)
    plan = LoadPlan(
        requests=None,
        duration_s=seconds,
        tokens=TOKENS,
        concurrency=spec.slots,
        sampling=sampling,
        repeat="ngram" in name,
    )
    async with LabServer(spec, start_timeout_s=120) as server:
        with Recorder(file, tool_version=__version__, started=time.time()) as recorder:
            async with watching(
                [LiveTarget(server.url, server.pid)], Settings(trace="auto"), recorder=recorder
            ) as pump:
                await run_load(server.url, plan)
            return pump.session().targets[0]


def print_anatomy(name: str, view: Target) -> None:
    """One row of the table of parts, and what the copies say."""
    count, anatomy, totals = view.referee.count, view.anatomy, view.totals
    captured = f"{totals.cycles} / {totals.drafted} / {totals.accepted}"
    counted = f"{count.cycles} / {count.drafted} / {count.accepted}" if count else "-"
    cells = [name, captured, counted, view.evidence]
    if anatomy is not None:
        p = anatomy.parts
        parts = (p.whole_ms, p.draft_ms, p.draft_sampling_ms, p.submit_ms, p.wait_ms)
        parts += (p.features_ms, p.sampling_ms, p.other_ms)
        cells += ["-" if v is None else f"{v:.2f}" for v in parts]
    stalls = view.stalls
    cells.append("-" if stalls is None else f"{stalls.waiting:.0%} / {stalls.idle:.0%}")
    path = view.backend_path
    cells += [path.draft, path.target]
    print(f"| {' | '.join(cells)} |", flush=True)


async def one_request(client: httpx.AsyncClient, url: str) -> float:
    """Milliseconds per cycle of the same request again."""
    body = {
        "prompt": "ba be bi bo bu",
        "n_predict": TOKENS,
        "seed": 7,
        "ignore_eos": True,
        "cache_prompt": False,
        "temperature": 0,
    }
    timings = (await client.post(f"{url}/completion", json=body, timeout=120)).json()["timings"]
    return timings["predicted_ms"] / (timings["predicted_n"] - timings.get("draft_n_accepted", 0))


@contextlib.asynccontextmanager
async def watched(url: str, way: str) -> AsyncGenerator[None]:
    """A specscope in a process of its own that streams its facts away; attached when the block begins."""
    trace = way if way in ("cheap", "auto", "full") else "off"
    command = [sys.executable, "-m", "specscope", "stream", url, "--log", "/dev/null", "--trace", trace]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    line = await asyncio.wait_for(process.stderr.readline(), 40)
    assert line.startswith(b"watching"), line
    await asyncio.sleep(0.3)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


def interval(ratios: list[float]) -> str:
    """Median ratio less one in percent, with a bootstrap interval of 95 %."""
    draw = random.Random(1)  # noqa: S311  not for secrets
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(4000))
    middle = statistics.median(ratios) - 1
    return f"{middle:+.1%} ({medians[100] - 1:+.1%} .. {medians[3899] - 1:+.1%})"


def apart(pid: int) -> None:
    """Keep the server and what watches it from moving each other about."""
    cores = sorted(os.sched_getaffinity(0))
    half = len(cores) // 2
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores[:half])
    os.sched_setaffinity(0, cores[half:])


async def slowdown(spec: ServerSpec, ways: tuple[str, ...], rounds: int, requests: int, *, pinned: bool) -> None:
    """Interleaved: in each round every way of watching, around it the server left alone."""
    ratios: dict[str, list[float]] = {w: [] for w in (*ways, "control")}
    alone: list[float] = []
    async with LabServer(spec, start_timeout_s=120) as server, httpx.AsyncClient() as client:
        if pinned:
            apart(server.pid)
        for _ in range(4):
            await one_request(client, server.url)

        async def mean() -> float:
            return statistics.fmean([await one_request(client, server.url) for _ in range(requests)])

        before = await mean()
        for number in range(rounds):
            order = ways[number % len(ways) :] + ways[: number % len(ways)]
            for way in (*order, "control"):
                if way == "control":
                    with_it = await mean()
                else:
                    async with watched(server.url, way):
                        with_it = await mean()
                after = await mean()
                alone += [after]
                ratios[way].append(2 * with_it / (before + after))
                before = after
    print(f"\n{statistics.median(alone):.3f} ms per cycle alone; {rounds} rounds of {requests} requests\n")
    print("| watched by | slowdown, median and 95 % interval | rounds |\n|---|---|---|")
    for way, values in ratios.items():
        print(f"| {way} | {interval(values)} | {' '.join(f'{v - 1:+.1%}' for v in values)} |", flush=True)


async def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--size", default="gpu")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=14)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=3)
    parser.add_argument("--ways", default=",".join(WAYS), help="of watching, for the slowdown")
    parser.add_argument(
        "--pinned", action="store_true", help="the server on one half of the cores, all else on the other"
    )
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    extra = ("-ngl", "99", "-ngld", "99", "-fa", "on") if args.binary else ()
    base = ServerSpec(size=args.size, trace=False, binary=args.binary, ctx=8192, extra=extra)
    print(f"kernel {platform.release()}, {time.strftime('%Y-%m-%d')}, size {args.size}\n")
    heads = ("server", "captured", "counters", "evidence", "turn ms", "draft", "of it sampling", "submit", "wait")
    heads += ("features", "sampling", "other", "thread waits / device idle", "draft on", "target on")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)
    notes: list[str] = []
    for name, spec, sampling in servers(base):
        if args.only not in name:
            continue
        try:
            view = await look(name, spec, sampling, args.seconds, args.out)
        except Exception as error:  # noqa: BLE001  one server less, the others are still to be seen
            print(f"| {name} | {type(error).__name__}: {error} |", flush=True)
            continue
        print_anatomy(name, view)
        copies = [(c.owner, c.bytes_each, round(c.per_turn, 2), c.meaning) for c in view.copies]
        sources = [(s.name, s.state, s.tier, s.detail, s.missed) for s in view.sources if s.name == "trace"]
        path = view.backend_path
        said = {"copies": copies, "trace": sources, "why": [path.draft_why, path.target_why]}
        notes.append(f"{name}: {json.dumps(said)}")
    print("\n" + "\n".join(notes), flush=True)
    dflash = replace(base, types=("dflash",), n_max=15, rates=LAB_RATES)
    if args.rounds:
        await slowdown(dflash, tuple(args.ways.split(",")), args.rounds, args.requests, pinned=args.pinned)


if __name__ == "__main__":
    asyncio.run(main())
