"""Energy of one GPU by what its servers do: the driver's counter says how much, the power readings when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.session.gpu_state import Phase

MAX_SPAN_S: Final = 30.0
"""Reads of the counter further apart are not used: what was generated meanwhile may not have been seen."""

COVERED: Final = 0.5
"""Of the time between two reads of the counter: with less of it covered by power readings, they do not tell when the
energy was spent."""

UNNAMED: Final = "unknown"

Joules = dict[str, float]


@dataclass(eq=False)
class EnergyBook:
    """A running account of one device.

    Attributes:
        joules: by phase (``decode``, ``prefill``, ``idle``, ``unknown``).
        counted: by the counter; False: by power readings alone, as the counter has told nothing.
    """

    joules: Joules = field(default_factory=dict[str, float])
    counted: bool = False
    _shape: Joules = field(default_factory=dict[str, float])
    _shape_s: float = 0.0
    _read_at: float | None = None
    _counter_j: float | None = None

    def power(self, power_w: float | None, seconds: float, phase: Phase | None) -> None:
        """A power reading that stands for some time."""
        if power_w is None:
            return
        name = phase or UNNAMED
        self._shape[name] = self._shape.get(name, 0.0) + power_w * seconds
        self._shape_s += seconds

    def read(self, at: float, counter_j: float | None) -> bool:
        """A read of the counter, or that there is none to read: settle what was spent since the read before.

        Args:
            at: when, in seconds since the epoch.
            counter_j: the counter; None: the device has none, or it did not answer.

        Returns:
            Whether the span since the read before is settled, so that what was generated in it may be set against it.
        """
        began, before_j = self._read_at, self._counter_j
        shape, shape_s = self._shape, self._shape_s
        self._read_at, self._counter_j = at, counter_j
        self._shape, self._shape_s = {}, 0.0
        total_j = sum(shape.values())
        if began is None or not 0 < at - began <= MAX_SPAN_S or shape_s < COVERED * (at - began) or total_j <= 0:
            return False
        if counter_j is None or before_j is None:
            if self.counted or counter_j is not None:
                return False
            self._add(shape, 1.0)
            return True
        if counter_j < before_j:
            return False
        self.counted = True
        self._add(shape, (counter_j - before_j) / total_j)
        return True

    def _add(self, shape: Joules, scale: float) -> None:
        for name, joules in shape.items():
            self.joules[name] = self.joules.get(name, 0.0) + joules * scale

    def interrupted(self) -> None:
        """Readings stopped: the next one is a new beginning."""
        self._read_at = self._counter_j = None
        self._shape, self._shape_s = {}, 0.0
