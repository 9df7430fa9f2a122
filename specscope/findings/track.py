"""How long one finding has been seen, or not been seen: so that nothing flickers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.findings.rule import Finding

TIMES: Final = 3
"""A change is believed after so many looks in a row that agree: one is chance, two may share a moment's facts."""

RAISE_S: Final = 2.0
"""A finding must be seen for so long. A request's first second (prefill, caches, clocks that rise) is shorter."""

CLEAR_S: Final = 5.0
"""A raised one must be missed for so long: a pause between two requests is no cure."""


@dataclass(eq=False, slots=True)
class Track:
    """One finding, by its code and subject.

    Attributes:
        finding: as last seen.
        since: when it was first seen, seconds since the epoch.
        raised: whether it is shown.
    """

    finding: Finding
    since: float
    raised: bool = False
    _seen: int = 0
    _missed: int = 0
    _missed_since: float = 0.0

    def see(self, finding: Finding, at: float, *, at_once: bool) -> None:
        """It was found again. ``at_once``: there will be no later look, so it need not last."""
        self.finding = replace(finding, since=self.since)
        self._seen += 1
        self._missed = 0
        lasted = self._seen >= TIMES and at - self.since >= RAISE_S
        self.raised = self.raised or lasted or at_once or finding.settled

    def miss(self, at: float) -> bool:
        """It was not found. Returns whether it is over: at once unless it was raised, and for long otherwise."""
        if not self.raised or self.finding.settled:
            return True
        if not self._missed:
            self._missed_since = at
        self._missed += 1
        return self._missed >= TIMES and at - self._missed_since >= CLEAR_S
