"""Stalls between host and device: the bursts of the dear probes as shares of their time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.turn_state import Burst, Stalls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.events import StallsSampled, TraceStarted


REST_US: Final = 100_000
"""When nothing was waited for or submitted for so long, the server was at rest between requests: the longest work of
the host between two graphs that was measured took 41 ms (a vocabulary of 49,152 sorted at seven positions)."""


def burst_of(e: StallsSampled) -> Burst | None:
    """The shares of one burst, of the time in which the server was at work; None when nothing ran in it.

    The thread waits while the device works, and the device is idle after the wait: together they are no more than
    the burst.
    """
    between_us, around_us = _rest_us(e)
    span_us = e.span_s * 1e6 - between_us - around_us
    if span_us <= 0 or not (e.waits or e.submits):
        return None
    waiting = min(1.0, e.wait_us / span_us)
    return Burst(
        at=e.at,
        span_s=span_us / 1e6,
        waiting=waiting,
        idle=min(1.0 - waiting, max(0, e.idle_us - between_us) / span_us),
        waits_per_cycle=e.waits / e.cycles if e.cycles else None,
    )


def _rest_us(e: StallsSampled) -> tuple[int, int]:
    """How long the server rested between what it did in the burst, and before and after it.

    Only the former is within the device's idle time, which ends with the next submit.
    """
    if not e.spans:
        return 0, 0
    between, until = 0, None
    for _, start, length in sorted(e.spans, key=_start):
        if until is not None and start - until > REST_US:
            between += start - until
        until = start + length if until is None else max(until, start + length)
    before = min(start for _, start, _ in e.spans)
    after = max(0, int(e.span_s * 1e6) - (until or 0))
    return between, sum(rest for rest in (before, after) if rest > REST_US)


def _start(span: tuple[str, int, int]) -> int:
    return span[1]


def stalls_of(bursts: Iterable[Burst], tracing: TraceStarted | None) -> Stalls | None:
    """All bursts kept, and how much of the time they were; None before the first.

    None also where the CPU computes: a graph is then done when it has been submitted, and nobody waits for anybody.
    """
    kept = tuple(bursts)
    if not kept or (tracing is not None and tracing.asynchronous is False):
        return None
    if len(kept) == 1:
        every_s = tracing.burst_every_s if tracing is not None else None
    else:
        every_s = (kept[-1].at - kept[0].at) / (len(kept) - 1)
    return Stalls(kept, burst_s=sum(b.span_s for b in kept) / len(kept), every_s=every_s)
