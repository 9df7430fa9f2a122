"""When to poll /slots next: in phase with the cycles while a slot is busy, ever more rarely while none is.

Measured on llama-server: waiting 0.7-0.8 of the cycle time and then stepping by 0.10-0.15 of it sees 98-99.8 % of
the cycles with their own value for 1.2-1.8 polls a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WAIT_SHARE: Final = 0.75
"""Of the cycle time, before the first look for the next cycle's end."""

STEP_SHARE: Final = 0.13
"""Of the cycle time, between further looks."""

MIN_WAIT_S: Final = 0.002
MAX_STEP_S: Final = 0.05
FIRST_CYCLE_S: Final = 0.03
"""The cycle time assumed before one was seen: consumer GPUs run 10-75 cycles/s."""

RELAXED_S: Final = 0.2
"""Between polls when another source tells the cycles, or when there are none: KV fill and plain steps only."""

IDLE_STEPS: Final = ((10.0, 0.03), (60.0, 0.1), (600.0, 0.25))
"""(idle for less than, seconds between polls). A request's first cycles are seen only if its start is, so the
first seconds after a request stay quick; a poll costs the server 1-3 ms of another thread."""

IDLE_LONG_S: Final = 0.5


@dataclass(eq=False)
class Pace:
    """The state of the phase lock.

    Attributes:
        cycle_s: the running estimate of the cycle time; None before two steps were seen.
        relaxed: another source tells the cycles.
    """

    cycle_s: float | None = None
    relaxed: bool = False
    _moved_at: float | None = None

    def moved(self, at: float, *, single: bool) -> None:
        """n_decoded moved at ``at``. ``single``: by no more than one cycle can gain."""
        if self._moved_at is not None:
            gap = at - self._moved_at
            if self.cycle_s is None:
                self.cycle_s = min(max(gap, MIN_WAIT_S), 1.0)
            elif single and gap < 2.5 * self.cycle_s:
                self.cycle_s = 0.9 * self.cycle_s + 0.1 * gap
            elif gap > self.cycle_s:
                # Cycles became longer (other slots joined, a deeper context): follow, but not to one outlier.
                self.cycle_s = min(1.25 * self.cycle_s, gap)
        self._moved_at = at

    def restart(self) -> None:
        """A request ended: its last step says nothing about the next one's first."""
        self._moved_at = None

    def wait_s(self, *, busy: bool, moved: bool, decoding: bool, speculative: bool, idle_s: float) -> float:
        """Seconds until the next poll.

        Args:
            busy: a slot is processing.
            moved: this poll saw a step.
            decoding: a busy slot has generated a token (else all are in their prompts).
            speculative: a busy slot may speculate.
            idle_s: seconds since a slot was last busy.
        """
        if not busy:
            return next((wait for limit, wait in IDLE_STEPS if idle_s < limit), IDLE_LONG_S)
        if self.relaxed or not speculative:
            return RELAXED_S
        cycle = self.cycle_s or FIRST_CYCLE_S
        if not decoding:
            return max(MIN_WAIT_S, min(MAX_STEP_S, 0.6 * cycle))
        share = WAIT_SHARE if moved else STEP_SHARE
        return max(MIN_WAIT_S, min(share * cycle, MAX_STEP_S if not moved else 1.0))
