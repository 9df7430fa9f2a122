"""What rests on many cycles moves little in a second: a screen that looks several times a second may keep it."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

CALM_S: Final = 0.9
"""So old a view may be. At 3 looks a second and 70 cycles/s, making economics and provenance anew with each took 1 % of
a core, a sixth of all that watching may cost."""


@dataclass(eq=False)
class Calm(Generic[T]):
    """One view that is kept."""

    _view: T | None = None
    _of: tuple[object, ...] = ()
    _at: float | None = None

    def made(self, make: Callable[[], T], of: tuple[object, ...], calm_at: float | None) -> T:
        """The view, made anew where it must be.

        Args:
            make: makes it.
            of: objects that it is a view of, always so many; of others the kept one tells nothing.
            calm_at: the time of a look that may have a kept one; None: it may not.
        """
        kept, at = self._view, self._at
        young = calm_at is not None and at is not None and 0 <= calm_at - at < CALM_S
        if kept is not None and young and all(map(operator.is_, of, self._of)):
            return kept
        self._view, self._of, self._at = make(), of, calm_at
        return self._view
