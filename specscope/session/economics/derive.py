"""The economics of one server, put together from its cycles, its trace, its devices and recorded runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp
from typing import TYPE_CHECKING, NamedTuple

from specscope.session.calm import Calm
from specscope.session.economics.acceptance import LEAST_CYCLES, Acceptance, clustering
from specscope.session.economics.advisor import Advisor
from specscope.session.economics.cost_book import taken_as
from specscope.session.economics.cost_model import (
    CostCurve,
    mean_cost,
    plain_points,
    seen_costs,
    with_recorded,
)
from specscope.session.economics.depth_gain import gains_by_depth
from specscope.session.economics.draft_pass import DraftPass, at_own_limit, drafting_span, rebuilding
from specscope.session.economics.drafted_by import drafted_by, drafting_of, feeds, stops, widest_draft
from specscope.session.economics.method_book import TABLE
from specscope.session.economics.method_rows import MethodTeller
from specscope.session.economics.methods import all_cycles, known_methods
from specscope.session.economics.plain import bandwidth_floor, best_plain, plain_requests
from specscope.session.economics.prefill import paid_back, prefill
from specscope.session.economics.regimes import RegimeBook
from specscope.session.economics.state import Economics, Span
from specscope.session.economics.strata import Strata, stratum
from specscope.session.economics.untimed import BETWEEN, why_untimed
from specscope.session.economics.verdict import basis_of, bounded, speedup_of
from specscope.session.placement import on_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.economics.advisor import Advice
    from specscope.session.economics.method_book import MethodCount
    from specscope.session.economics.method_state import MethodRow
    from specscope.session.economics.methods import Known
    from specscope.session.economics.state import CostPoint, DepthGain, PlainPoint, Prefill, RecordedRun, Regime
    from specscope.session.request_state import RequestRow
    from specscope.session.state import Target
    from specscope.session.target_fold import TargetFold


class _Told(NamedTuple):
    """The fields of a target that are told here, by their names."""

    economics: Economics
    by_method: tuple[MethodRow, ...]
    regimes: tuple[Regime, ...]
    prefill: Prefill | None


@dataclass(eq=False)
class EconomicsDeriver:
    """Makes the views. What rests on ended requests is told anew only when one of them has changed.

    Attributes:
        runs: recorded runs that a command was given, best first.
    """

    runs: tuple[RecordedRun, ...] = ()
    regimes: RegimeBook = field(default_factory=RegimeBook)
    _calm: Calm[_Told] = field(default_factory=Calm["_Told"])
    _ended: tuple[RequestRow, ...] = ()
    _beside: tuple[object, ...] = ()
    _plain: tuple[PlainPoint, ...] = ()
    _regimes: tuple[float | None, tuple[Regime, ...]] = (None, ())
    _prefill: Prefill | None = None

    def view(self, target: Target, fold: TargetFold, calm_at: float | None = None) -> Target:
        """The target with its economics, regimes and prefill; ``calm_at``: see Calm.made."""
        told = self._calm.made(lambda: self._tell(target, fold), (fold.epoch, self.runs), calm_at)
        return replace(target, **told._asdict())

    def _tell(self, target: Target, fold: TargetFold) -> _Told:
        book = fold.epoch.book
        ended = [r for r in book.requests.values() if r.ended_at is not None]
        rows = tuple(row for row in target.requests if row.ended_at is not None)
        drafts = bool(book.tally.joint)
        beside = (drafts, self.runs, tuple([r.fill_base for r in ended]))
        changed = rows != self._ended or beside != self._beside
        if changed:
            self._plain = plain_requests(ended)
        deriver = _Deriver(target, fold, self.runs, self._plain)
        economics = deriver.economics()
        plain_ms = economics.plain.ms if economics.plain is not None else None
        if changed or plain_ms != self._regimes[0]:
            self._regimes = (plain_ms, self.regimes.view(ended, book.dropped, plain_ms))
        if changed:
            self._prefill = prefill(ended, self.runs, drafts=drafts)
        self._ended, self._beside = rows, beside
        return _Told(
            economics=economics,
            by_method=deriver.by_method(economics),
            regimes=self._regimes[1],
            prefill=None if self._prefill is None else paid_back(self._prefill, economics),
        )


class _Deriver:
    """One look at everything."""

    def __init__(
        self, target: Target, fold: TargetFold, runs: Sequence[RecordedRun], by_request: tuple[PlainPoint, ...]
    ) -> None:
        self.target, self.fold, self.runs, self.by_request = target, fold, runs, by_request
        self.book = fold.epoch.book
        self.costs = self.book.costs
        self.assumes: list[str] = []
        self.known: list[Known] = []
        self.drafter: MethodCount | None = None

    def economics(self) -> Economics:
        """The figures, as far as there is evidence for them."""
        joint, cells, captured = dict(self.book.tally.joint), self.costs.cells, self.costs.captured
        n_max = self.book.width_limit
        seen_widths = any(w > 0 for w, _ in joint)
        if not seen_widths and n_max is not None and joint:
            self.assumes.append(f"draft widths are not seen by polling: taken as {n_max}, the limit in force")
            joint = {(n_max, min(a, n_max)): n for (_, a), n in joint.items()}
            cells, captured = taken_as(n_max, cells), taken_as(n_max, captured)
        by_request = self.by_request
        by_step = plain_points(cells, 1)
        if len(by_step) > len(by_request) > 0:
            by_request = ()  # long requests go through several depths, which only their steps tell apart
        strata = stratum(cells, self.costs.depth, captured)
        self._methods(strata)
        if self.drafter is not None:
            joint = dict(self.drafter.tally.joint)
        if strata is None:
            strata = Strata(1, by_request[0].depth if by_request else None, None, leaks=False, fits=())
            if not by_request:
                missing = why_untimed(self.book, seen_widths=seen_widths)
                return Economics(collecting=missing, floor_ms=self._floor(None))
        self._say_depth(strata)
        acceptance = self._acceptance(joint)
        drafting = drafting_of(self._drafters(), self.target.anatomy, self._draft_ms(), acceptance.today)
        known = [p for run in self.runs if run.slots == strata.slots for p in run.costs]
        seen = seen_costs(strata)
        draft_pass = self._pass(acceptance, strata, seen)
        points = with_recorded(self._at_own_limit(seen, acceptance, draft_pass), known)
        fed = feeds(self.target.config.types, drafts=seen_widths)
        line = () if draft_pass.by == "token" and draft_pass.ms is not None else seen
        plain = best_plain(strata, by_request, self.runs, line, drafting, fed=fed, rebuilt=draft_pass.rebuilt)
        partial = Economics(
            n_max=acceptance.today or None,
            slots=strata.slots,
            depth=strata.depth,
            cycles=acceptance.cycles,
            outliers=sum(cell.times.dropped for cell in cells.values()),
            costs=points,
            plain=plain,
            plain_points=by_request or plain_points(cells, strata.slots),
            floor_ms=self._floor(strata.depth),
            drafting=drafting,
            kernel_step=on_device(self.fold.flags, self.fold.epoch.said, self.fold.usage) is not False,
        )
        if not acceptance.cycles:
            missing = "" if plain is not None else "no draft cycle was seen yet"
            return bounded(replace(partial, assumes=tuple(self.assumes), collecting=missing))
        return bounded(self._judged(partial, acceptance, strata, draft_pass if acceptance.chosen else None))

    def _methods(self, strata: Strata | None) -> None:
        """What the methods did; of a drafter behind tables the widths and lengths are told alone."""
        types = self.target.config.types or ()
        at = (1, None) if strata is None else (strata.slots, strata.depth)
        self.known = known_methods(self.fold.epoch.traced.methods, types, *at)
        if self.fold.epoch.traced.times.drafter_alone:
            counts = [m.count for m in self.known if not m.count.table]
            self.drafter = max(counts, key=lambda count: count.tally.cycles, default=None)
        if self.drafter is not None:
            self.assumes.append("the draft width is asked of the drafter: its cycles alone tell of it")

    def by_method(self, economics: Economics) -> tuple[MethodRow, ...]:
        """What each method gains, beside these figures of the server."""
        target, types = self.target, self.target.config.types or ()
        if len(self.known) == 1 and self.known[0].cycle_ms is None:
            self.known = [replace(self.known[0], cycle_ms=economics.cycle_ms)]
        sums, evidence = self.fold.epoch.statistics.sums(), target.cycle_evidence
        return MethodTeller(self.known, types, sums, evidence, economics, self.costs.plain_steps, target.anatomy).rows()

    def _say_depth(self, strata: Strata) -> None:
        if strata.depth is None:
            self.assumes.append("KV depth is not seen: steps are compared as if at one depth")
        elif strata.leaks:
            self.assumes.append("no width is seen at two depths: what depth costs is not taken out")

    def _acceptance(self, joint: dict[tuple[int, int], int]) -> Acceptance:
        wider = {(w, a): n for run in self.runs for w, a, n in run.joint}
        lengths = self.costs.accepted if self.drafter is None else self.drafter.lengths
        together = clustering(lengths.mean())
        made = Acceptance(joint, together, self.book.ended + len(self.book.current), wider)
        if made.width > made.today:
            self.assumes.append("positions beyond today's width are accepted as in the recorded run")
        if made.cycles:
            self.assumes.append(
                "narrow drafts are the drafter's own choice: a lower n_max cuts them, and changes nothing else"
                if made.chosen
                else "narrow drafts are those at the ends of requests, and are accepted as others are"
            )
        return made

    def _pass(self, acceptance: Acceptance, strata: Strata, seen: Sequence[CostPoint]) -> DraftPass:
        """What the drafter takes of the cycles seen; nothing where it drafts no wider than what is verified."""
        types = self._drafters()
        by, ms = drafted_by(types), drafting_span(self._draft_ms(), seen, strata)
        follows = by == "table" or stops(types) or (by == "token" and acceptance.chosen)
        models = self.target.models
        rebuilt = rebuilding(models.get("target"), models.get("drafter"))
        return DraftPass(by, acceptance.today, None if follows else ms, rebuilt)

    def _at_own_limit(
        self, seen: tuple[CostPoint, ...], acceptance: Acceptance, draft_pass: DraftPass
    ) -> tuple[CostPoint, ...]:
        if acceptance.chosen:
            return seen
        cut, why = at_own_limit(seen, draft_pass)
        self.assumes.extend(why)
        return cut

    def _judged(
        self, partial: Economics, acceptance: Acceptance, strata: Strata, draft_pass: DraftPass | None
    ) -> Economics:
        plain = partial.plain
        cycle_ms, today = mean_cost(strata, acceptance.by_width()), acceptance.tau(acceptance.today)
        if cycle_ms is None or today is None or acceptance.cycles < LEAST_CYCLES:
            need = f"{acceptance.cycles} of {LEAST_CYCLES} cycles for a verdict"
            if acceptance.cycles >= LEAST_CYCLES:
                need = BETWEEN
            return replace(partial, cycle_ms=cycle_ms, assumes=tuple(self.assumes), collecting=need)
        least = None
        if plain is not None and plain.how in ("this run", "recorded", "with drafter"):
            least = (plain.ms, plain.low)
        curve = CostCurve(partial.costs, least, draft_pass, kernel_step=partial.kernel_step)
        config, today_n = self.target.config, acceptance.today
        limit = widest_draft(config.types or (), config.drafter_limit, acceptance.width, today_n)
        advice = Advisor(acceptance, curve, plain, today_n, limit, self._plain_share(acceptance.cycles)).advise()
        timed = sum(f.n for f in (*strata.fits, *strata.captured) if f.width in acceptance.by_width())
        return self._verdict(replace(partial, cycle_ms=cycle_ms, timed=timed), acceptance, advice)

    def _verdict(self, partial: Economics, acceptance: Acceptance, advice: Advice) -> Economics:
        plain, cycle_ms = partial.plain, partial.cycle_ms
        mean = acceptance.mean()
        off = acceptance.log_ratio_error(0, acceptance.today)
        tau, cycles = Span(mean, mean * exp(-off), mean * exp(off)), acceptance.cycles
        if self.drafter is not None:  # what a cycle takes and yields is asked of all methods together
            every = all_cycles(self.known)
            cycles, cycle_ms = self.book.tally.cycles, every.ms if every is not None else None
            tau = every.tokens if every is not None else tau
        share = self._plain_share(cycles)
        speedup = break_even = at_least = None
        if plain is not None and cycle_ms is not None:
            speedup, break_even = speedup_of(tau, cycle_ms, plain, share)
        if cycle_ms is not None and partial.floor_ms is not None:
            at_least = mean * partial.floor_ms / cycle_ms.value
        return replace(
            partial,
            cycle_ms=cycle_ms,
            timed=partial.timed if self.drafter is None else None,
            tau=tau,
            speedup=speedup,
            break_even_tau=break_even,
            speedup_at_least=at_least,
            curve=advice.curve,
            best_n_max=advice.best,
            gain_pct=advice.gain_pct,
            sure=advice.sure,
            full=acceptance.full(),
            hidden=advice.hidden,
            by_depth=self._by_depth(partial, acceptance, share),
            try_next=advice.try_next,
            tau_at_most=advice.tau_at_most,
            speedup_at_most=advice.tau_at_most if self.drafter is None else None,
            basis=basis_of(partial),
            assumes=tuple(self.assumes),
        )

    def _by_depth(self, partial: Economics, acceptance: Acceptance, plain_share: float) -> tuple[DepthGain, ...]:
        fed = feeds(self.target.config.types, drafts=True)
        recorded = (run.plain for run in self.runs if run.plain and run.slots == partial.slots)
        plain = next(recorded, ()) if fed else partial.plain_points
        rows, cells, slots = self.target.by_depth, self.costs.cells, partial.slots
        return gains_by_depth(rows, cells, plain, acceptance, slots=slots, plain_share=plain_share)

    def _plain_share(self, cycles: int) -> float:
        """Of the steps, those without a draft, beside so many cycles."""
        plain = self.costs.plain_steps
        return plain / (plain + cycles) if cycles else 0.0

    def _drafters(self) -> tuple[str, ...]:
        """The methods whose drafts are told: all, or the drafter behind tables alone."""
        types = self.target.config.types or ()
        return types if self.drafter is None else tuple(t for t in types if not t.startswith(TABLE))

    def _draft_ms(self) -> float | None:
        """Milliseconds in which a draft is made, by the trace or the log's statistics."""
        anatomy = self.target.anatomy
        if self.drafter is not None and self.drafter.drafts:
            return self.drafter.draft_us / 1000 / self.drafter.drafts
        return anatomy.parts.draft_ms if anatomy is not None else None

    def _floor(self, depth: float | None) -> float | None:
        model = self.target.models.get("target")
        experts = model is None or any(model.layer_expert_bytes)
        return bandwidth_floor(self.target.memory, self.target.gpus, depth, experts=experts)
