"""What the cycle tape alone costs: 100 cycles a second on a screen that shows nothing else.

``python benchmarks/tape.py [--seconds N]``. A real fold is fed cycles of the lab's acceptance rates, and the tape
painted at 3, 10 and 30 Hz, into a driver that counts what a terminal would be sent. CPU is this process's own. ms per
paint is what painting adds to the same run without it: drawing, Textual's compositor and the terminal's sequences.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from fold_speed import T0, Server
from textual.app import App
from textual.drivers.headless_driver import HeadlessDriver

from specscope.session.fold import Fold
from specscope.views.frame import Frame, activity_of
from specscope.views.ink import ink_from
from specscope.views.panels.tape import Tape
from specscope.views.themes import DARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult

    from specscope.events import Event

SIZES = ((80, 24), (120, 40), (200, 60))
RATES_HZ = (3, 10, 30)
CYCLES_PER_S = 100
SETTLE_S = 1.5
"""Until the tape is full and Textual has started."""


class Counting(HeadlessDriver):
    """A terminal that is only counted."""

    sent = 0

    @property
    def is_headless(self) -> bool:
        """False, so that Textual writes what it would to a terminal."""
        return False

    def write(self, data: str) -> None:
        """Count it."""
        Counting.sent += len(data.encode())


class Spent(NamedTuple):
    """Seconds, CPU seconds, paints and bytes of a run."""

    span_s: float
    cpu_s: float
    paints: int
    sent: int


class TapeApp(App[None]):
    """Nothing but the tape.

    Args:
        hz: paints a second.
        seconds: measured, after a start that is not.
        shown: whether the tape is painted, or only fed.
    """

    def __init__(self, hz: float, seconds: float, *, shown: bool) -> None:
        super().__init__(driver_class=Counting)
        self.register_theme(DARK)
        self.theme = DARK.name
        self._hz, self._seconds, self._shown = hz, seconds, shown
        self._tape = Tape()
        self._fold = Fold()
        cycles = int(CYCLES_PER_S * (2 * SETTLE_S + seconds))
        facts = list(Server(cycle_s=1 / CYCLES_PER_S).facts(cycles + 2 * max(SIZES)[0]))
        self._facts: Iterator[Event] = iter(facts)
        self._next: Event | None = next(self._facts)
        self._began = time.monotonic() - 2 * max(SIZES)[0] / CYCLES_PER_S
        self._from: Spent | None = None
        self.paints = 0
        self.spent = Spent(0.0, 0.0, 0, 0)

    def compose(self) -> ComposeResult:
        """The tape."""
        yield self._tape

    def on_mount(self) -> None:
        """Fill the screen and start."""
        self._tape.styles.width = self._tape.styles.height = "100%"
        self.set_interval(1 / self._hz, self.paint)
        self.set_timer(SETTLE_S, self._start)
        self.set_timer(SETTLE_S + self._seconds, self._end)

    def paint(self) -> None:
        """Take in the cycles that are due, and show them."""
        now = T0 + time.monotonic() - self._began
        while self._next is not None and self._next.at <= now:
            self._fold.apply(self._next)
            self._next = next(self._facts, None)
        session = self._fold.view(now)
        target = session.targets[0]
        frame = Frame(session, target, 0, (), activity_of(target, now), T0)
        if self._shown:
            self._tape.show(frame, ink_from(self.current_theme, colour=True, ascii_only=False))
            self.paints += 1

    def _now(self) -> Spent:
        return Spent(time.monotonic(), time.process_time(), self.paints, Counting.sent)

    def _start(self) -> None:
        self._from = self._now()

    def _end(self) -> None:
        if self._from is not None:
            self.spent = Spent(*(now - before for now, before in zip(self._now(), self._from, strict=True)))
        self.exit()


async def run(size: tuple[int, int], hz: float, seconds: float, *, shown: bool) -> Spent:
    """One run."""
    app: Any = TapeApp(hz, seconds, shown=shown)
    await app.run_async(size=size, mouse=False)
    return app.spent


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8)
    seconds = parser.parse_args().seconds
    os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    print(f"{'screen':8} {'refresh':>8} {'paint':>9} {'of a core':>10} {'sent':>13}")
    for size in SIZES:
        for hz in RATES_HZ:
            fed = await run(size, hz, seconds, shown=False)
            shown = await run(size, hz, seconds, shown=True)
            share = shown.cpu_s / shown.span_s - fed.cpu_s / fed.span_s
            paint_ms, kb = 1000 * share * shown.span_s / shown.paints, shown.sent / shown.paints / 1000
            print(f"{size[0]}x{size[1]:<5} {hz:>5} Hz {paint_ms:6.2f} ms {share:>10.1%} {kb:7.1f} KB each", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
