"""How a request fits the context of its slot: what of its prompt was there already, and whether it ran out of room."""

from __future__ import annotations

from typing import Final, NamedTuple

SHIFTED: Final = 0.25
"""Of a slot's context: a running request whose slot loses more than this was shifted. The server discards half of what
it does not keep (llama.cpp tools/server/server-context.cpp); rejected drafts are dropped too, at most 64 tokens."""


class Room(NamedTuple):
    """What is known of one request.

    Attributes:
        similarity: the share of its prompt that its slot held already, from the first token on; None: the slot was
            chosen otherwise, or the log does not say.
        forced: the log says that all of the prompt had to be computed again.
        truncated: the context was full: the answer ended there, or the context was shifted; None: not told.
        shifts_logged, shifts_polled: how often it was shifted, by the log and by /slots.
    """

    similarity: float | None = None
    forced: bool = False
    truncated: bool | None = None
    shifts_logged: int = 0
    shifts_polled: int = 0

    @property
    def shifts(self) -> int:
        """How often its context was shifted: both who can tell see the same shifts."""
        return max(self.shifts_logged, self.shifts_polled)

    def heard(self, code: str) -> Room:
        """With a line of the log about it, by its code (sources/log_dialects.py)."""
        if code == "full_reprocess":
            return self._replace(forced=True)
        return self._replace(shifts_logged=self.shifts_logged + 1) if code == "context_shift" else self

    def lost(self, tokens: int, n_ctx: int | None) -> Room:
        """With so many tokens less in its slot than its prompt and answer have."""
        if not n_ctx or tokens <= SHIFTED * n_ctx:
            return self
        return self._replace(shifts_polled=self.shifts_polled + 1)


UNKNOWN: Final = Room()
"""Nothing was told yet."""
