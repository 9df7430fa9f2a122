"""Does watching slow the server? Milliseconds per cycle of one and the same request, watched and not, in pairs.

``python scripts/long/slowdown.py [--pairs N] [--size quick|paying] [--threads N]``. One lab server answers the same
completion again and again, not streamed, so that nobody but the server and the watcher does anything meanwhile. The
watcher is ``specscope stream`` in a process of its own, attached all the time: around each request of a pair it is
continued or stopped (SIGCONT, SIGSTOP), in random order. ``control`` is a process that only sleeps, stopped and
continued alike: its interval is the noise. Probes are left out (``--trace off``): stopping specscope does not take
them off the server.

A request's ms per cycle is the server's own: predicted_ms / (predicted_n - draft_n_accepted). Printed are the
trimmed mean of the paired ratios, the same over the control's, each with a bootstrap interval of 95 %, and the
median. The ways of watching take turns, in blocks. Results: ``results/slowdown.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import random
import signal
import statistics
import sys
from typing import TYPE_CHECKING, Final

import httpx

from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

SETTLE_S: Final = 0.15
"""Between stopping or continuing the watcher and the request."""

BLOCK: Final = 20
"""Pairs of one way of watching before the next takes its turn."""

ATTACH_S: Final = 3.0
BACK_S: Final = 1.0
"""A watcher that was stopped for a block reads up what it has missed."""

WARM_UP: Final = 3
RESAMPLES: Final = 5000
TRIMMED: Final = 0.2
TOKENS: Final = 400
REQUEST: Final = {
    "prompt": "hello world this is",
    "seed": 7,
    "temperature": 0.0,
    "ignore_eos": True,
    "cache_prompt": False,
}

SPECSCOPE: Final = (sys.executable, "-m", "specscope", "stream", "--trace", "off")
CONTROL: Final = "control (sleeps)"
WAYS: Final[dict[str, tuple[str, ...]]] = {
    CONTROL: (sys.executable, "-c", "import time; time.sleep(1e6)"),
    "cycles (log)": (*SPECSCOPE, "URL"),
    "polled": (*SPECSCOPE, "--log", "/dev/null", "URL"),
}


@contextlib.asynccontextmanager
async def watcher(command: Sequence[str], url: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A watcher in a process of its own, attached and then stopped."""
    words = [url if word == "URL" else word for word in command]
    nowhere = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*words, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    try:
        await asyncio.sleep(ATTACH_S)
        signal_to(process, signal.SIGSTOP, " ".join(words))
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def cycle_ms(client: httpx.AsyncClient, url: str = "", tokens: int = TOKENS) -> float:
    """Milliseconds per cycle of the request, by the server's own clock."""
    answer = await client.post(f"{url}/completion", json=REQUEST | {"n_predict": tokens}, timeout=120)
    timings = answer.raise_for_status().json()["timings"]
    return timings["predicted_ms"] / (timings["predicted_n"] - timings["draft_n_accepted"])


def signal_to(process: asyncio.subprocess.Process, number: signal.Signals, way: str) -> None:
    """Send a watcher a signal; one that has ended ends the run."""
    if process.returncode is not None:
        sys.exit(f"{way}: the watcher ended with status {process.returncode}")
    process.send_signal(number)


async def pair(
    client: httpx.AsyncClient, process: asyncio.subprocess.Process, way: str, dice: random.Random
) -> dict[bool, float]:
    """The request with the watcher running and with it stopped, in random order."""
    seen: dict[bool, float] = {}
    for running in dice.sample((True, False), 2):
        signal_to(process, signal.SIGCONT if running else signal.SIGSTOP, way)
        await asyncio.sleep(SETTLE_S)
        seen[running] = await cycle_ms(client)
    return seen


async def measure(url: str, ways: Sequence[str], pairs: int, dice: random.Random) -> dict[str, list[dict[bool, float]]]:
    """All pairs of these ways, on one server."""
    seen: dict[str, list[dict[bool, float]]] = {way: [] for way in ways}
    async with contextlib.AsyncExitStack() as stack:
        once = httpx.Limits(max_keepalive_connections=0)  # the server closes a kept connection after five seconds
        client = httpx.AsyncClient(base_url=url, timeout=120, limits=once, trust_env=False)
        await stack.enter_async_context(client)
        for _ in range(WARM_UP):
            await cycle_ms(client)
        watchers = {way: await stack.enter_async_context(watcher(WAYS[way], url)) for way in ways}
        while any(len(found) < pairs for found in seen.values()):
            for way in dice.sample(list(ways), len(ways)):
                process = watchers[way]
                signal_to(process, signal.SIGCONT, way)
                await asyncio.sleep(BACK_S)
                for _ in range(min(BLOCK, pairs - len(seen[way]))):
                    seen[way].append(await pair(client, process, way, dice))
                signal_to(process, signal.SIGSTOP, way)
                print(f"{way}: {len(seen[way])} pairs, {ratio(seen[way]):.4f}", file=sys.stderr, flush=True)
    return seen


def ratio(pairs: Sequence[dict[bool, float]]) -> float:
    """The geometric mean of watched to not watched, the lowest and the highest fifth left out.

    A virtual machine's cores are taken away now and then: single pairs part by a factor of two, which the mean of
    all of them follows and this one does not.
    """
    logs = sorted(math.log(p[True] / p[False]) for p in pairs)
    cut = int(TRIMMED * len(logs))
    return math.exp(statistics.fmean(logs[cut : len(logs) - cut]))


def interval(
    pairs: Sequence[dict[bool, float]], dice: random.Random, against: Sequence[dict[bool, float]] | None = None
) -> tuple[float, float]:
    """Where the ratio, or its quotient with another one, lies with a probability of 95 %, by resampling the pairs."""
    means = sorted(
        ratio(dice.choices(pairs, k=len(pairs)))
        / (1.0 if against is None else ratio(dice.choices(against, k=len(against))))
        for _ in range(RESAMPLES)
    )
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100, help="of each way of watching")
    parser.add_argument("--size", choices=("quick", "paying"), default="quick")
    parser.add_argument("--ways", default="control,cycles,polled", help="which, by the first word of each")
    parser.add_argument("--threads", type=int, default=1, help="of the server")
    args = parser.parse_args()
    dice = random.Random(1)  # noqa: S311  an order, not a secret
    width = 15 if args.size == "quick" else 3
    spec = ServerSpec(n_max=width, rates=LAB_RATES[:width], size=args.size, threads=args.threads)
    async with LabServer(spec) as server:
        ways = [way for way in WAYS if way.split()[0] in args.ways.split(",")]
        seen = await measure(server.url, ways, args.pairs, dice)
    print(f"{args.size} n_max {width}, {args.threads} server thread(s), {args.pairs} pairs each\n")
    print("| watched by | ms per cycle not watched | watched / not | 95 % | over the control's | 95 % | median |")
    print("|---|---|---|---|---|---|---|")
    control = seen.get(CONTROL)
    for way, pairs in seen.items():
        low, high = interval(pairs, dice)
        median = statistics.median(p[True] / p[False] for p in pairs)
        base = statistics.median(p[False] for p in pairs)
        beside = " | "
        if control is not None and way != CONTROL:
            least, most = interval(pairs, dice, control)
            beside = f"{ratio(pairs) / ratio(control):.4f} | {least:.4f}-{most:.4f}"
        print(f"| {way} | {base:.2f} | {ratio(pairs):.4f} | {low:.4f}-{high:.4f} | {beside} | {median:.4f} |")


if __name__ == "__main__":
    asyncio.run(main())
