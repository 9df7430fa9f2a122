"""What the server's own counts say of the captured cycles, as the frozen state has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NO_COUNTERS: Final = "this server has no draft counters"
METRICS_OFF: Final = "/metrics is off"
LASTING: Final = (NO_COUNTERS, METRICS_OFF)
"""The reasons for having no count that time does not end."""


@dataclass(frozen=True, eq=False, slots=True)
class RefereeCount:
    """The server's own increase of cycles, drafted and accepted tokens, beside what was captured of the same."""

    cycles: int
    drafted: int
    accepted: int
    captured_cycles: int
    captured_drafted: int | None
    captured_accepted: int

    @property
    def agrees(self) -> bool:
        """Whether cycles and accepted tokens are equal, and drafted tokens where their widths were seen."""
        drafted_equal = self.captured_drafted is None or self.captured_drafted == self.drafted
        return (self.captured_cycles, self.captured_accepted) == (self.cycles, self.accepted) and drafted_equal

    def beyond(self, captured: int | None) -> int:
        """How many of all cycles captured it does not cover: those before its first read, and since its last."""
        return max(0, (captured or 0) - self.captured_cycles)


@dataclass(frozen=True, slots=True)
class SinceStart:
    """The server's own totals when they were last read: since its process started, watched or not."""

    generated: int | None = None
    drafts: int | None = None
    drafted: int | None = None
    accepted: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Referee:
    """What the server's own counts say about the captured cycles.

    Attributes:
        since_start: the counts themselves; None before the first read.
        count: the counters' increase over requests wholly inside the window; None before the second idle read.
        requests_checked, requests_parted: finished requests compared with the totals the log printed for them.
        missed: facts that sources know they did not see since the counts last agreed.
        waiting: why there is no count yet, in words; empty when there is one.
    """

    count: RefereeCount | None = None
    requests_checked: int = 0
    requests_parted: int = 0
    missed: int = 0
    waiting: str = ""
    since_start: SinceStart | None = None
