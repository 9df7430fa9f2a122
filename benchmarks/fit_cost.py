"""What the cost model costs: each cycle taken in, each look at the figures, and its memory over a million cycles.

Run by hand: ``python benchmarks/fit_cost.py [CYCLES]``. CPU time of this process, the best of several runs; the figure
of a cycle stands beside what the rest of the fold takes for it.
"""

from __future__ import annotations

import random
import sys
import time
import tracemalloc
from typing import NamedTuple

from specscope import events as ev
from specscope.session.economics.cost_book import CostBook
from specscope.session.fold import Fold

CYCLE_MS, GOAL_MS = 0.2, 0.01
"""What was promised for a cycle, and what is aimed at."""

LOOK_US = 1000
"""Of the 4 ms that a view of everything may take (benchmarks/fold_speed.py)."""

WIDTH = 15


class Figure(NamedTuple):
    """One line of the table."""

    what: str
    us: float
    goal_us: float


def facts(cycles: int, seed: int = 1) -> list[ev.Event]:
    """Requests of 300 cycles whose widths vary, as the log and a slow look at /slots tell them."""
    rng = random.Random(seed)  # noqa: S311  a fixed sequence, not a secret
    argv = ["llama-server", "--spec-type", "draft-dflash", "--spec-draft-n-max", "15"]
    made: list[ev.Event] = [
        ev.TargetFound(at=1.0, url="http://127.0.0.1:8080"),
        ev.SourceAttached(at=1.0, source="log", tier="cycles"),
        ev.ProcessSeen(at=1.0, pid=1, argv=argv),
    ]
    at, decoded, task = 2.0, 1, 0
    for i in range(cycles):
        if i % 300 == 0:
            task, decoded = task + 1, 1
            made.extend(
                (
                    ev.RequestLaunched(at=at, slot=0, task=task),
                    ev.SlotChanged(at=at, slot=0, busy=True, task=task, decoded=0, fill_tokens=1000),
                )
            )
        width = rng.choice((WIDTH, WIDTH, WIDTH, rng.randint(1, WIDTH)))
        at += (0.01 + 0.0005 * width) * rng.uniform(0.95, 1.05)
        made.append(ev.CycleLogged(at=at, slot=0, task=task, drafted=width, accepted=rng.randint(0, width)))
        decoded += made[-1].accepted + 1
        if i % 20 == 0:
            fill = 1000 + decoded
            made.append(ev.SlotStepped(at=at, slot=0, task=task, decoded=decoded, fill_tokens=fill, held_ms=1.0))
    return made


class NoBook(CostBook):
    """Takes nothing in: what is left is the rest of the fold."""

    def cycle(self, *_: object, **__: object) -> None:
        """Nothing."""


def folded(told: list[ev.Event], book: type[CostBook]) -> tuple[float, Fold]:
    """Seconds of CPU to fold all facts, and the fold."""
    fold = Fold()
    fold.apply(told[0])
    fold.targets["t0"].epoch.book.costs = book()
    begin = time.process_time()
    for fact in told[1:]:
        fold.apply(fact)
    return time.process_time() - begin, fold


def main() -> None:
    """Print the table."""
    cycles = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    told = facts(cycles)
    without = min(folded(told, NoBook)[0] for _ in range(3))
    runs = [folded(told, CostBook) for _ in range(3)]
    with_book, fold = min(runs, key=lambda run: run[0])
    target = fold.view().targets[0]
    deriver = fold.targets["t0"].economics
    looks: list[float] = []
    for _ in range(20):
        begin = time.process_time()
        deriver.view(target, fold.targets["t0"])
        looks.append(time.process_time() - begin)
    rows = [
        Figure("a cycle: the rest of the fold", 1e6 * without / cycles, 1e3 * CYCLE_MS),
        Figure("a cycle: the cost model", 1e6 * (with_book - without) / cycles, 1e3 * GOAL_MS),
        Figure("a look", 1e6 * min(looks), LOOK_US),
    ]
    print(f"| {cycles:,} cycles | us | goal | used |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row.what} | {row.us:.2f} | {row.goal_us:,.0f} | {row.us / row.goal_us:.1%} |")
    memory(fold.targets["t0"].epoch.book.costs)


def memory(sized: CostBook) -> None:
    """Bytes of a book after 10^5 and 10^6 steps of 64 widths at ten depths: they do not grow."""
    rng = random.Random(2)  # noqa: S311  a fixed sequence, not a secret
    tracemalloc.start()
    book, before = CostBook(), tracemalloc.get_traced_memory()[0]
    print(f"\ncells of the run above: {len(sized.cells)}\n\n| steps | cells | KiB |\n|---|---|---|")
    for step in range(1, 1_000_001):
        width = rng.randint(1, 64)
        book.add(width, 1, rng.random() * 200_000, 10 + width * rng.random())
        if step in (10_000, 100_000, 300_000, 1_000_000):
            taken = tracemalloc.get_traced_memory()[0] - before
            print(f"| {step:,} | {len(book.cells)} | {taken / 1024:,.0f} |")


if __name__ == "__main__":
    main()
