"""Energy of one GPU by what its servers do: the driver's counter says how much, the power readings when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.gpu_state import Phase

MAX_SPAN_S: Final = 30.0
"""Reads of the counter further apart are not used: what was generated meanwhile may not have been seen."""

COVERED: Final = 0.5
"""Of the time between two reads of the counter: with less of it covered by power readings, they do not tell when the
energy was spent."""

LIKELY: Final = 2.0
"""The counter and the power readings of the same time may part by so much (readings are averages on many devices, and
hold no short peak); beyond it the counter is frozen, jumped, or counts something else, and is not used."""

Doing: TypeAlias = "tuple[str, Phase | Literal['unknown']]"
"""Who and what: a server's id, and what it does; unknown: it has a request, in its prompt or behind it."""


@dataclass(eq=False)
class EnergyBook:
    """A running account of one device.

    Attributes:
        joules: of each server, by what it did meanwhile. Servers at work at the same time have equal shares; what is
            spent while none is at work is nobody's.
        counted: by the counter; False: by power readings, as the counter tells nothing or cannot be believed.
    """

    joules: dict[Doing, float] = field(default_factory=dict["Doing", float])
    counted: bool = False
    doubted: bool = False
    _shape: dict[Doing, float] = field(default_factory=dict["Doing", float])
    _shape_j: float = 0.0
    _shape_s: float = 0.0
    _read_at: float | None = None
    _counter_j: float | None = None

    def power(self, power_w: float | None, seconds: float, at_work: Sequence[Doing]) -> None:
        """A power reading that stands for some time, and who was at work."""
        if power_w is None:
            return
        self._shape_j += power_w * seconds
        self._shape_s += seconds
        for doing in at_work:
            self._shape[doing] = self._shape.get(doing, 0.0) + power_w * seconds / len(at_work)

    def read(self, at: float, counter_j: float | None) -> bool:
        """A read of the counter, or that there is none to read: settle what was spent since the read before.

        Args:
            at: when, in seconds since the epoch.
            counter_j: the counter; None: the device has none, or it did not answer.

        Returns:
            Whether the span since the read before is settled, so that what was generated in it may be set against it.
        """
        began, before_j = self._read_at, self._counter_j
        shape, shape_j, shape_s = self._shape, self._shape_j, self._shape_s
        self._read_at, self._counter_j = at, counter_j
        self._forget_shape()
        if began is None or not 0 < at - began <= MAX_SPAN_S or shape_s < COVERED * (at - began) or shape_j <= 0:
            return False
        if counter_j is None or before_j is None:
            if self.counted or (counter_j is not None and not self.doubted):
                return False
            self._add(shape, 1.0)
            return True
        if counter_j < before_j:
            return False
        self._settle(shape, counter_j - before_j, shape_j, shape_j / shape_s * (at - began))
        return True

    def _settle(self, shape: dict[Doing, float], spent_j: float, shape_j: float, likely_j: float) -> None:
        """Share out what the counter says, unless the power readings of the same time contradict it."""
        if self.doubted or not likely_j / LIKELY <= spent_j <= likely_j * LIKELY:
            self.counted, self.doubted = False, True
            self._add(shape, likely_j / shape_j)
            return
        self.counted = True
        self._add(shape, spent_j / shape_j)

    def _add(self, shape: dict[Doing, float], scale: float) -> None:
        for doing, joules in shape.items():
            self.joules[doing] = self.joules.get(doing, 0.0) + joules * scale

    def _forget_shape(self) -> None:
        self._shape, self._shape_j, self._shape_s = {}, 0.0, 0.0

    def interrupted(self) -> None:
        """Readings stopped: the next one is a new beginning."""
        self._read_at = self._counter_j = None
        self._forget_shape()
