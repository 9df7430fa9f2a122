"""When to poll /slots next: in phase with the cycles while a slot is busy, ever more rarely while none is.

No cycle is missed as long as polls come closer together than cycles end. After a step the next look comes before
the earliest end that recent cycles make plausible, further looks every third of a cycle from there: about 1.3 polls
a cycle where cycles are regular (a GPU), under two where they scatter by a fifth (a busy CPU).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

WAIT_SHARE: Final = 0.75
"""Of the shortest recent cycle, before the first look for the next one's end."""

GAPS_KEPT: Final = 32
"""Recent cycle times that the shortest is taken of."""

STEP_SHARE: Final = 0.3
"""Of the cycle time, between further looks. With WAIT_SHARE 0.75 this saw 96-97 % of the cycles at 1.6-1.9 polls a
cycle on two busy cores at 90 cycles/s; 0.85 and 0.25 saw 90-94 % at 1.6, 0.7 and 0.25 saw 97-99 % at 1.7-2.2."""

RUN: Final = 6
"""So many steps in a row that had ended at the first look mean that cycles have become shorter than the polls'
distance: of steady cycles about every second one has, six in a row 2 % of the time."""

MIN_WAIT_S: Final = 0.002
MAX_STEP_S: Final = 0.05
HUNT_S: Final = 0.004
"""Between polls until the cycle time is known: dense, because a step is only known to be one cycle when the poll
before it came late enough in that cycle."""

RELAXED_S: Final = 0.2
"""Between polls when another source tells the cycles, or when there are none: KV fill and plain steps only."""

IDLE_STEPS: Final = ((2.0, 0.03), (60.0, 0.1), (600.0, 0.25))
"""(idle for less than, seconds between polls), where polling tells the cycles.

A request's first cycles are seen only if its start is: half an interval of them is lost on average, less the time its
prompt takes (at 0.1 s five of the lab's cycles of 11 ms). Nothing else tells the start sooner: the log is looked at
every 0.2 s while it is quiet, the process's CPU every 2 s. So it is quick for the short pauses of requests that follow
each other. At rest, 0.03 s costs 1.0 % of a core here and 1.3 % in the server, 0.1 s 0.4 % and 0.6 %, 0.5 s 0.1 % and
0.5 % (measured on the lab's server)."""

IDLE_LONG_S: Final = 0.5
"""After that, and always where another source tells the cycles: it also tells the start of a request, which wakes the
poller."""


@dataclass(eq=False)
class Pace:
    """The state of the phase lock.

    Attributes:
        cycle_s: the running estimate of the cycle time; None before two steps were resolved.
        relaxed: another source tells the cycles.
    """

    cycle_s: float | None = None
    relaxed: bool = False
    _moved_at: float | None = None
    _looked: bool = False
    _run: int = 0
    _gaps: deque[float] = field(default_factory=lambda: deque(maxlen=GAPS_KEPT))

    @property
    def shortest_s(self) -> float | None:
        """The shortest recent cycle; None before one was resolved."""
        return min(self._gaps, default=None)

    def moved(self, at: float) -> None:
        """n_decoded moved by the poll at ``at``.

        The time between steps seen is the cycle time, give or take a look; before it is known at all, only a
        step that was first looked for in vain gives it.
        """
        gap = None if self._moved_at is None else at - self._moved_at
        resolved, self._looked, self._moved_at = self._looked, False, at
        self._run = 0 if resolved else self._run + 1
        if gap is None:
            return
        if resolved:
            self._gaps.append(gap)
        if self.cycle_s is None:
            self.cycle_s = max(gap, MIN_WAIT_S) if resolved else None
        elif self._run >= RUN:
            self.cycle_s, self._run = max(MIN_WAIT_S, 0.7 * self.cycle_s), 0
            self._gaps.clear()
        elif gap < 2.5 * self.cycle_s:
            self.cycle_s = max(MIN_WAIT_S, 0.9 * self.cycle_s + 0.1 * gap)
        else:
            # Longer cycles (other slots joined, a deeper context): follow, but not to one outlier.
            self.cycle_s = min(1.25 * self.cycle_s, gap)

    def stood(self) -> None:
        """A poll of a decoding slot found it unmoved."""
        self._looked = True

    def restart(self) -> None:
        """A request ended: its last step says nothing about the next one's first."""
        self._moved_at, self._looked = None, False

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
            steps = () if self.relaxed else IDLE_STEPS
            return next((wait for limit, wait in steps if idle_s < limit), IDLE_LONG_S)
        if self.relaxed or not speculative:
            return RELAXED_S
        if self.cycle_s is None:
            return HUNT_S
        if not decoding:
            return max(MIN_WAIT_S, min(MAX_STEP_S, 0.6 * self.cycle_s))
        if moved:
            return max(MIN_WAIT_S, min(WAIT_SHARE * (self.shortest_s or self.cycle_s), 1.0))
        return max(MIN_WAIT_S, min(STEP_SHARE * self.cycle_s, MAX_STEP_S))
