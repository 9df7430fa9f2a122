"""The economics of one server, put together from its cycles, its trace, its devices and recorded runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, hypot, log
from typing import TYPE_CHECKING, Final

from specscope.session.economics.acceptance import LEAST_CYCLES, Acceptance, clustering
from specscope.session.economics.advisor import Advisor
from specscope.session.economics.cost_book import UNSEEN
from specscope.session.economics.cost_model import CostCurve, Strata, mean_cost, plain_points, seen_costs, stratum
from specscope.session.economics.plain import bandwidth_floor, best_plain, plain_requests
from specscope.session.economics.prefill import paid_back, prefill
from specscope.session.economics.regimes import RegimeBook
from specscope.session.economics.state import Drafting, Economics, RecordedRun, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.economics.advisor import Advice
    from specscope.session.economics.state import CostPoint, DraftedBy, PlainPoint, PlainTime, Prefill, Regime
    from specscope.session.state import RequestRow, Target
    from specscope.session.target_fold import TargetFold

BLOCK_DRAFTERS: Final = frozenset({"draft-dflash", "draft-dspark"})
"""Methods that draft a whole trained block in one pass (llama.cpp common/speculative.cpp, b11434)."""

ONE_PASS_EACH: Final = ("draft-simple", "draft-mtp", "draft-eagle3")
"""Methods that pay a forward of the drafter for each drafted token (llama.cpp common/speculative.cpp, b11434)."""


@dataclass(eq=False)
class EconomicsDeriver:
    """Makes the views. What rests on ended requests is told anew only when one of them has changed.

    Attributes:
        runs: recorded runs that a command was given, best first.
    """

    runs: tuple[RecordedRun, ...] = ()
    regimes: RegimeBook = field(default_factory=RegimeBook)
    _ended: tuple[RequestRow, ...] = ()
    _beside: tuple[object, ...] = ()
    _plain: tuple[PlainPoint, ...] = ()
    _regimes: tuple[float | None, tuple[Regime, ...]] = (None, ())
    _prefill: Prefill | None = None

    def view(self, target: Target, fold: TargetFold) -> Target:
        """The target with its economics, regimes and prefill."""
        book = fold.epoch.book
        ended = [r for r in book.requests.values() if r.ended_at is not None]
        rows = tuple(row for row in target.requests if row.ended_at is not None)
        drafts = bool(book.tally.joint)
        beside = (drafts, self.runs, tuple([r.fill_base for r in ended]))
        changed = rows != self._ended or beside != self._beside
        if changed:
            self._plain = plain_requests(ended)
        economics = _Deriver(target, fold, self.runs, self._plain).economics()
        plain_ms = economics.plain.ms if economics.plain is not None else None
        if changed or plain_ms != self._regimes[0]:
            self._regimes = (plain_ms, self.regimes.view(ended, book.dropped, plain_ms))
        if changed:
            self._prefill = prefill(ended, self.runs, drafts=drafts)
        self._ended, self._beside = rows, beside
        return replace(
            target,
            economics=economics,
            regimes=self._regimes[1],
            prefill=None if self._prefill is None else paid_back(self._prefill, economics),
        )


def recorded_run(target: Target, name: str) -> RecordedRun:
    """What another run can be compared with, taken from a recording's last state."""
    economics, drafts = target.economics, bool(target.totals.cycles)
    return RecordedRun(
        name=name,
        plain=economics.plain_points,
        costs=tuple(p for p in economics.costs if p.how == "seen"),
        depth=economics.depth,
        slots=economics.slots,
        joint=target.totals.joint,
        prefill_tok_s=target.prefill.tok_s if target.prefill is not None else None,
        prompt_tokens=_mean_prompt(target),
        drafts=drafts,
    )


def _mean_prompt(target: Target) -> float | None:
    told = [r.prompt_tokens for r in target.requests if r.prompt_tokens is not None and r.whole]
    return sum(told) / len(told) if told else None


class _Deriver:
    """One look at everything."""

    def __init__(
        self, target: Target, fold: TargetFold, runs: Sequence[RecordedRun], by_request: tuple[PlainPoint, ...]
    ) -> None:
        self.target, self.fold, self.runs, self.by_request = target, fold, runs, by_request
        self.book = fold.epoch.book
        self.costs = self.book.costs
        self.assumes: list[str] = []

    def economics(self) -> Economics:
        """The figures, as far as there is evidence for them."""
        joint, cells = dict(self.book.tally.joint), self.costs.cells
        n_max = self.book.width_limit
        seen_widths = any(w > 0 for w, _ in joint)
        if not seen_widths and n_max is not None and joint:
            self.assumes.append(f"draft widths are not seen by polling: taken as {n_max}, the limit in force")
            joint = {(n_max, min(a, n_max)): n for (_, a), n in joint.items()}
            cells = {k._replace(width=n_max) if k.width == UNSEEN else k: cell for k, cell in cells.items()}
        by_request = self.by_request
        by_step = plain_points(cells, 1)
        if len(by_step) > len(by_request) > 0:
            by_request = ()  # long requests go through several depths, which only their steps tell apart
        strata = stratum(cells, self.costs.depth)
        if strata is None:
            strata = Strata(1, by_request[0].depth if by_request else None, None, leaks=False, fits=())
            if not by_request:
                return Economics(collecting="no timed step was seen yet", floor_ms=self._floor(None))
        self._say_depth(strata)
        acceptance = self._acceptance(joint)
        drafting = self._drafting(acceptance.today)
        known = [p for run in self.runs if run.slots == strata.slots for p in run.costs]
        points = seen_costs(strata, known)
        plain = best_plain(strata, by_request, self.runs, points, drafting)
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
        )
        if not acceptance.cycles:
            missing = "" if plain is not None else "no draft cycle was seen yet"
            return _bounded(replace(partial, assumes=tuple(self.assumes), collecting=missing))
        return _bounded(self._judged(partial, acceptance, strata))

    def _say_depth(self, strata: Strata) -> None:
        if strata.depth is None:
            self.assumes.append("KV depth is not seen: steps are compared as if at one depth")
        elif strata.leaks:
            self.assumes.append("no width is seen at two depths: what depth costs is not taken out")

    def _acceptance(self, joint: dict[tuple[int, int], int]) -> Acceptance:
        wider = {(w, a): n for run in self.runs for w, a, n in run.joint}
        together = clustering(self.costs.accepted.mean())
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

    def _judged(self, partial: Economics, acceptance: Acceptance, strata: Strata) -> Economics:
        plain = partial.plain
        cycle_ms, today = mean_cost(strata, acceptance.by_width()), acceptance.tau(acceptance.today)
        if cycle_ms is None or today is None or acceptance.cycles < LEAST_CYCLES:
            need = f"{acceptance.cycles} of {LEAST_CYCLES} cycles for a verdict"
            if acceptance.cycles >= LEAST_CYCLES:
                need = "no cycle's own time is seen: plain steps lie between cycles, or a prompt"
            return replace(partial, cycle_ms=cycle_ms, assumes=tuple(self.assumes), collecting=need)
        least = None
        if plain is not None and plain.how in ("this run", "recorded"):
            least = (plain.ms, plain.low)
        curve = CostCurve(partial.costs, least)
        advice = Advisor(
            acceptance, curve, plain, acceptance.today, self._limit(acceptance), self._plain_share()
        ).advise()
        return self._verdict(replace(partial, cycle_ms=cycle_ms), acceptance, advice)

    def _verdict(self, partial: Economics, acceptance: Acceptance, advice: Advice) -> Economics:
        plain, cycle_ms = partial.plain, partial.cycle_ms
        share = self._plain_share()
        mean = acceptance.mean()
        off = acceptance.log_ratio_error(0, acceptance.today)
        tau = Span(mean, mean * exp(-off), mean * exp(off))
        speedup = break_even = at_least = None
        if plain is not None and cycle_ms is not None:
            speedup, break_even = _speedup(tau, cycle_ms, plain, share)
        if cycle_ms is not None and partial.floor_ms is not None:
            at_least = mean * partial.floor_ms / cycle_ms.value
        return replace(
            partial,
            tau=tau,
            speedup=speedup,
            break_even_tau=break_even,
            speedup_at_least=at_least,
            curve=advice.curve,
            best_n_max=advice.best,
            gain_pct=advice.gain_pct,
            sure=advice.sure,
            hidden=advice.hidden,
            try_next=advice.try_next,
            basis=_basis(partial),
            assumes=tuple(self.assumes),
        )

    def _plain_share(self) -> float:
        plain, cycles = self.costs.plain_steps, self.book.tally.cycles
        return plain / (plain + cycles) if cycles else 0.0

    def _limit(self, acceptance: Acceptance) -> int:
        """The widest draft that could be asked for: the trained block's; of other methods, twice today's is judged."""
        config, types = self.target.config, self.target.config.types or ()
        widest = max(acceptance.width, acceptance.today)
        if config.drafter_limit is not None:
            return max(widest, config.drafter_limit)
        if BLOCK_DRAFTERS.intersection(types):
            return widest
        return max(widest, 2 * acceptance.today) if types else widest

    def _drafting(self, width: int) -> Drafting | None:
        types = self.target.config.types or ()
        if not types:
            return None
        kinds: set[DraftedBy] = {_by(name) for name in types}
        by: DraftedBy = "unknown" if len(kinds) > 1 else next(iter(kinds))
        anatomy = self.target.anatomy
        if anatomy is None or anatomy.parts.draft_ms is None:
            return Drafting(by)
        ms, whole = anatomy.parts.draft_ms + (anatomy.parts.features_ms or 0.0), anatomy.parts.whole_ms
        return Drafting(by, ms, width or None, ms / whole if whole else None, anatomy.basis)

    def _floor(self, depth: float | None) -> float | None:
        model = self.target.models.get("target")
        experts = model is None or any(model.layer_expert_bytes)
        return bandwidth_floor(self.target.memory, self.target.gpus, depth, experts=experts)


def _by(method: str) -> DraftedBy:
    if method in BLOCK_DRAFTERS:
        return "block"
    if method.startswith("ngram"):
        return "table"
    return "token" if method in ONE_PASS_EACH else "unknown"


def _bounded(economics: Economics) -> Economics:
    """With the share of the bandwidth bound in plain decode time."""
    floor, plain = economics.floor_ms, economics.plain
    return economics if floor is None or plain is None else replace(economics, bound_share=floor / plain.ms)


def _speedup(tau: Span, cycle: Span, plain: PlainTime, plain_share: float) -> tuple[Span, Span]:
    """(speedup, break-even tau of a cycle), with plain steps in between where not every step had a draft."""
    step_ms = (1 - plain_share) * cycle.value + plain_share * plain.ms
    tokens = (1 - plain_share) * tau.value + plain_share
    value = tokens * plain.ms / step_ms
    dear, cheap = log(cycle.high / cycle.value), log(cycle.value / max(cycle.low, 1e-9))
    down, up = log(plain.ms / max(plain.low, 1e-9)), log(plain.high / plain.ms)
    low, high = hypot(log(tau.value / tau.low), dear, down), hypot(log(tau.high / tau.value), cheap, up)
    even = cycle.value / plain.ms
    return (
        Span(value, value * exp(-low), value * exp(high)),
        Span(even, even * exp(-hypot(cheap, up)), even * exp(hypot(dear, down))),
    )


def _basis(economics: Economics) -> str:
    seen = [p for p in economics.costs if p.how == "seen"]
    words = [f"{economics.cycles:,} cycles, time seen at {_listed(seen)}"]
    recorded = [p for p in economics.costs if p.how == "recorded"]
    if recorded:
        words.append(f"recorded at {_listed(recorded)}")
    if economics.plain is not None:
        words.append(f"plain: {economics.plain.basis}")
    if economics.depth is not None:
        words.append(f"at {economics.depth:,.0f} resident tokens")
    if economics.slots > 1:
        words.append(f"{economics.slots} slots at once")
    return "; ".join(words)


def _listed(points: Sequence[CostPoint]) -> str:
    if len(points) == 1:
        return f"width {points[0].width}"
    return f"{len(points)} widths, {points[0].width} to {points[-1].width}" if points else "no width"
