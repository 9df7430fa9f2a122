"""From the mutable fold to the frozen view: totals, rates, and how each is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from specscope.events import TIERS
from specscope.session.backend_path import MIN_TURNS, estimated_path, traced_path
from specscope.session.copies import copy_rows, shapes_of, turns_in
from specscope.session.estimate import estimate, on_device
from specscope.session.stalls import stalls_of
from specscope.session.state import PollView, Target, Totals
from specscope.session.tally import PositionRate
from specscope.session.turn_state import TraceView

if TYPE_CHECKING:
    from specscope.events import Tier, TraceStarted
    from specscope.session.copies import Shapes
    from specscope.session.referee import RefereeBook
    from specscope.session.state import Config, Evidence, Rates
    from specscope.session.tally import Tally
    from specscope.session.target_fold import TargetFold
    from specscope.session.turn_state import Anatomy, BackendPath, CopyRow


def derive_target(fold: TargetFold) -> Target:
    """The frozen view of one target."""
    epoch = fold.epoch
    book = epoch.book
    if fold.last_fact_at is not None:
        epoch.referee.settle(fold.last_fact_at)
    cycle_evidence = _cycle_evidence(fold)
    totals = _totals(fold, cycle_evidence)
    target = Target(
        id=fold.id,
        url=fold.url,
        pid=fold.pid,
        kind=fold.kind,
        server=fold.server,
        server_detail=fold.server_detail,
        server_since=fold.server_since,
        last_fact_at=fold.last_fact_at,
        epoch=fold.number,
        restarts=tuple(fold.restarts),
        tier=_tier(fold),
        cycle_evidence=cycle_evidence,
        evidence=totals.evidence,
        rates=book.window.rates(),
        totals=totals,
        referee=epoch.referee.view(),
        poll=_poll(fold),
        cycles=tuple(book.cycles),
        stacks=fold.stacks,
        slots=epoch.slots.views(),
        requests=tuple(r.row() for r in book.requests.values()),
        sources=tuple(fold.sources.values()),
        config=fold.config(),
        props=fold.props,
        process=fold.process,
        usage=fold.usage,
        flags=fold.flags,
        models=dict(fold.models),
        log_said=dict(epoch.said),
    )
    return _with_turns(target, fold)


def _with_turns(target: Target, fold: TargetFold) -> Target:
    """The same with what a trace tells, or what is estimated of it from the rest."""
    traced, config = fold.epoch.traced, target.config
    shapes = _shapes(fold, config, target.totals)
    copies = copy_rows(traced.copies, shapes)
    return replace(
        target,
        by_method=traced.by_method(),
        anatomy=_anatomy(fold, target.rates, config),
        copies=copies,
        backend_path=_path(fold, config, copies, shapes),
        stalls=stalls_of(traced.bursts, traced.tracing),
        trace=_trace(traced.tracing),
    )


def _trace(tracing: TraceStarted | None) -> TraceView | None:
    if tracing is None:
        return None
    return TraceView(tracing.mode, tuple(tracing.missing), tracing.burst_s, tracing.burst_every_s, tracing.asynchronous)


def _anatomy(fold: TargetFold, rates: Rates, config: Config) -> Anatomy | None:
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
    device = on_device(fold.flags, epoch.said)
    decoding = epoch.book.window.without_pause(rates)
    return estimate(rates, epoch.statistics, fold.usage, decoding=decoding, device=device)


def _shapes(fold: TargetFold, config: Config, totals: Totals) -> Shapes:
    told = fold.props.total_slots if fold.props is not None else None
    return shapes_of(
        fold.models,
        config,
        slots=told or len(fold.epoch.slots.slots) or None,
        width_seen=totals.width_max,
        ubatch=fold.flags.ubatch if fold.flags is not None else None,
    )


def _path(fold: TargetFold, config: Config, copies: tuple[CopyRow, ...], shapes: Shapes) -> BackendPath:
    traced = fold.epoch.traced
    if copies and turns_in(traced.copies) >= MIN_TURNS:
        tracing = traced.tracing
        return traced_path(copies, shapes, config, asynchronous=tracing.asynchronous if tracing is not None else None)
    return estimated_path(config, fold.flags, fold.epoch.said)


def _tier(fold: TargetFold) -> Tier:
    best = max((TIERS.index(s.tier) for s in fold.sources.values() if s.state == "attached"), default=0)
    return TIERS[best]


def _is_polled(fold: TargetFold) -> bool:
    book = fold.epoch.book
    return bool(book.polled_cycles) and any(w < 0 for w, _ in book.tally.joint)


def _cycle_evidence(fold: TargetFold) -> Evidence:
    """How the cycles are known. Lines are exact only while they equal a count of the server's own."""
    book, referee = fold.epoch.book, fold.epoch.referee
    if not book.tally.joint:
        return "unknown"
    if _is_polled(fold):
        return "parted" if referee.saw_too_much() else "polled"
    if referee.parted or (referee.count is not None and not referee.count.agrees):
        return "parted"
    confirmed = referee.count is not None or referee.checked > 0
    return "exact" if confirmed and not referee.missed else "unconfirmed"


def _totals(fold: TargetFold, cycle_evidence: Evidence) -> Totals:
    tally, referee = fold.epoch.book.tally, fold.epoch.referee
    if cycle_evidence in ("exact", "unconfirmed", "parted") and not _is_polled(fold):
        return _captured(tally, cycle_evidence)
    if referee.count is not None and (referee.count.cycles or cycle_evidence == "polled"):
        return _counted(referee, tally)
    if _is_polled(fold):
        return _captured(tally, cycle_evidence)
    return _plain(tally, referee) if tally.plain_steps else Totals()


def _plain(tally: Tally, referee: RefereeBook) -> Totals:
    """A server that does not draft: every step gains one token."""
    counted = referee.generated()
    return Totals(
        evidence="polled" if counted is None else "counted",
        plain_steps=tally.plain_steps if counted is None else counted,
        generated=tally.tokens if counted is None else counted,
        tau=tally.tokens / tally.steps,
    )


def _captured(tally: Tally, evidence: Evidence) -> Totals:
    drafted, cycles = tally.drafted, tally.cycles
    return Totals(
        evidence=evidence,
        cycles=cycles,
        drafted=drafted,
        accepted=tally.accepted,
        plain_steps=tally.plain_steps,
        generated=tally.tokens,
        tau=tally.tokens / tally.steps if tally.steps else None,
        tau_draft=tally.tau_draft(),
        acceptance=tally.accepted / drafted if drafted else None,
        width_mean=drafted / cycles if drafted is not None and cycles else None,
        width_max=tally.width_max,
        histogram=tuple(tally.histogram()),
        survival=tuple(tally.survival()),
        joint=tuple((w, a, n) for (w, a), n in sorted(tally.joint.items())),
    )


def _counted(referee: RefereeBook, tally: Tally) -> Totals:
    """Totals from the counters' increase; the histogram stays that of the polled cycles."""
    count = referee.count
    if count is None:
        return Totals()
    generated = referee.generated()
    steps = generated - count.accepted if generated is not None else None
    return Totals(
        evidence="counted",
        cycles=count.cycles,
        drafted=count.drafted,
        accepted=count.accepted,
        plain_steps=max(0, steps - count.cycles) if steps is not None else None,
        generated=generated,
        tau=generated / steps if generated is not None and steps else None,
        tau_draft=1 + count.accepted / count.cycles if count.cycles else None,
        acceptance=count.accepted / count.drafted if count.drafted else None,
        width_mean=count.drafted / count.cycles if count.cycles else None,
        histogram=tuple(tally.histogram()) if count.cycles else (),
        survival=tuple(PositionRate(share, None) for share in referee.per_position()),
    )


def _poll(fold: TargetFold) -> PollView:
    epoch = fold.epoch
    expected = epoch.referee.steps_expected()
    count = epoch.referee.count
    seen = epoch.book.polled_cycles
    return PollView(
        per_step=epoch.polls / epoch.poll_steps if epoch.poll_steps else None,
        completeness=min(1.0, count.captured_cycles / expected) if count and expected and seen else None,
        merged=epoch.book.merged,
    )
