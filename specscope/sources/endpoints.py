"""How each endpoint of a server fares, said once per change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.events import SourceAttached, SourceLost

if TYPE_CHECKING:
    from specscope.events import Tier
    from specscope.sources.source import Clock, Emit


class Endpoints:
    """The sources of one HTTP watch (``http``, ``slots``, ``metrics``) and what was last said of each."""

    def __init__(self, clock: Clock, target: str) -> None:
        self._clock = clock
        self._target = target
        self._said: dict[str, tuple[str, str]] = {}
        self.emit: Emit = lambda _: None

    def attach(self, source: str, tier: Tier, detail: str, hint: str = "") -> None:
        """It delivers, with this detail."""
        if self._said.get(source) == (tier, detail):
            return
        self._said[source] = (tier, detail)
        at = self._clock.now()
        self.emit(SourceAttached(at=at, target=self._target, source=source, tier=tier, detail=detail, hint=hint))

    def lose(self, source: str, reason: str, hint: str = "") -> None:
        """It does not deliver, for this reason."""
        if self._said.get(source) == ("", reason):
            return
        self._said[source] = ("", reason)
        self.emit(SourceLost(at=self._clock.now(), target=self._target, source=source, reason=reason, hint=hint))

    def delivers(self, source: str) -> bool:
        """Whether it was last said to deliver."""
        return self._said.get(source, ("", ""))[0] != ""

    def known(self, source: str) -> bool:
        """Whether anything was said of it."""
        return source in self._said
