"""Do the figures drift over a million cycles, with pauses, nights asleep and clocks set back in between?

``python scripts/long/stability.py [CYCLES]`` folds servers of known cost (tests/endless.py) and prints what is told on
the way: cycle times by width, plain time and tau beside what they must come to, how many values are kept for them,
resident memory. One step of 500 is disturbed: by 0.3 s to eight hours, or the clock is set back by up to an hour. The
figures of a run are in ``results/stability.md``; CI runs 20,000 cycles (tests/session/test_stability.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tests"))

from endless import SERVERS

LOOKS = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def resident_mib() -> float:
    """This process's resident memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 2**20


def off(figure: float | None, truth: float | None) -> str:
    """By how much a figure is off, in percent."""
    return "—" if figure is None or truth is None else f"{100 * (figure / truth - 1):+.2f} %"


def main() -> None:
    """Print a table for each server."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else LOOKS[-1]
    for endless in SERVERS:
        widths = list(endless.costs_ms)
        heads = [*(f"width {w}: {endless.costs_ms[w]:.1f} ms" for w in widths), "plain", f"tau {endless.tau:.2f}"]
        print(f"\n{endless.name}\n\n| cycles | {' | '.join(heads)} | values kept | MiB |")
        print("|---" * (len(heads) + 3) + "|")
        for told in endless.figures(*(look for look in LOOKS if look <= most)):
            cells = [off(told.costs_ms.get(w), endless.costs_ms[w]) for w in widths]
            cells += [off(told.plain_ms, endless.plain_ms), off(told.tau, endless.tau)]
            print(f"| {told.cycles:,} | {' | '.join(cells)} | {told.kept} | {resident_mib():.0f} |", flush=True)


if __name__ == "__main__":
    main()
