"""A trace as Chrome trace JSON, which ui.perfetto.dev, Perfetto's trace processor and chrome://tracing open.

Tracks: the loop, each turn with its parts inside; the cycles of each slot; the bursts with their waits and submits;
counters of the bytes copied per turn, of the accepted lengths, and of each GPU's power, clock and use. Times are
microseconds from the first thing shown.

Of a turn only the durations of its parts are known, and they are laid out in the order in which they happen. A
cycle is drawn from the begin of the turn that served it.

Format: the Trace Event Format (complete events ``X``, counters ``C``, instants ``i``, metadata ``M``); slices of a
track are within one another or apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable  # noqa: TC003  msgspec reads the annotations at run time
from math import floor
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from specscope.events import CopiesTraced, CycleTraced, GpuSampled, RequestBegan, StallsSampled, TurnTraced
from specscope.session.anatomy import fit

if TYPE_CHECKING:
    from specscope.events import Event

TraceFact: TypeAlias = TurnTraced | CycleTraced | CopiesTraced | StallsSampled | RequestBegan
SHOWN: Final = (TurnTraced, CycleTraced, CopiesTraced, StallsSampled, RequestBegan)

PID: Final = 1
LOOP, BURSTS, WAITS, SUBMITS, SLOTS = 10, 20, 21, 22, 100
"""Track numbers; the cycles of slot n are on ``SLOTS + n``."""

PARTS: Final = ("draft", "submit", "verify", "features", "sampling")
LONGEST_CYCLE_US: Final = 1_000_000
"""A cycle whose turn was not traced reaches back to the cycle before, unless that is longer ago than this: then there
was a pause between them."""


class TraceEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One event; ``ts`` and ``dur`` in microseconds."""

    name: str
    ph: Literal["X", "C", "i", "M"]
    ts: int
    pid: int
    tid: int
    dur: int | None = None
    s: str | None = None
    args: dict[str, Any] | None = None


class _Track:
    """The slices of one track: none begins before the one before it has ended."""

    def __init__(self, tid: int) -> None:
        self.tid = tid
        self.until = 0
        self.events: list[TraceEvent] = []

    def put(self, name: str, begin: int, end: int, **args: object) -> int:
        """Add a slice, cut where the track is still taken; returns its begin."""
        begin = max(begin, self.until)
        end = max(begin, end)
        self.until = end
        self.inside(name, begin, end, **args)
        return begin

    def inside(self, name: str, begin: int, end: int, **args: object) -> None:
        """Add a slice within the last one put."""
        known = {k: v for k, v in args.items() if v is not None}
        self.events.append(
            TraceEvent(name=name, ph="X", ts=begin, pid=PID, tid=self.tid, dur=end - begin, args=known or None)
        )


def trace_events(facts: Iterable[Event], name: str = "llama-server") -> list[TraceEvent]:
    """The events of one target's facts, metadata first, the rest by their begin, the longer first.

    Args:
        facts: in any order; kinds that are not shown are passed over.
        name: of the server.
    """
    facts = list(facts)
    shown = sorted((f for f in facts if isinstance(f, SHOWN)), key=lambda f: f.at)
    turns = [f for f in shown if isinstance(f, TurnTraced)]
    loop, events = _loop(turns)
    events += _cycles([f for f in shown if isinstance(f, CycleTraced | RequestBegan)], loop)
    events += _bursts([f for f in shown if isinstance(f, StallsSampled) and (f.waits or f.submits)])
    events += [_copies(f) for f in shown if isinstance(f, CopiesTraced) and f.turns]
    if events:
        events += [counter for f in facts if isinstance(f, GpuSampled) for counter in _gpu(f)]
    origin = min((e.ts for e in events), default=0)
    moved = [msgspec.structs.replace(e, ts=e.ts - origin) for e in events]
    moved.sort(key=lambda e: (e.ts, -(e.dur or 0)))
    return [*_names({e.tid for e in moved}, name), *moved]


def encode_trace(events: list[TraceEvent]) -> bytes:
    """The file's text."""
    note = "parts of a turn are laid out in order within it"
    return msgspec.json.encode({"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"note": note}})


def _us(at: float) -> int:
    return round(at * 1e6)


def _loop(turns: list[TurnTraced]) -> tuple[list[tuple[int, int]], list[TraceEvent]]:
    """Begin and end of each turn, and its slices."""
    track = _Track(LOOP)
    spans: list[tuple[int, int]] = []
    for turn in turns:
        end = _us(turn.at)
        what = "turn" if turn.cycles else "step without a draft"
        begin = track.put(what, end - turn.whole_us, end, cycles=turn.cycles, samples=turn.samples)
        end = max(begin, end)
        spans.append((begin, end))
        parts = (turn.draft_us, turn.submit_us, turn.wait_us, turn.features_us, turn.sampling_us)
        at = begin
        for name, part in zip(PARTS, fit(end - begin, parts)[0], strict=True):
            took = floor(part or 0)
            if took:
                own = turn.draft_sampling_us if name == "draft" else None
                track.inside(name, at, at + took, sampling_us=own)
                at += took
        if at < end:
            track.inside("other", at, end)
    return spans, track.events


def _cycles(facts: list[CycleTraced | RequestBegan], turns: list[tuple[int, int]]) -> list[TraceEvent]:
    """The cycles of each slot, the begins of its requests, and its accepted lengths."""
    tracks: dict[int, _Track] = {}
    events: list[TraceEvent] = []
    ends = [end for _, end in turns]
    for fact in facts:
        track = tracks.setdefault(fact.slot, _Track(SLOTS + fact.slot))
        at = _us(fact.at)
        if isinstance(fact, RequestBegan):
            at = max(at, track.until)
            events.append(TraceEvent(name="request begins", ph="i", ts=at, pid=PID, tid=track.tid, s="t"))
            track.until = at
            continue
        begin = track.put(
            f"{fact.accepted} of {fact.drafted}",
            _begin(at, track.until, turns, ends),
            at,
            drafted=fact.drafted,
            accepted=fact.accepted,
            method=fact.method,
            replayed=fact.replayed or None,
        )
        length = {"tokens": fact.accepted}
        events.append(
            TraceEvent(name=f"accepted, slot {fact.slot}", ph="C", ts=begin, pid=PID, tid=track.tid, args=length)
        )
    return [e for track in tracks.values() for e in track.events] + events


def _begin(at: int, before: int, turns: list[tuple[int, int]], ends: list[int]) -> int:
    """When a cycle that ended at ``at`` began; ``before``: the end of what the slot did before."""
    i = bisect_left(ends, at)
    if i < len(turns) and turns[i][0] < at:
        return turns[i][0]
    return before if at - before <= LONGEST_CYCLE_US else at


def _bursts(bursts: list[StallsSampled]) -> list[TraceEvent]:
    whole, waits, submits = _Track(BURSTS), _Track(WAITS), _Track(SUBMITS)
    for burst in bursts:
        end = _us(burst.at)
        begin = end - round(burst.span_s * 1e6)
        begin = whole.put("burst", begin, end, cycles=burst.cycles, wait_us=burst.wait_us, idle_us=burst.idle_us)
        for kind, start, length in burst.spans:
            track = waits if kind == "wait" else submits
            if begin + start < end:
                track.put(kind, begin + start, min(end, begin + start + length))
    return [*whole.events, *waits.events, *submits.events]


def _copies(fact: CopiesTraced) -> TraceEvent:
    """A counter keeps its value until the next, so it is set where the time begins that the copies are of."""
    totals = {"target": 0.0, "drafter": 0.0}
    for owner, size, copies in fact.rows:
        totals[owner] += size * copies / fact.turns
    begin = _us(fact.at - fact.span_s)
    return TraceEvent(name="bytes to the host per turn", ph="C", ts=begin, pid=PID, tid=LOOP, args=totals)


def _gpu(fact: GpuSampled) -> list[TraceEvent]:
    """What a device took and did at one moment; what was not read has no value then."""
    readings = (("power, W", fact.power_w), ("SM clock, MHz", fact.sm_clock_mhz), ("busy, %", fact.busy_pct))
    return [
        TraceEvent(name=f"GPU {fact.index} {what}", ph="C", ts=_us(fact.at), pid=PID, tid=LOOP, args={"value": value})
        for what, value in readings
        if value is not None
    ]


def _names(tracks: set[int], name: str) -> list[TraceEvent]:
    """Names and order of the tracks that there are."""
    known = {LOOP: "loop", BURSTS: "bursts", WAITS: "waits for the device", SUBMITS: "submits"}
    named: list[tuple[str, int, dict[str, Any]]] = [("process_name", 0, {"name": name})]
    for tid in sorted(tracks):
        named.append(("thread_name", tid, {"name": known.get(tid, f"slot {tid - SLOTS}")}))
        named.append(("thread_sort_index", tid, {"sort_index": tid}))
    return [TraceEvent(name=what, ph="M", ts=0, pid=PID, tid=tid, args=args) for what, tid, args in named]
