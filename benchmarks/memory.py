"""Memory of the core over a million cycles: it must stay flat. Prints resident MiB as the cycles go by."""

from __future__ import annotations

import random
from pathlib import Path

from specscope.events import CycleLogged, RequestLaunched, RequestLogged, SlotReleased, TargetFound
from specscope.session.fold import Fold

REQUESTS, CYCLES_EACH, EVERY = 15_000, 66, 1_500


def resident_mib() -> float:
    """This process's resident memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 2**20


def main() -> None:
    """Fold a million cycles of synthetic requests, looking at the view now and then."""
    fold = Fold()
    fold.apply(TargetFound(at=0.0, url="http://127.0.0.1:8080"))
    dice = random.Random(1)  # noqa: S311  a benchmark's noise
    at = 0.0
    for task in range(REQUESTS):
        fold.apply(RequestLaunched(at=at, slot=0, task=task))
        for _ in range(CYCLES_EACH):
            at += 0.01
            fold.apply(CycleLogged(at=at, slot=0, task=task, drafted=15, accepted=dice.randrange(12)))
        fold.apply(RequestLogged(at=at, slot=0, task=task, generated=400, generated_ms=660.0))
        fold.apply(SlotReleased(at=at, slot=0, task=task))
        if task % EVERY == 0:
            fold.view(at)
            print(f"{(task + 1) * CYCLES_EACH:>9,} cycles  {resident_mib():6.1f} MiB")


if __name__ == "__main__":
    main()
