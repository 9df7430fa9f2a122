"""What watching GPUs costs specscope: ``python benchmarks/nvml_cost.py [--seconds N] [--driver]``.

Prints CPU milliseconds per second of the quick thread (10 samples a second of a device in use), the slow one (energy,
link, PCIe traffic) and the event loop that takes their facts, for 1 and 8 devices; what waking ten times a
second costs by itself here; and what the readings cost without hand-over. The tests' NVML stand-in answers at once;
``--driver`` asks the machine's own devices instead, as busy as they are. Results: ``results/nvml_cost.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import nvml_standin

from specscope.sources.nvml.asking import Device, Pulse
from specscope.sources.nvml.device import found, memory_read
from specscope.sources.nvml.library import Library
from specscope.sources.nvml.quick import Quick
from specscope.sources.nvml.rounds import TICK_S
from specscope.sources.nvml.source import NvmlSource
from specscope.sources.source import Clock

QUICK, SLOW = "specscope-nvml", "specscope-nvml-slow"
CALLS = 5_000


def spent_s(name: str) -> float:
    """CPU of the thread of that name so far, in seconds."""
    thread = next(t for t in threading.enumerate() if t.name == name)
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))


async def watched(seconds: float) -> dict[str, float]:
    """CPU ms per second by thread while the source runs, and facts per second."""
    facts = 0

    def emit(_: object) -> None:
        nonlocal facts
        facts += 1

    task = asyncio.create_task(NvmlSource(Clock()).run(emit))
    try:
        await asyncio.sleep(2)
        began = (spent_s(QUICK), spent_s(SLOW), time.thread_time(), facts, time.monotonic())
        await asyncio.sleep(seconds)
        now = (spent_s(QUICK), spent_s(SLOW), time.thread_time(), facts, time.monotonic())
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    *cpu, told, span = (b - a for a, b in zip(began, now, strict=True))
    return dict(zip(("quick", "slow", "loop"), (1000 * s / span for s in cpu), strict=True)) | {"facts": told / span}


def alone_us(seconds: float) -> dict[str, tuple[float, float]]:
    """What a sample and a look at memory and processes cost by themselves, in microseconds.

    One after the other, and each after a rest, when the caches have forgotten it: the second is what watching costs.
    """
    library, clock = Library(), Clock()
    device = Device(library, library.handle(0), Pulse())
    quick, found_now = Quick(device, 0), found(device, 0, clock)
    asks = {"a sample": quick.sample, "memory": lambda: memory_read(device, found_now, clock)}
    spent: dict[str, tuple[float, float]] = {}
    for name, ask in asks.items():
        began = time.thread_time()
        for _ in range(CALLS):
            ask()
        warm, cold, rounds = time.thread_time() - began, 0.0, round(seconds / TICK_S)
        quick.told(clock)
        for _ in range(rounds):
            time.sleep(TICK_S)
            began = time.thread_time()
            ask()
            cold += time.thread_time() - began
        spent[name] = (1e6 * warm / CALLS, 1e6 * cold / rounds)
    library.close()
    return spent


def asleep(seconds: float) -> float:
    """CPU ms per second of a thread that wakes ten times a second and does nothing: this machine's floor."""
    spent: list[float] = []

    def body() -> None:
        began, until = time.thread_time(), time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(TICK_S)
        spent.append(1000 * (time.thread_time() - began) / seconds)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    return spent[0]


def print_row(name: str, seconds: float) -> None:
    """One row of the table."""
    cost = asyncio.run(watched(seconds))
    total = cost["quick"] + cost["slow"] + cost["loop"]
    cells = "".join(f" {ms:8.2f}" for ms in (cost["quick"], cost["slow"], cost["loop"], total))
    print(f"{name:16}{cells}{cost['facts']:29.1f}")


def on_the_standin(folder: Path, seconds: float) -> None:
    """The table's rows for devices that the stand-in plays."""
    library = nvml_standin.build(folder, look_s=3600)
    for count, rules in ((1, "busy"), (8, "busy"), (1, "at rest"), (8, "at rest")):
        gpus = nvml_standin.Gpus(library, folder / f"{count}-{rules[:2]}.txt")
        for _ in range(count):
            gpus.add(nvml_standin.busy_h200() if rules == "busy" else nvml_standin.h200())
        gpus.load()
        os.environ["NVML_STANDIN_SCRIPT"] = str(gpus.script)
        print_row(f"{count:2} {rules}", seconds)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--driver", action="store_true", help="the machine's own devices, not the stand-in's")
    args = parser.parse_args()
    print(f"{'devices':16} {'quick':>8} {'slow':>8} {'loop':>8} {'sum':>8}  ms CPU per second {'facts/s':>9}")
    with tempfile.TemporaryDirectory() as folder:
        if args.driver:
            print_row("of this machine", args.seconds)
        else:
            on_the_standin(Path(folder), args.seconds)
        print(f"a thread that only wakes ten times a second: {asleep(args.seconds):.2f} ms CPU per second")
        for name, (warm_us, cold_us) in alone_us(args.seconds).items():
            print(f"{name}: {warm_us:.0f} us on end, {cold_us:.0f} us after a rest")


if __name__ == "__main__":
    main()
