"""Does watching slow the server? Milliseconds per cycle with and without, interleaved on one server.

``python scripts/long/slowdown.py [--rounds N] [--seconds S]``. The server's own log stamps are the clock. Each round
runs the ways of watching in turn; the medians over rounds are compared. Results: ``results/slowdown.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from specscope.lab.demo_load import demo_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

CYCLE = re.compile(rb"(\d+)\.(\d+)\.(\d+)\.(\d+) .*task (\d+) \| accepted")


def cycle_ms(log: Path, since: int) -> tuple[float, int]:
    """Mean ms between cycle ends of one request in what the log got since a position, and how many there were."""
    gaps: list[float] = []
    before: tuple[bytes, float] | None = None
    for match in CYCLE.finditer(log.read_bytes()[since:]):
        minutes, seconds, ms, us = (int(match[i]) for i in range(1, 5))
        at = minutes * 60e3 + seconds * 1e3 + ms + us / 1e3
        if before is not None and before[0] == match[5]:
            gaps.append(at - before[1])
        before = (match[5], at)
    return statistics.fmean(gaps), len(gaps)


@contextlib.asynccontextmanager
async def watched(url: str, how: str) -> AsyncGenerator[None]:
    """Nothing, or a specscope in a process of its own that streams its facts away."""
    if how == "nothing":
        yield
        return
    extra = ["--log", "/dev/null"] if how == "polled" else []
    command = [sys.executable, "-m", "specscope", "stream", url, *extra]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    await asyncio.sleep(1.5)
    yield
    process.terminate()
    await process.wait()


async def main() -> None:
    """Print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--size", default="quick")
    args = parser.parse_args()
    ways = ("nothing", "cycles", "polled")
    seen: dict[str, list[float]] = {way: [] for way in ways}
    width = 15 if args.size == "quick" else 3
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        spec = ServerSpec(n_max=width, rates=LAB_RATES, size=args.size, threads=1)
        async with LabServer(spec, log_path=log) as server, demo_load(server.url):
            await asyncio.sleep(3)
            for round_ in range(args.rounds):
                for way in ways[round_ % 3 :] + ways[: round_ % 3]:
                    async with watched(server.url, way):
                        start = log.stat().st_size
                        await asyncio.sleep(args.seconds)
                        ms, cycles = cycle_ms(log, start)
                    seen[way].append(ms)
                    print(f"round {round_ + 1} {way:8} {ms:7.3f} ms per cycle over {cycles} cycles", flush=True)
    base = statistics.median(seen["nothing"])
    for way, values in seen.items():
        ratios = [v / b for v, b in zip(values, seen["nothing"], strict=True)]
        median, paired = statistics.median(values), statistics.median(ratios)
        print(f"{way:8} median {median:.3f} ms, ratio to nothing {median / base:.4f}, paired {paired:.4f}")


if __name__ == "__main__":
    asyncio.run(main())
