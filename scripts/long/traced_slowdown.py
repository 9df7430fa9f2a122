"""What tracing costs the server it watches: two servers side by side, of which one is watched, and then the other.

``python scripts/long/traced_slowdown.py --binary LLAMA_SERVER`` as root, with bpftrace; ``--size quick`` tries it on a
CPU. The figures are committed in ``benchmarks/results/traced_on_h200.md``.

Probes cannot be switched as quickly as a machine drifts: attaching takes seconds, in which speeds move by more than is
looked for. So a second server runs from a copy of the binary's folder: probes sit in a file, and those of the watched
server's files are not in its way. Both answer the same short request in turns, in random order within each pair; a
way of watching stays on one server for a block and on the other for the next. With A and B the servers' ms per cycle,
the slowdown is the root of (A / B while A is watched) over (A / B while B is watched): what the servers differ by
falls out, and so does all that drifts more slowly than a pair.

Of sums, because a burst hits few requests and must count; of medians, to show what the time between bursts costs. The
intervals of 95 % come from drawing the pairs of each block anew. ``nobody`` watches neither: what the method cannot
tell from nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import platform
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
from slowdown import cycle_ms

from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from typing import TypeAlias

    Pair: TypeAlias = tuple[float, float]
    Middle: TypeAlias = Callable[[Sequence[float]], float]

NOBODY: Final = "nobody"
WARM_UP: Final = 4
SETTLE_S: Final = 3.0
"""After attaching, so that no pair holds the arming of the probes."""

RESAMPLES: Final = 2000


@contextlib.asynccontextmanager
async def watched(url: str, way: str) -> AsyncGenerator[None]:
    """A specscope in a process of its own that streams its facts away; attached when the block begins."""
    if way == NOBODY:
        yield
        return
    trace = "off" if way == "polled" else way
    command = [sys.executable, "-m", "specscope", "stream", url, "--log", "/dev/null", "--trace", trace]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    line = await asyncio.wait_for(process.stderr.readline(), 40)
    assert line.startswith(b"watching"), line
    await asyncio.sleep(SETTLE_S)
    try:
        yield
        assert process.returncode is None, f"{way}: the watcher ended with status {process.returncode}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


def keep_apart(*pids: int) -> None:
    """Keep the servers and what watches them from moving each other about, where there are cores enough."""
    cores = sorted(os.sched_getaffinity(0))
    half = len(cores) // 2
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), cores[:half])
    os.sched_setaffinity(0, cores[half:])


async def block(
    client: httpx.AsyncClient, urls: list[str], seconds: float, tokens: int, dice: random.Random
) -> list[Pair]:
    """Pairs of ms per cycle of both servers, for so long."""
    pairs: list[Pair] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        seen = {i: await cycle_ms(client, urls[i], tokens) for i in dice.sample((0, 1), 2)}
        pairs.append((seen[0], seen[1]))
    return pairs


def slowdown(blocks: Sequence[Sequence[list[Pair]]], middle: Middle) -> float:
    """Of pairs seen while the first was watched, and while the second was; 0 is none."""
    ratios = [middle([a for a, _ in pairs]) / middle([b for _, b in pairs]) for pairs in map(joined, blocks)]
    return (ratios[0] / ratios[1]) ** 0.5 - 1


def joined(blocks: Sequence[list[Pair]]) -> list[Pair]:
    """All pairs of several blocks."""
    return [pair for pairs in blocks for pair in pairs]


def said(blocks: Sequence[Sequence[list[Pair]]], middle: Middle) -> str:
    """The slowdown with its interval of 95 %."""
    draw = random.Random(1)  # noqa: S311  not for secrets
    found = sorted(
        slowdown([[draw.choices(pairs, k=len(pairs)) for pairs in side] for side in blocks], middle)
        for _ in range(RESAMPLES)
    )
    low, high = found[int(0.025 * RESAMPLES)], found[int(0.975 * RESAMPLES)]
    return f"{slowdown(blocks, middle):+.2%} ({low:+.2%} .. {high:+.2%})"


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True, help="with its libraries in the same folder")
    parser.add_argument("--size", default="gpu")
    parser.add_argument("--ways", default="auto,cheap,polled,nobody")
    parser.add_argument("--rounds", type=int, default=2, help="in each, every way watches both servers in turn")
    parser.add_argument("--seconds", type=float, default=30, help="of each block")
    parser.add_argument("--tokens", type=int, default=300, help="of a request")
    args = parser.parse_args()
    dice = random.Random(1)  # noqa: S311  an order, not a secret
    ways: list[str] = args.ways.split(",")
    rates = LAB_RATES if args.size == "gpu" else None  # the builds tried on a CPU may be too old for them
    extra = ("-ngl", "99", "-ngld", "99", "-fa", "on") if args.size == "gpu" else ()
    print(f"kernel {platform.release()}, {time.strftime('%Y-%m-%d')}, size {args.size}, {args.tokens} tokens\n")
    with tempfile.TemporaryDirectory(prefix="specscope-second-") as folder:
        second = Path(shutil.copytree(args.binary.parent, Path(folder) / "bin")) / args.binary.name
        specs = [
            ServerSpec(
                size=args.size,
                trace=False,
                n_max=15,
                rates=rates,
                ctx=8192,
                extra=extra,
                binary=binary,
                env={"LD_LIBRARY_PATH": str(binary.parent)},
            )
            for binary in (args.binary, second)
        ]
        async with contextlib.AsyncExitStack() as stack:
            servers = [await stack.enter_async_context(LabServer(spec, start_timeout_s=120)) for spec in specs]
            client = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
            urls = [server.url for server in servers]
            if len(os.sched_getaffinity(0)) >= 8:
                keep_apart(*(server.pid for server in servers))
            for url in urls * WARM_UP:
                await cycle_ms(client, url, args.tokens)
            seen: dict[str, tuple[list[list[Pair]], list[list[Pair]]]] = {way: ([], []) for way in ways}
            for _ in range(args.rounds):
                for way in dice.sample(ways, len(ways)):
                    for index in dice.sample((0, 1), 2):
                        async with watched(urls[index], way):
                            seen[way][index].append(await block(client, urls, args.seconds, args.tokens, dice))
                        print(f"{way} on {index}: {len(seen[way][index][-1])} pairs", file=sys.stderr, flush=True)
    print(
        "| watched by | ms per cycle of both, median | pairs | slowdown, of sums | of medians |\n|---|---|---|---|---|"
    )
    for way, blocks in seen.items():
        pairs = joined([*blocks[0], *blocks[1]])
        base = " / ".join(f"{statistics.median(side):.2f}" for side in zip(*pairs, strict=True))
        cells = (way, base, str(len(pairs)), said(blocks, statistics.fmean), said(blocks, statistics.median))
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
