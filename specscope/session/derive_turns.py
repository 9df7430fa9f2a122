"""What a trace tells of a server's turns, or what is estimated of them without one, as part of its frozen view."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from specscope.session.backend_path import MIN_TURNS, estimated_path, traced_path
from specscope.session.bus import bus_of, by_bus, features_bytes
from specscope.session.copies import copy_rows, shapes_of, told_apart, turns_in
from specscope.session.estimate import estimate
from specscope.session.placement import on_device
from specscope.session.stalls import stalls_of
from specscope.session.turn_state import TraceView
from specscope.session.unknowns import most_if_known

if TYPE_CHECKING:
    from specscope.events import TraceStarted
    from specscope.session.copies import Shapes
    from specscope.session.gpu_state import GpuUse
    from specscope.session.state import Config, Rates, Target
    from specscope.session.target_fold import TargetFold
    from specscope.session.turn_state import Anatomy, BackendPath, CopyRow


def with_turns(target: Target, fold: TargetFold) -> Target:
    """The same with what a trace tells, or what is estimated of it from the rest."""
    traced, config = fold.epoch.traced, target.config
    shapes = _shapes(fold, target)
    copies, saved = copy_rows(traced.copies, shapes)
    return replace(
        target,
        anatomy=_anatomy(fold, target.rates, config, target.gpus),
        copies=copies,
        saved=saved,
        backend_path=_path(fold, target, copies, shapes),
        stalls=stalls_of(traced.bursts, traced.tracing),
        trace=_trace(traced.tracing),
    )


def _trace(tracing: TraceStarted | None) -> TraceView | None:
    if tracing is None:
        return None
    return TraceView(tracing.mode, tuple(tracing.missing), tracing.burst_s, tracing.burst_every_s, tracing.asynchronous)


def _anatomy(fold: TargetFold, rates: Rates, config: Config, gpus: tuple[GpuUse, ...]) -> Anatomy | None:
    """The parts of a turn as traced; without a trace, what else can be said of them."""
    epoch = fold.epoch
    tracing = epoch.traced.tracing
    traced = epoch.traced.anatomy.view(
        "unconfirmed" if epoch.referee.missed else "exact",
        asynchronous=tracing.asynchronous if tracing is not None else None,
        drafts=None if config.types is None else bool(config.types),
        sampled=epoch.traced.sampled(),
    )
    if traced is not None:
        return traced
    device = on_device(fold.flags, epoch.said, fold.usage)
    decoding = epoch.book.window.without_pause(rates)
    busy_pct = gpus[0].gpu.busy_pct if len(gpus) == 1 else None
    return estimate(rates, epoch.statistics, fold.usage, decoding=decoding, device=device, busy_pct=busy_pct)


def _shapes(fold: TargetFold, target: Target) -> Shapes:
    told = fold.props.total_slots if fold.props is not None else None
    flags = fold.flags
    shapes = shapes_of(
        fold.models,
        target.config,
        slots=told or len(fold.epoch.slots.slots) or None,
        width_seen=target.totals.width_max,
        ubatch=flags.ubatch if flags is not None else None,
        prompt_most=most_if_known([r.prompt_tokens for r in target.requests]),
    )
    return replace(
        shapes,
        layouts=fold.memory.layouts,
        mixed=not told_apart(fold.epoch.traced.copies),
        cached=None if flags is None or flags.cache_ram_mib is None else flags.cache_ram_mib != 0,
    )


def _path(fold: TargetFold, target: Target, copies: tuple[CopyRow, ...], shapes: Shapes) -> BackendPath:
    """Where tokens are chosen: by the copies that a trace saw, else by flags and log, else by the bus."""
    traced, config = fold.epoch.traced, target.config
    if copies and turns_in(traced.copies) >= MIN_TURNS:
        tracing = traced.tracing
        return traced_path(copies, shapes, config, asynchronous=tracing.asynchronous if tracing is not None else None)
    bus, rates, said = bus_of(target.gpus, target.rates), target.rates, fold.epoch.said
    if bus is None:
        return estimated_path(config, fold.flags, said)
    features = features_bytes(config, shapes, rates, said)
    return estimated_path(config, fold.flags, said, by_bus(bus, shapes, rates, features_bytes=features))
