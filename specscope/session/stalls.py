"""Stalls between host and device: the bursts of the dear probes as shares of their time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.session.state import Burst, Stalls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.events import StallsSampled, TraceStarted


def burst_of(e: StallsSampled) -> Burst | None:
    """The shares of one burst; None when nothing ran in it.

    The thread waits while the device works, and the device is idle after the wait: together they are no more than
    the burst.
    """
    span_us = e.span_s * 1e6
    if span_us <= 0 or not (e.waits or e.submits):
        return None
    waiting = min(1.0, e.wait_us / span_us)
    return Burst(
        at=e.at,
        span_s=e.span_s,
        waiting=waiting,
        idle=min(1.0 - waiting, e.idle_us / span_us),
        waits_per_cycle=e.waits / e.cycles if e.cycles else None,
    )


def stalls_of(bursts: Iterable[Burst], tracing: TraceStarted | None) -> Stalls | None:
    """All bursts kept; None before the first."""
    kept = tuple(bursts)
    if not kept:
        return None
    return Stalls(
        kept,
        burst_s=tracing.burst_s if tracing is not None else None,
        every_s=tracing.burst_every_s if tracing is not None else None,
    )
