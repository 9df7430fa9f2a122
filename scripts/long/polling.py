"""How many cycles does polling see, and at what price? Judged by a LLAMA_TRACE log that specscope is not given.

``python scripts/long/polling.py [--seconds N]`` watches both of the lab's pairs; the goal is 95 % of the cycles with
their own accepted length at under two polls a cycle. It depends on the machine being otherwise idle, so CI checks
only that what is seen is true. Results: ``results/polling.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.lab.demo_load import demo_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.settings import Settings

CYCLE = re.compile(r"task (\d+) \| accepted +(\d+)/")
PAIRS = (("quick", 15), ("paying", 3))
GOAL, MOST_POLLS = 0.95, 2.0


async def relay(source: Path, copy: Path) -> None:
    """Append what the server would have printed without LLAMA_TRACE to the copy."""
    with source.open("rb") as read, copy.open("ab", buffering=0) as write:
        while True:
            line = read.readline()
            if not line:
                await asyncio.sleep(0.01)
            elif b"LLAMA_TRACE" not in line and b" draft tokens" not in line:
                write.write(line)


async def run(size: str, width: int, seconds: float) -> bool:
    """Watch one pair; print its row; whether the goal was met."""
    with tempfile.TemporaryDirectory() as folder:
        log, plain = Path(folder) / "server.log", Path(folder) / "plain.log"
        plain.touch()
        spec = ServerSpec(n_max=width, rates=LAB_RATES, size=size)  # type: ignore[arg-type]
        async with LabServer(spec, log_path=log) as server:
            copying = asyncio.create_task(relay(log, plain))
            target, settings = LiveTarget(server.url, server.pid), Settings(log=str(plain), trace="off")
            async with watching([target], settings) as pump, demo_load(server.url):
                await asyncio.sleep(seconds)
            copying.cancel()
        told: dict[int, list[int]] = defaultdict(list)
        for match in CYCLE.finditer(log.read_text(errors="replace")):
            told[int(match[1])].append(int(match[2]))
    view = pump.session().targets[0]
    seen: dict[int, list[int]] = defaultdict(list)
    for cycle in view.cycles:
        seen[cycle.task].append(cycle.accepted)
    kept = [task for task in told if task in seen and task != max(told)]  # the tape keeps 4,096 cycles
    right = sum(matched(seen[task], told[task]) for task in kept)
    total, shown = sum(len(told[t]) for t in kept), sum(len(seen[t]) for t in kept)
    polls = view.poll.per_step or 0.0
    ms = view.rates.cycle_ms or 0.0
    shares = f"{right / total:.1%} | {right / max(1, shown):.1%}"
    print(f"| {size} n_max {width} | {total} | {shares} | {polls:.2f} | {ms:.1f} |", flush=True)
    return right / total >= GOAL and polls < MOST_POLLS


def matched(seen: list[int], told: list[int]) -> int:
    """How many of the log's cycles were seen, in order and with their own accepted length."""
    return sum(b.size for b in difflib.SequenceMatcher(None, seen, told, autojunk=False).get_matching_blocks())


async def main() -> int:
    """Print the table; 1 when a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    seconds = parser.parse_args().seconds
    print("| pair | cycles | seen with their own value | right of those shown | polls a cycle | ms a cycle |")
    print("|---|---|---|---|---|---|")
    met = [await run(size, width, seconds) for size, width in PAIRS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
