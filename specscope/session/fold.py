"""Facts in, state out: the only way the state changes, live and in replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from specscope import events as ev
from specscope.session.derive import derive_target
from specscope.session.machine_fold import MachineFold
from specscope.session.provenance.recommend import Advice
from specscope.session.state import OwnCost, Session
from specscope.session.target_fold import TargetFold

if TYPE_CHECKING:
    from collections.abc import Iterable


class Fold:
    """Takes facts in the order they were reported and shows the state as a frozen :class:`Session`.

    It is mutable inside, because copying the state for each of 100 facts a second would cost more than the
    facts themselves; nothing but :meth:`apply` and :meth:`reset` changes it.

    Args:
        advice: who recommends settings, beside the model files.
    """

    def __init__(self, advice: Advice | None = None) -> None:
        self._advice = advice if advice is not None else Advice()
        self.targets: dict[str, TargetFold] = {}
        self.machine = MachineFold()
        self._marks: list[tuple[float, str]] = []
        self._cost = OwnCost()
        self.started_at: float | None = None
        self._at = 0.0
        self._ended = False
        self._facts = 0

    def apply(self, event: ev.Event) -> None:
        """Fold one fact in."""
        self._facts += 1
        self._at = max(self._at, event.at)
        if self.started_at is None:
            self.started_at = event.at
        target = self.targets.get(event.target)
        if target is None:
            if event.target == ev.MACHINE:
                self.machine.apply(event, self.targets.values())
                return
            target = self.targets[event.target] = TargetFold(event.target, marks=self._marks)
            target.provenance.advice = self._advice
        if not (_cycle_fact(target, event) or _request_fact(target, event) or _trace_fact(target, event)):
            self._other_fact(target, event)
            _source_fact(target, event)

    def _other_fact(self, target: TargetFold, event: ev.Event) -> None:
        match event:
            case ev.OwnCostSampled():
                self._cost = OwnCost(event.cpu_pct, event.rss_bytes, event.requests_per_s)
            case ev.Marked():
                self._marks.append((event.at, event.label))
            case ev.WatchEnded():
                self._ended = True
            case _:
                target.last_fact_at = event.at

    def reset(self) -> None:
        """Start all counts anew, on the user's wish."""
        for target in self.targets.values():
            target.reset()
        self.machine.begin_anew()

    def view(self, now: float | None = None, *, calm: bool = False) -> Session:
        """The state at ``now`` (seconds since the epoch), or at the last fact.

        ``calm``: economics and provenance may be as old as a second, for one who looks again soon.
        """
        at = self._at if now is None else now
        calm_at = at if calm else None
        return Session(
            at=at,
            started_at=self.started_at if self.started_at is not None else at,
            targets=tuple(
                derive_target(t, self.machine, calm_at)
                for t in self.targets.values()
                if t.url or t.sources or t.last_fact_at
            ),
            marks=tuple(self._marks),
            own_cost=self._cost,
            machine=self.machine.view(),
            ended=self._ended,
            facts=self._facts,
        )


def folded(events: Iterable[ev.Event]) -> Fold:
    """A fold that has taken in all of these facts."""
    fold = Fold()
    for event in events:
        fold.apply(event)
    return fold


def _cycle_fact(target: TargetFold, event: ev.Event) -> bool:
    """The facts that come many times a second. Returns whether it was one."""
    epoch = target.epoch
    match event:
        case ev.CycleLogged():
            epoch.logs.cycle(event)
        case ev.SlotStepped():
            epoch.slots.stepped(event)
        case ev.CycleTraced():
            epoch.traced.cycle(event)
        case ev.TurnTraced():
            epoch.traced.turn(event)
        case ev.StreamStepped():
            epoch.streams.stepped(event)
        case _:
            return False
    target.last_fact_at = event.at
    return True


def _request_fact(target: TargetFold, event: ev.Event) -> bool:
    """How requests begin and end. Returns whether it was that."""
    match event:
        case ev.SlotChanged():
            target.slot_changed(event)
        case ev.RequestLaunched():
            target.epoch.logs.launched(event)
        case ev.RequestLogged():
            target.request_logged(event)
        case ev.SlotReleased():
            target.epoch.logs.released(event)
        case ev.StreamEnded():
            target.epoch.streams.ended(event)
        case _:
            return False
    target.last_fact_at = event.at
    return True


def _trace_fact(target: TargetFold, event: ev.Event) -> bool:
    """What else a trace tells. Returns whether it was that."""
    book = target.epoch.traced
    match event:
        case ev.RequestBegan():
            book.began(event)
        case ev.DraftDropped():
            book.dropped(event)
        case ev.TraceStarted():
            book.started(event)
        case ev.CopiesTraced():
            book.copies_traced(event)
        case ev.StallsSampled():
            book.stalls_sampled(event)
        case ev.StacksSampled():
            target.stacks = event
        case _:
            return False
    target.last_fact_at = event.at
    return True


def _source_fact(target: TargetFold, event: ev.Event) -> None:  # noqa: C901, PLR0912  one arm per kind of fact
    match event:
        case ev.TargetFound():
            target.found(event)
        case ev.SourceAttached():
            target.attached(event)
        case ev.SourceLost():
            target.lost(event)
        case ev.EventsMissed():
            target.missed(event)
        case ev.ServerChanged():
            target.server_changed(event)
        case ev.ServerStarted():
            target.server_started(event)
        case ev.PropsRead():
            target.props_read(event)
        case ev.PollSampled():
            target.polled(event)
        case ev.CountersRead():
            target.counters_read(event)
        case ev.LogSaid():
            target.log_said(event)
        case ev.ModelRead():
            target.model_read(event)
        case ev.ProcessSeen():
            target.process_seen(event)
        case ev.ProcessSampled():
            target.usage = event
        case ev.StatisticsLogged():
            target.epoch.statistics.logged(event)
        case ev.BufferLogged():
            target.buffer_logged(event)
        case ev.GpuFound() | ev.GpuSampled() | ev.GpuMemoryRead() | ev.GpuLinkRead() | ev.GpuLost():
            pass  # they are the machine's; about one server they say nothing
        case (
            ev.OwnCostSampled()
            | ev.Marked()
            | ev.WatchEnded()
            | ev.RequestProgressed()
            | ev.CycleLogged()
            | ev.SlotStepped()
            | ev.StreamStepped()
            | ev.SlotChanged()
            | ev.RequestLaunched()
            | ev.RequestLogged()
            | ev.SlotReleased()
            | ev.StreamEnded()
            | ev.CycleTraced()
            | ev.TurnTraced()
            | ev.RequestBegan()
            | ev.DraftDropped()
            | ev.TraceStarted()
            | ev.CopiesTraced()
            | ev.StallsSampled()
            | ev.StacksSampled()
        ):
            pass
        case _:
            assert_never(event)
