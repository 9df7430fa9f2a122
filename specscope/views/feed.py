"""What the screens need from the outside: a feed of sessions, which the caller builds from sources and a fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from specscope.findings.diagnosis import Diagnosis
    from specscope.session.state import Session


class Feed(Protocol):
    """A watch, live or replayed."""

    def session(self) -> Session:
        """The frozen state now. The paint timer asks for it up to ten times a second, so it must be cheap."""
        ...

    def diagnosis(self) -> Diagnosis:
        """What the rules say of the state now."""
        ...

    def reset(self) -> None:
        """Start all counts anew."""
        ...

    def mark(self, label: str) -> None:
        """Name what the server does from here on."""
        ...

    async def run(self) -> None:
        """Pump facts until there are no more; cancelled when the screen closes."""
        ...


@runtime_checkable
class Replay(Protocol):
    """What a feed that replays a recording has beyond :class:`Feed`: ``+`` and ``-`` change its speed."""

    @property
    def speed(self) -> float:
        """How many recorded seconds pass in one."""
        ...

    @property
    def at_end(self) -> bool:
        """Whether the last fact has been told."""
        ...

    def set_speed(self, factor: float) -> None:
        """Replay at this speed from here on."""
        ...
