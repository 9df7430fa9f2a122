"""The state that rules, reports and views read: frozen, compared by identity, absent is None.

Numbers travel with how they are known (:data:`Evidence`), so that a screen can never show a guess as a fact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from specscope.session.economics.state import Economics
from specscope.session.gpu_state import Machine
from specscope.session.memory.map_state import Memory
from specscope.session.provenance.state import Provenance
from specscope.session.referee_state import Referee
from specscope.session.turn_state import BackendPath

if TYPE_CHECKING:
    from specscope.events import (
        CountersRead,
        Json,
        ModelRead,
        ProcessSampled,
        ProcessSeen,
        PropsRead,
        ServerState,
        StacksSampled,
        Tier,
    )
    from specscope.flags import ServerFlags
    from specscope.session.depth import DepthRow
    from specscope.session.economics.method_state import MethodRow
    from specscope.session.economics.state import Prefill, Regime
    from specscope.session.gpu_state import Energy, GpuUse
    from specscope.session.graphs import GraphReuse
    from specscope.session.request_state import Heard, RequestRow, Slot
    from specscope.session.tally import PositionRate
    from specscope.session.turn_state import Anatomy, CopyRow, SavedRow, Stalls, TraceView

Evidence: TypeAlias = Literal["exact", "unconfirmed", "parted", "polled", "counted", "estimated", "unknown"]
"""How a number is known.

``exact``: per-cycle lines (or a trace) that equal the server's own count. ``unconfirmed``: the same, not yet
compared with that count, or with lines known to be missed. ``parted``: they differ from it. ``polled``: seen by
polling /slots. ``counted``: the server's own counters. ``estimated``: a model. ``unknown``: not seen.
"""

CycleSource: TypeAlias = Literal["polled", "stream", "log", "trace"]
"""What a cycle was seen by, weakest first."""


class Cycle(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One draft cycle of one slot. A Struct, because a frozen dataclass takes ten times as long to make.

    Attributes:
        number: running number within the server's epoch, from 1.
        at: when it ended, seconds since the epoch.
        task: the server's id of the request; -1 while only a stream of our own tells of it.
        drafted: draft width as verified; None when only the accepted length was seen.
        accepted: draft tokens that survived.
        gap_ms: time since the previous step of the same request; None for its first seen step.
        replayed: the accepted part was verified a second time (recurrent targets).
        position: tokens the request had generated after this cycle, where known.
    """

    number: int
    at: float
    slot: int
    task: int
    drafted: int | None
    accepted: int
    gap_ms: float | None
    seen_by: CycleSource
    replayed: bool = False
    position: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Rates:
    """Figures over a rolling window that ends at the last step seen.

    Attributes:
        tok_s: generated tokens per second of decoding, all slots together.
        tau: generated tokens per step of one slot (cycles and plain steps).
        tau_draft: mean acceptance length over cycles with a draft.
        acceptance: accepted / drafted.
        cycle_ms, cycle_ms_p95: median and 95th percentile of the time between steps of one slot.
        span_s: decoding time covered.
        busy_slots: slots decoding at once, averaged over that time.
    """

    tok_s: float | None = None
    tau: float | None = None
    tau_draft: float | None = None
    acceptance: float | None = None
    width_mean: float | None = None
    cycle_ms: float | None = None
    cycle_ms_p95: float | None = None
    span_s: float = 0.0
    steps: int = 0
    busy_slots: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Totals:
    """Counts since watching began (or since the server last started).

    ``cycles``, ``drafted``, ``accepted`` come from the per-cycle source where there is one, else from the
    server's counters; ``evidence`` says which.
    """

    evidence: Evidence = "unknown"
    cycles: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    plain_steps: int | None = None
    generated: int | None = None
    tau: float | None = None
    tau_draft: float | None = None
    acceptance: float | None = None
    width_mean: float | None = None
    width_max: int | None = None
    histogram: tuple[int, ...] = ()
    survival: tuple[PositionRate, ...] = ()
    joint: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class SourceView:
    """A source and how it fares."""

    name: str
    state: Literal["attached", "lost"]
    tier: Tier
    since: float
    detail: str = ""
    hint: str = ""
    missed: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Config:
    """What the server was told and what it made of it.

    Attributes:
        types: drafting methods in force, ``none`` dropped; None when nothing said so.
        types_from: where they were seen: ``slots``, ``log``, ``flags``.
        asked: methods that the server was told to use, whether or not it could.
        n_max_requested: draft width asked for (flag or default); n_max_effective: after clamping.
        block_size: the trained block of a block drafter.
        drafter_limit: the widest draft that the drafter's training allows; None: no limit, or not known.
        draft_flag: the flags name a draft model.
        sampling: effective sampling parameters of the last request, else the server's defaults.
        sampling_from: ``request`` or ``props``.
    """

    types: tuple[str, ...] | None = None
    types_from: str | None = None
    asked: tuple[str, ...] = ()
    n_max_requested: int | None = None
    n_max_effective: int | None = None
    block_size: int | None = None
    drafter_limit: int | None = None
    draft_flag: bool | None = None
    sampling: dict[str, Json] = field(default_factory=dict["str", "Json"])
    sampling_from: str | None = None


@dataclass(frozen=True, eq=False, slots=True)
class PollView:
    """Polling of /slots: requests per step seen (None before any), and the share of cycles seen."""

    per_step: float | None = None
    completeness: float | None = None
    merged: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Target:
    """One watched server.

    Attributes:
        epoch: which life of the server this is, from 1; ``restarts``: when the later ones began.
        resets: how often the user let the counts start anew.
        by_method: where a trace or the log's statistics tell its drafting methods apart.
        counters: the latest read of the server's own totals, which are of its whole life.
        log_said: the fields of the latest line of each kind; log_heard: how often and when it was read.
    """

    id: str
    url: str | None = None
    pid: int | None = None
    kind: str = "llama-server"
    server: ServerState = "unknown"
    server_detail: str = ""
    server_since: float | None = None
    last_fact_at: float | None = None
    epoch: int = 1
    restarts: tuple[float, ...] = ()
    resets: int = 0
    tier: Tier = "none"
    cycle_evidence: Evidence = "unknown"
    evidence: Evidence = "unknown"
    rates: Rates = Rates()
    totals: Totals = Totals()
    referee: Referee = field(default_factory=Referee)
    poll: PollView = PollView()
    cycles: tuple[Cycle, ...] = ()
    by_method: tuple[MethodRow, ...] = ()
    anatomy: Anatomy | None = None
    copies: tuple[CopyRow, ...] = ()
    saved: tuple[SavedRow, ...] = ()
    backend_path: BackendPath = field(default_factory=BackendPath)
    stalls: Stalls | None = None
    trace: TraceView | None = None
    stacks: StacksSampled | None = None
    slots: tuple[Slot, ...] = ()
    requests: tuple[RequestRow, ...] = ()
    sources: tuple[SourceView, ...] = ()
    config: Config = Config()
    props: PropsRead | None = None
    process: ProcessSeen | None = None
    usage: ProcessSampled | None = None
    counters: CountersRead | None = None
    flags: ServerFlags | None = None
    models: dict[str, ModelRead] = field(default_factory=dict["str", "ModelRead"])
    by_depth: tuple[DepthRow, ...] = ()
    graphs: GraphReuse | None = None
    gpus: tuple[GpuUse, ...] = ()
    energy: Energy | None = None
    provenance: Provenance = field(default_factory=Provenance)
    memory: Memory = field(default_factory=Memory)
    economics: Economics = field(default_factory=Economics)
    regimes: tuple[Regime, ...] = ()
    prefill: Prefill | None = None
    log_said: dict[str, dict[str, str]] = field(default_factory=dict["str", "dict[str, str]"])
    log_heard: dict[str, Heard] = field(default_factory=dict["str", "Heard"])


@dataclass(frozen=True, eq=False, slots=True)
class OwnCost:
    """What watching costs: percent of one core, bytes, requests per second to the servers."""

    cpu_pct: float | None = None
    rss_bytes: int | None = None
    requests_per_s: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Session:
    """Everything known at ``at``, over all targets."""

    at: float
    started_at: float
    targets: tuple[Target, ...] = ()
    marks: tuple[tuple[float, str], ...] = ()
    own_cost: OwnCost = OwnCost()
    machine: Machine = field(default_factory=Machine)
    ended: bool = False
    facts: int = 0
