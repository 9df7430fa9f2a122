"""Facts of a trace: uprobes on the running server's own functions (sources/trace)."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from specscope.events.fact import Amount, Count, Fact, Small

Micros: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A duration in microseconds."""

CopyOwner: TypeAlias = Literal["target", "drafter"]
"""The model whose tensor was copied: the drafter's while the server drafts or hands features to the drafter."""

SpanKind: TypeAlias = Literal["wait", "submit"]
"""``wait``: the server's thread waits for the device. ``submit``: it hands the device a graph."""


class TraceStarted(Fact, frozen=True, kw_only=True, tag="tracing"):
    """What is probed from now on.

    ``functions``: the roles found in the server's libraries (sources/trace/functions.py). ``missing``: those that
    are not there, so that what they tell stays unknown. ``asynchronous``: graphs are submitted to a device that
    works on its own (a GPU backend is loaded); False: they are computed within the submit (CPU backend).
    ``burst_s`` in every ``burst_every_s`` the dear probes are armed; None: never.
    """

    mode: Literal["cheap", "auto", "full"]
    functions: list[str] = []
    missing: list[str] = []
    asynchronous: bool | None = None
    burst_s: Amount | None = None
    burst_every_s: Amount | None = None


class RequestBegan(Fact, frozen=True, kw_only=True, tag="began"):
    """A slot begins to generate: its prompt has been processed (``common_speculative_begin``)."""

    slot: Small


class CycleTraced(Fact, frozen=True, kw_only=True, tag="traced"):
    """One draft cycle: width after truncation, and what was accepted of it.

    ``replayed``: the accepted part was verified a second time (a target that cannot drop part of a sequence);
    ``accepted`` is already without the token that the replay gained. ``method``: that drafted; of two that share an
    implementation ``draft-dflash or draft-dspark``, where the source does not know which is in use.
    ``given_up``: its draft was told as dropped before, because the server was held up for seconds; it was not.
    """

    slot: Small
    drafted: Small
    accepted: Small
    replayed: bool = False
    method: str | None = None
    given_up: bool = False


class DraftDropped(Fact, frozen=True, kw_only=True, tag="dropped"):
    """A draft that was made and never verified: its request was cancelled. The server counts it as drafted."""

    slot: Small
    drafted: Small


class TurnTraced(Fact, frozen=True, kw_only=True, tag="turn"):
    """One turn of the server's loop, which serves all slots: draft, one forward of the target, sampling.

    ``at`` is its end. The parts do not overlap; what is left of ``whole_us`` is other work. None: not probed;
    0: probed, and it did not happen (a server that does not draft).

    Attributes:
        whole_us: from its begin to the next turn's, or to its own last event before a pause.
        cycles: drafts verified in it.
        draft_us: in ``common_speculative_draft``: all of the drafter's work, its sampling included.
        draft_sampling_us: the part of that in ``common_sampler_sample``.
        submit_us: the target's forward until the call returned; on a CPU backend that is the computing.
        wait_us: from there until its results were first used: the device verifies.
        features_us: in ``common_speculative_process``: features of the target handed to the drafter.
        sampling_us: sampling from the target on the host, all slots together: where nothing is drafted, in
            ``common_sampler_sample``; else from the end of the features to the last slot's end of cycle.
        samples: tokens sampled from the target, where each is probed (plain steps).
    """

    whole_us: Micros
    cycles: Small
    draft_us: Micros | None = None
    draft_sampling_us: Micros | None = None
    submit_us: Micros | None = None
    wait_us: Micros | None = None
    features_us: Micros | None = None
    sampling_us: Micros | None = None
    samples: Count | None = None


class CopiesTraced(Fact, frozen=True, kw_only=True, tag="copies"):
    """Copies from the backends to host memory in the ``span_s`` before ``at``, by size.

    ``turns``: forwards of the target in that time. ``rows``: (whose tensor, bytes of one copy, copies). ``apart``:
    (bytes of one copy, copies) of those that no forward makes, as when a slot's state is saved; None: not told from
    the others, and among them.
    """

    span_s: Amount
    turns: Count
    rows: list[tuple[CopyOwner, Count, Count]] = []
    apart: list[tuple[Count, Count]] | None = None


class StallsSampled(Fact, frozen=True, kw_only=True, tag="stalls"):
    """A burst of the dear probes, on the threads that run the loop. ``at`` is its end.

    Attributes:
        span_s: its length; cycles: cycles that ended in it.
        wait_us: the thread waited for the device; waits: in so many calls.
        idle_us: the device had no work: from the end of a wait to the next submit.
        spans: (kind, start after the burst's begin in us, length in us) of those of at least 20 us, in order.
        forwards: of the target; samples, sampling_us: tokens sampled from it on the host, and how long that took.
        draft_sampling_us: the same for the drafter.
    """

    span_s: Amount
    cycles: Count
    wait_us: Micros
    idle_us: Micros
    waits: Count
    submits: Count
    spans: list[tuple[SpanKind, Micros, Micros]] = []
    forwards: Count | None = None
    samples: Count | None = None
    sampling_us: Micros | None = None
    draft_sampling_us: Micros | None = None


class StacksSampled(Fact, frozen=True, kw_only=True, tag="stacks"):
    """Python frames of a Python-hosted server, sampled with py-spy: (frame, samples), most often first.

    A frame is the innermost one of a thread that was on a CPU, or ready for one: ``function (file:line)``.

    Attributes:
        span_s: the time before ``at`` in which samples were taken.
        samples: how many; each looks at all threads, so that a frame's share of them is a share of time.
        threads: the name of each frame's thread, in the order of the frames.
    """

    span_s: Amount
    samples: Count
    frames: list[tuple[str, Count]] = []
    threads: list[str] = []
