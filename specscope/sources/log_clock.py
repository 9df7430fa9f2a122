"""When a log line was written, told from its own stamp and from when it was read. Pure."""

from __future__ import annotations

import math

_WINDOW_US = 60_000_000
_SAME_BURST_S = 1.0


class StampClock:
    """Places the stamps of one server process, microseconds since its start, on the clock of the watch.

    A line is read some milliseconds after it was written, never before: arrival - stamp is the start of the
    server plus a delay, and its minimum is the best guess at that start. So a line's time is its stamp plus the
    least difference of the last one to two minutes (a window, because the server stamps by the wall clock,
    which may be stepped). What remains between two lines is the server's own distance, free of when they
    happened to be read. Times never go backwards and never lie after the arrival.

    A stamp lower than the one before is a new process: the differences start over. A line without a stamp gets
    the time of the line before when it arrived within a second of it, else its arrival.
    """

    def __init__(self) -> None:
        self.stamp_us: int | None = None
        self._last_s = -math.inf
        self._window_start_us = 0
        self._least_s = math.inf
        self._least_before_s = math.inf

    def at(self, stamp_us: int | None, arrival_s: float) -> float:
        """The time of a line, seconds since the epoch.

        Args:
            stamp_us: Its stamp, None if it has none.
            arrival_s: When it was read, seconds since the epoch.
        """
        if stamp_us is None:
            stamped = self.stamp_us is not None and arrival_s - self._last_s < _SAME_BURST_S
            at_s = self._last_s if stamped else arrival_s
        else:
            at_s = stamp_us / 1e6 + self._start_s(stamp_us, arrival_s)
        self._last_s = max(min(at_s, arrival_s), self._last_s)
        return self._last_s

    def anticipate(self, stamp_us: int, arrival_s: float) -> None:
        """Learn from the last line of a batch before its first is placed.

        The lines of a batch arrive together, so the last has waited least: without this, each earlier one would
        be placed at the arrival, as if no time had passed between them.
        """
        if self.stamp_us is None or stamp_us >= self.stamp_us:
            self._least_s = min(self._least_s, arrival_s - stamp_us / 1e6)

    def _start_s(self, stamp_us: int, arrival_s: float) -> float:
        if self.stamp_us is None:
            self._window_start_us = stamp_us
        elif stamp_us < self.stamp_us:
            self._window_start_us = stamp_us
            self._least_s = self._least_before_s = math.inf
        elif stamp_us - self._window_start_us > _WINDOW_US:
            self._window_start_us = stamp_us
            self._least_before_s, self._least_s = self._least_s, math.inf
        self.stamp_us = stamp_us
        self._least_s = min(self._least_s, arrival_s - stamp_us / 1e6)
        return min(self._least_s, self._least_before_s)
