"""How a server's device memory moves while its context fills and requests come and go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from specscope.session.memory.map_state import Growth, MemorySample

SAMPLES_KEPT: Final = 512
"""More than a terminal has columns; when there are more, every second one is dropped and half as many are taken."""


@dataclass(eq=False)
class GrowthBook:
    """The samples of one server's life.

    Attributes:
        own: they are of the server's own process; False: of all processes on its devices.
        devices: NVML's numbers of the devices that they are of.
    """

    own: bool
    devices: frozenset[int] = frozenset()
    _samples: list[MemorySample] = field(default_factory=list[MemorySample])
    _first: MemorySample | None = None
    _latest: MemorySample | None = None
    _most: MemorySample | None = None
    _ended_at_first: int = 0
    _requests: int = 0
    _stride: int = 1
    _skipped: int = 0

    def add(self, sample: MemorySample, ended: int) -> None:
        """Take a sample; ``ended`` counts the requests that have ended so far."""
        if self._first is None:
            self._first, self._ended_at_first = sample, ended
        self._latest = sample
        if self._most is None or sample.bytes > self._most.bytes:
            self._most = sample
        self._requests = ended - self._ended_at_first
        self._skipped += 1
        if self._skipped < self._stride:
            return
        self._skipped = 0
        self._samples.append(sample)
        if len(self._samples) > SAMPLES_KEPT:
            self._samples = self._samples[::2]
            self._stride *= 2

    def view(self) -> Growth | None:
        """The frozen view; None before the first sample."""
        if self._first is None or self._latest is None or self._most is None:
            return None
        return Growth(
            samples=tuple(self._samples),
            first=self._first,
            latest=self._latest,
            most=self._most,
            requests=self._requests,
            own=self.own,
        )
