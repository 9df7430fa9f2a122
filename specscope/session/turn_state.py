"""What a trace shows of the server's loop, as the frozen state has it: parts of a turn, copies, paths, stalls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from specscope.session.state import Evidence


@dataclass(frozen=True, eq=False, slots=True)
class Parts:
    """Where the milliseconds of one turn of the server's loop go; they do not overlap and sum up to ``whole_ms``.

    A turn serves one cycle of each busy slot. None: not seen apart, so within ``other_ms``; 0: it did not happen.
    ``wait_ms`` is the device's time for verifying as far as the server's thread waits for it; on a CPU backend the
    computing is in ``submit_ms``. ``draft_sampling_ms`` is the part of ``draft_ms`` that is sampling on the host.
    """

    whole_ms: float
    draft_ms: float | None
    submit_ms: float | None
    wait_ms: float | None
    features_ms: float | None
    sampling_ms: float | None
    other_ms: float
    draft_sampling_ms: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Anatomy:
    """The parts of a turn, averaged over the latest window of decoding, and per second before.

    Attributes:
        evidence: ``exact`` when traced, ``estimated`` without a trace; ``basis`` says by what.
        parts: means per turn with a cycle (on a server that does not draft: per plain step).
        turns: how many; ``cycles``: of all slots; ``span_s``: time they took. An estimate has the cycles that it
            rests on, and no turns.
        samples: tokens sampled from the target in them; None: not probed.
        seconds: (second since the epoch, turns in it, parts), oldest first.
        asynchronous: graphs run on a device; False: within the submit (CPU); None: unknown.
    """

    evidence: Evidence
    basis: str
    parts: Parts
    turns: int
    cycles: int
    span_s: float
    seconds: tuple[tuple[float, int, Parts], ...] = ()
    asynchronous: bool | None = None
    samples: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class CopyRow:
    """Copies of one size from the backends to host memory. ``meaning`` is empty when the size is not explained."""

    owner: Literal["target", "drafter"]
    bytes_each: int
    per_turn: float
    meaning: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class SavedRow:
    """Copies of one size to host memory that belong to no turn, as when a slot's state is saved, in the turns seen.

    ``meaning`` is empty when the size is not explained.
    """

    bytes_each: int
    copies: int
    meaning: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class BackendPath:
    """Where tokens are chosen, and what says so, in words."""

    draft: Literal["device", "host", "unknown"] = "unknown"
    target: Literal["device", "host", "unknown"] = "unknown"
    draft_why: str = ""
    target_why: str = ""
    evidence: Evidence = "unknown"


@dataclass(frozen=True, eq=False, slots=True)
class Burst:
    """What the dear probes saw in one burst. ``at`` is its end, ``span_s`` the time in it that the server was at work.

    ``waiting``: share of the time that the server's thread waited for the device; ``idle``: share that the device
    had nothing to do because the host had not submitted yet.
    """

    at: float
    span_s: float
    waiting: float
    idle: float
    waits_per_cycle: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Stalls:
    """Stalls between CPU and GPU, from bursts of ``burst_s`` in every ``every_s``; oldest burst first."""

    bursts: tuple[Burst, ...]
    burst_s: float | None = None
    every_s: float | None = None

    @property
    def waiting(self) -> float:
        """Share of time waited for the device, over all bursts kept."""
        return sum(b.waiting * b.span_s for b in self.bursts) / sum(b.span_s for b in self.bursts)

    @property
    def idle(self) -> float:
        """Share of time that the device waited for the host, over all bursts kept."""
        return sum(b.idle * b.span_s for b in self.bursts) / sum(b.span_s for b in self.bursts)


@dataclass(frozen=True, eq=False, slots=True)
class TraceView:
    """What is traced: ``mode`` cheap, auto or full, and the functions that this build lacks.

    ``asynchronous``: graphs run on a device; False: within the submit (CPU); None: unknown.
    """

    mode: str
    missing: tuple[str, ...] = ()
    burst_s: float | None = None
    burst_every_s: float | None = None
    asynchronous: bool | None = None
