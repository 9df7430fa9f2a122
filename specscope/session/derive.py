"""From the mutable fold to the frozen view: totals, rates, and how each is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.events import TIERS
from specscope.session.derive_turns import with_turns
from specscope.session.endpoint_off import endpoint_off, with_advice
from specscope.session.state import PollView, Target, Totals
from specscope.session.tally import PositionRate

if TYPE_CHECKING:
    from specscope.events import Tier
    from specscope.session.cycle_book import CycleBook
    from specscope.session.machine_fold import MachineFold
    from specscope.session.referee import RefereeBook
    from specscope.session.state import Evidence
    from specscope.session.tally import Tally
    from specscope.session.target_fold import TargetFold


def derive_target(fold: TargetFold, machine: MachineFold, calm_at: float | None = None) -> Target:
    """The frozen view of one target, and of the machine's devices that it uses.

    ``calm_at``: see Calm.made; None: all is made anew.
    """
    epoch = fold.epoch
    book = epoch.book
    if fold.last_fact_at is not None:
        epoch.referee.settle(fold.last_fact_at)
    cycle_evidence = _cycle_evidence(fold)
    totals = _totals(fold, cycle_evidence)
    rates, gpus, config = book.window.rates(), machine.uses(fold), fold.config()
    requests = tuple(r.row() for r in book.requests.values())
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
        resets=fold.resets,
        tier=_tier(fold),
        cycle_evidence=cycle_evidence,
        evidence=totals.evidence,
        rates=rates,
        totals=totals,
        referee=epoch.referee.view(metrics_off=bool(endpoint_off("metrics", fold.props, fold.sources.values()))),
        poll=_poll(fold),
        cycles=tuple(book.cycles),
        stacks=fold.stacks,
        slots=epoch.slots.views(),
        requests=requests,
        sources=with_advice(fold.sources.values(), fold.props, fold.process, fold.flags),
        config=config,
        props=fold.props,
        process=fold.process,
        usage=fold.usage,
        counters=epoch.referee.latest,
        flags=fold.flags,
        models=dict(fold.models),
        log_said=dict(epoch.said),
        log_heard=dict(epoch.heard),
        by_depth=book.depths.rows(),
        graphs=epoch.logs.graphs.view(),
        gpus=gpus,
        energy=machine.energy(fold, gpus, rates, totals),
        provenance=fold.provenance.view(fold, config, requests, calm_at),
        memory=fold.memory.view(fold, config, gpus, machine.growth(fold)),
    )
    return fold.economics.view(with_turns(target, fold), fold, calm_at)


def _tier(fold: TargetFold) -> Tier:
    best = max((TIERS.index(s.tier) for s in fold.sources.values() if s.state == "attached"), default=0)
    return TIERS[best]


def _is_polled(fold: TargetFold) -> bool:
    """Whether polling told cycles, or met steps beside those that others told, of which it could tell none."""
    book = fold.epoch.book
    joint = book.tally.joint
    return (book.tally.merged > 0 and bool(joint)) or (bool(book.polled_cycles) and any(w < 0 for w, _ in joint))


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
    by_log = _summed(fold.epoch.book)
    if by_log is not None:
        return by_log
    return _plain(tally, referee) if tally.plain_steps else Totals()


def _summed(book: CycleBook) -> Totals | None:
    """The log's own totals of its requests, added up, where it tells of drafts that nobody saw as cycles."""
    if not book.lacks_cycles():
        return None
    logged = [r.logged for r in book.requests.values() if r.logged is not None and r.logged.generated is not None]
    generated = sum(e.generated or 0 for e in logged)
    drafted, accepted = sum(e.drafted or 0 for e in logged), sum(e.accepted or 0 for e in logged)
    steps = sum(max(1, e.generated - (e.accepted or 0)) for e in logged if e.generated)
    return Totals(
        evidence="counted",
        drafted=drafted,
        accepted=accepted,
        generated=generated,
        tau=generated / steps if steps and generated else None,
        acceptance=accepted / drafted if drafted else None,
    )


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
        merged=epoch.book.tally.merged,
    )
