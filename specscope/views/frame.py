"""One painted moment: what every panel is handed, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from specscope.findings.diagnosis import Diagnosis
    from specscope.findings.rule import Finding
    from specscope.session.state import Session, Target

Doing: TypeAlias = Literal["nothing yet", "decoding", "prefill", "idle", "no step"]

SILENT_S: Final = 2.0
"""A busy slot that shows no step for this long is said to be silent, unless its cycles are slower than that."""

SILENT_CYCLES: Final = 10


@dataclass(frozen=True, slots=True)
class Activity:
    """What a server is doing, and for how long, in seconds, where that is known."""

    doing: Doing
    for_s: float | None = None

    @property
    def stale(self) -> bool:
        """Whether the rolling figures are of the past."""
        return self.doing != "decoding"


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """What is shown at one moment.

    Attributes:
        session: the state; its ``at`` is the screen's clock.
        target: the server shown; None before any was found.
        index: its place among the session's targets.
        diagnosis: what the rules say, of all targets.
        counted_since: when the counts of this target began: with the watch, the server's start, or a reset.
        activity: what that server is doing.
        paused: the picture stands still while facts go on being taken in.
        failure: why the feed ended, when it ended in an error.
        pace: how fast the screen is painted, or a recording replayed, in words.
        notice: what the last key did, for a few seconds.
    """

    session: Session
    target: Target | None
    index: int
    diagnosis: Diagnosis
    activity: Activity
    counted_since: float
    paused: bool = False
    failure: str = ""
    pace: str = ""
    notice: str = ""

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        return self.session.at

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all targets, the worst first."""
        return self.diagnosis.findings

    @property
    def speculating(self) -> bool | None:
        """Whether the server drafts; None when nothing said so and no cycle was seen."""
        if self.target is None:
            return None
        if self.target.cycles or self.target.totals.cycles:
            return True
        types = self.target.config.types
        return None if types is None else bool(types)


def counts_began(target: Target | None, started_at: float, reset_at: float) -> float:
    """When counting began: the latest of the watch's start, the server's last restart, and a reset."""
    restarts = target.restarts[-1:] if target is not None else ()
    return max(started_at, reset_at, *restarts)


def activity_of(target: Target | None, now: float) -> Activity:
    """What a server is doing at ``now``, from its slots, requests and last cycle."""
    if target is None:
        return Activity("nothing yet")
    last = _last_step_at(target)
    if target.server not in ("ready", "unknown") and last is not None:  # unknown: cycles may be told before it answers
        return Activity("no step", max(0.0, now - last))
    if not _busy(target):
        return Activity("nothing yet") if last is None else Activity("idle", max(0.0, now - last))
    if any(s.busy and not s.decoded for s in target.slots) and not any(s.busy and s.decoded for s in target.slots):
        return Activity("prefill")
    limit = max(SILENT_S, SILENT_CYCLES * (target.rates.cycle_ms or 0.0) / 1000)
    if target.cycles and now - target.cycles[-1].at > limit:
        return Activity("no step", now - target.cycles[-1].at)
    return Activity("decoding")


def _busy(target: Target) -> bool:
    known = [s.busy for s in target.slots if s.busy is not None]
    if known:
        return any(known)
    return any(r.ended_at is None for r in target.requests[-len(target.slots) - 8 :])


def _last_step_at(target: Target) -> float | None:
    ends = [r.ended_at for r in target.requests[-8:] if r.ended_at is not None]
    if target.cycles:
        ends.append(target.cycles[-1].at)
    return max(ends, default=None)
