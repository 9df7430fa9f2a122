"""What the core costs: folding facts, making the frozen view, and opening an hour's recording.

Run by hand: ``python benchmarks/fold_speed.py``. Times are this process's CPU time, the best of several runs, so that
others on the machine disturb little. Each figure stands beside its goal; the last column is how much of it is used.
"""

from __future__ import annotations

import gc
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from specscope import __version__
from specscope import events as ev
from specscope.findings.engine import diagnose
from specscope.recording import Recorder, Recording
from specscope.session.fold import Fold

if TYPE_CHECKING:
    from collections.abc import Iterator

By: TypeAlias = Literal["log", "polls", "trace"]
"""What tells the cycles."""

T0 = 1_780_000_000.0
RATES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.02)
WIDTH = len(RATES)
FOLD_PER_S, VIEW_MS, OPEN_S, FILE_MB = 200_000, 4.0, 3.0, 12.0
HOUR_CYCLES = 360_000
LOOKS = 50
RUNS = 5


@dataclass
class Server:
    """A server that works without a pause, and what is reported of it."""

    seed: int = 1
    cycle_s: float = 0.01
    cycles_per_request: int = 300
    by: By = "log"
    tables: bool = False

    def facts(self, cycles: int) -> Iterator[ev.Event]:
        """The facts of so many cycles: by the log or a trace with a slow look at /slots, or by polling alone."""
        rng = random.Random(self.seed)  # noqa: S311  a fixed sequence, not a secret
        at, task, left = T0, 0, 0
        yield from self._begin(at)
        decoded = drafted = accepted = in_request = 0
        for number in range(cycles):
            if not left:
                if number:
                    yield from self._end(at, task, decoded, drafted, accepted)
                task, left, decoded, drafted, accepted, in_request = task + 2, self.cycles_per_request, 1, 0, 0, 0
                yield from self._launch(at, task)
            length = next(
                (i for i, rate in enumerate(RATES) if rng.random() > rate / (RATES[i - 1] if i else 1)), WIDTH
            )
            at += self.cycle_s * rng.uniform(0.9, 1.1)
            left, in_request = left - 1, in_request + 1
            decoded, drafted, accepted = decoded + length + 1, drafted + WIDTH, accepted + length
            stamp_us = int((at - T0) * 1e6)
            if self.by == "log":
                yield ev.CycleLogged(at=at, slot=0, task=task, drafted=WIDTH, accepted=length, stamp_us=stamp_us)
            if self.by == "trace":
                yield from self._traced(at, length, rng)
            if self.by == "polls" or in_request % 20 == 0:
                fill = 812 + decoded
                yield ev.SlotStepped(at=at + 0.001, slot=0, task=task, decoded=decoded, fill_tokens=fill, held_ms=1.4)

    def _traced(self, at: float, length: int, rng: random.Random) -> Iterator[ev.Event]:
        """A cycle and its turn; of a server with tables a third of the cycles are a table's."""
        method = "ngram-mod" if self.tables and rng.random() < 1 / 3 else "draft-dflash"
        yield ev.CycleTraced(at=at - 0.0005, slot=0, drafted=WIDTH, accepted=length, method=method)
        parts = {"draft_us": 3400, "submit_us": 300, "wait_us": 4700, "features_us": 600, "sampling_us": 900}
        yield ev.TurnTraced(at=at, whole_us=int(self.cycle_s * 1e6), cycles=1, **parts)

    def _begin(self, at: float) -> Iterator[ev.Event]:
        yield ev.TargetFound(at=at, url="http://127.0.0.1:8080")
        methods = "ngram-mod,draft-dflash" if self.tables else "draft-dflash"
        yield ev.ProcessSeen(at=at, pid=1, argv=["llama-server", "--spec-type", methods])
        yield ev.SourceAttached(at=at, source="slots", tier="polled")
        if self.by == "log":
            yield ev.SourceAttached(at=at, source="log", tier="cycles")
        if self.by == "trace":
            yield ev.SourceAttached(at=at, source="trace", tier="trace")
            yield ev.TraceStarted(at=at, mode="auto", functions=["begin", "draft"])
        yield ev.CountersRead(at=at, idle=True, drafts=0, drafted=0, accepted=0, generated=0)

    def _launch(self, at: float, task: int) -> Iterator[ev.Event]:
        if self.by == "log":
            yield ev.RequestLaunched(at=at, slot=0, task=task)
        for decoded in (0, 1):
            fill = 812 + decoded
            yield ev.SlotChanged(
                at=at, slot=0, busy=True, task=task, decoded=decoded, fill_tokens=fill, speculative=True
            )
        if self.by == "trace":
            yield ev.RequestBegan(at=at, slot=0)

    def _end(self, at: float, task: int, decoded: int, drafted: int, accepted: int) -> Iterator[ev.Event]:
        if self.by == "log":
            yield ev.RequestLogged(
                at=at,
                slot=0,
                task=task,
                prompt_tokens=812,
                prompt_ms=310.0,
                generated=decoded,
                generated_ms=self.cycle_s * 1000 * self.cycles_per_request,
                drafted=drafted,
                accepted=accepted,
            )
        yield ev.SlotChanged(at=at, slot=0, busy=False, task=task, decoded=0, fill_tokens=812 + decoded)


def show(what: str, value: float, unit: str, goal: float, used: float) -> None:
    """One line of the table."""
    print(f"{what:<58} {value:>12,.1f} {unit:<9} goal {goal:>9,.0f}   {used:>6.1%}")


def folding(name: str, server: Server, cycles: int) -> None:
    """Facts per second."""
    facts = list(server.facts(cycles))
    best = float("inf")
    for _ in range(RUNS):
        fold = Fold()
        apply = fold.apply
        gc.collect()
        began = time.process_time()
        for fact in facts:
            apply(fact)
        best = min(best, time.process_time() - began)
    per_s = len(facts) / best
    show(f"fold, {name}", per_s, "facts/s", FOLD_PER_S, FOLD_PER_S / per_s)


def viewing(name: str, server: Server, cycles: int) -> None:
    """Milliseconds per view of a long watch, with ten more cycles between two views as on a live screen."""
    fold = Fold()
    facts = list(server.facts(cycles + 12 * LOOKS))
    for fact in facts[: -12 * LOOKS]:
        fold.apply(fact)
    rest = iter(facts[-12 * LOOKS :])
    seen = fold.view().targets[0]
    taken: list[float] = []
    for _ in range(LOOKS):
        for _ in range(10):
            fold.apply(next(rest))
        began = time.process_time()
        fold.view()
        taken.append((time.process_time() - began) * 1000)
    taken.sort()
    middle = taken[LOOKS // 2]
    what = f"view, {name}: {len(seen.cycles):,} cycles, {len(seen.requests):,} requests"
    show(what, middle, "ms", VIEW_MS, middle / VIEW_MS)
    began = time.process_time()
    diagnose(fold.view())
    print(f"{'  with all rules looking at it':<58} {(time.process_time() - began) * 1000:>12,.1f} ms")


def recording(folder: Path) -> None:
    """An hour at 100 cycles a second: its size, and the time from opening the file to the first view of its end."""
    path = folder / "hour.jsonl.gz"
    began = time.process_time()
    with Recorder(path, tool_version=__version__, started=T0) as recorder:
        for fact in Server().facts(HOUR_CYCLES):
            recorder.write(fact)
    wrote_s = time.process_time() - began
    size_mb = path.stat().st_size / 1e6
    show(f"recording, {HOUR_CYCLES:,} cycles", size_mb, "MB", FILE_MB, size_mb / FILE_MB)
    gc.collect()
    began = time.process_time()
    opened = Recording(path)
    fold = Fold()
    for fact in opened.events():
        fold.apply(fact)
    view = fold.view()
    took = time.process_time() - began
    show(f"open it, {view.facts:,} facts", took, "s", OPEN_S, took / OPEN_S)
    began = time.process_time()
    read = sum(1 for _ in Recording(path).events())
    print(f"{'  of which reading and decoding':<58} {time.process_time() - began:>12,.1f} s")
    print(f"{'  writing it took':<58} {wrote_s:>12,.1f} s for {read:,} facts")


def main() -> None:
    """Print the table."""
    print(f"{'figure':<58} {'value':>12} {'unit':<9}      {'goal':>9}   used")
    folding("log lines and a slow look at /slots", Server(), 100_000)
    folding("polling alone", Server(by="polls"), 100_000)
    folding("a trace and a slow look at /slots", Server(by="trace"), 100_000)
    folding("the same of tables before a drafter", Server(by="trace", tables=True), 100_000)
    viewing("log lines", Server(cycles_per_request=60), 61_000)
    viewing("polling alone", Server(cycles_per_request=60, by="polls"), 61_000)
    viewing("trace, tables before a drafter", Server(cycles_per_request=60, by="trace", tables=True), 61_000)
    with tempfile.TemporaryDirectory() as folder:
        recording(Path(folder))


if __name__ == "__main__":
    main()
