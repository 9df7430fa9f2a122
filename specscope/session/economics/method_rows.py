"""What each drafting method gains, beside what the server does without it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, hypot
from typing import TYPE_CHECKING

from specscope.session.economics.acceptance import Acceptance, clustering
from specscope.session.economics.advisor import CANNOT_PAY
from specscope.session.economics.method_state import MethodRow
from specscope.session.economics.methods import (
    FEW,
    LEAST_CYCLES,
    all_cycles,
    asked,
    cycles_of,
    mixed,
    plain_steps,
    spread_of,
)
from specscope.session.economics.state import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specscope.events import StatisticsLogged
    from specscope.session.economics.methods import Known, Steps
    from specscope.session.economics.state import Economics
    from specscope.session.state import Evidence
    from specscope.session.turn_state import Anatomy


@dataclass(frozen=True)
class MethodTeller:
    """Makes the rows.

    Attributes:
        known: the methods that a trace told of. types: those in force.
        statistics: the log's sums. evidence: of the traced cycles.
        economics: of the server, whose plain time, slots and depth count.
        plain_steps: of the server, as far as they are known.
        anatomy: of its turns, for what drafting takes of a single method.
    """

    known: Sequence[Known]
    types: Sequence[str]
    statistics: Mapping[str, StatisticsLogged]
    evidence: Evidence
    economics: Economics
    plain_steps: int
    anatomy: Anatomy | None

    def rows(self) -> tuple[MethodRow, ...]:
        """One for each method, in the order of asking; none where nothing tells methods apart."""
        if not self.known:
            return tuple(self._counted(name) for name in sorted(self.statistics, key=asked))
        seen = {method.name: self._seen(method) for method in self.known}
        for name in (*self.types, *self.statistics):
            if name not in seen and not any(name in other.split(" or ") for other in seen):
                seen[name] = self._beside(MethodRow(name, self.evidence, 0, 0, 0, collecting="it has drafted nothing"))
        return tuple(row for _, row in sorted(seen.items(), key=lambda item: asked(item[0])))

    def _counted(self, name: str) -> MethodRow:
        """By the statistics alone, which tell no cycle's time."""
        sums = self.statistics[name]
        row = MethodRow(
            name, "counted", sums.verified, sums.drafted, sums.accepted, collecting="a trace tells what its cycles take"
        )
        return self._beside(row)

    def _beside(self, row: MethodRow) -> MethodRow:
        """With what only the statistics tell."""
        sums = self.statistics.get(row.name)
        if sums is None:
            return row
        per_draft = sums.generate_ms / sums.drafts if sums.generate_ms is not None and sums.drafts else row.draft_ms
        return replace(row, calls=sums.calls, drafts=sums.drafts, draft_ms=per_draft)

    def _seen(self, method: Known) -> MethodRow:
        tally = method.count.tally
        row = MethodRow(
            name=method.name,
            evidence=self.evidence,
            cycles=tally.cycles,
            drafted=tally.drafted or 0,
            accepted=tally.accepted,
            tau=method.tau,
            draft_ms=self._draft_ms(method),
            cycle_ms=method.cycle_ms,
            gain_at_most_pct=_at_most_pct(method),
        )
        return self._beside(self._judged(row, method))

    def _draft_ms(self, method: Known) -> float | None:
        count, anatomy = method.count, self.anatomy
        if count.drafts:
            return count.draft_us / 1000 / count.drafts
        if len(self.known) > 1 or anatomy is None or anatomy.parts.draft_ms is None or not anatomy.turns:
            return None
        return anatomy.parts.draft_ms * anatomy.turns / anatomy.cycles if anatomy.cycles else None

    # --- what it gains ------------------------------------------------------------------------------------------

    def _judged(self, row: MethodRow, method: Known) -> MethodRow:
        """With what it gains, or what is missing to tell that."""
        own = cycles_of(method)
        if own is None:
            missing = f"{method.cycles} of {LEAST_CYCLES} cycles"
            return replace(row, collecting=missing if method.cycles < LEAST_CYCLES else "no cycle's own time is seen")
        row = replace(row, tok_s=own.tok_s())
        other = self._without(method)
        if isinstance(other, str):
            return replace(row, collecting=other)
        speed, slower = own.tok_s(), other.tok_s()
        gain = _gain(speed, slower)
        share = self._share(own)
        at = "" if self.economics.depth is None else f", at {self.economics.depth:,.0f} resident tokens"
        return replace(
            row,
            without_tok_s=slower,
            gain_pct=gain,
            share_time=share,
            server_gain_pct=None if share is None else Span(share * gain.value, share * gain.low, share * gain.high),
            basis=f"{own.name} against {other.name}{at}",
        )

    def _without(self, method: Known) -> Steps | str:
        """What the server does where this method finds nothing, or why that is not known.

        The methods that are asked after it, and plain steps, as they came. It is taken that they would do as well
        where this one drafted; on text that repeats they may do better.
        """
        after = [other for other in self.known if asked(other.name) > asked(method.name) and other.cycles]
        plain = plain_steps(self.plain_steps, self.economics.plain)
        told = [steps for other in after if (steps := cycles_of(other)) is not None]
        if plain is not None and (plain.number or not after):
            told.append(plain if after else plain._replace(number=max(1, plain.number)))
        steps = sum(other.cycles for other in after) + (self.plain_steps if after else 0)
        if told and sum(part.number for part in told) >= (1 - FEW) * steps:
            return mixed(told)
        lacking = [f"{o.cycles} of {LEAST_CYCLES} cycles of {o.name}" for o in after if o.cycles < LEAST_CYCLES]
        return lacking[0] if lacking and plain is not None else "plain decoding has not been measured"

    def _share(self, own: Steps) -> float | None:
        """Of the decoding time, that in its cycles."""
        cycles, plain = all_cycles(self.known), plain_steps(self.plain_steps, self.economics.plain)
        if cycles is None or (plain is None and self.plain_steps > FEW * cycles.number):
            return None
        whole = cycles.number * cycles.ms.value + (plain.number * plain.ms.value if plain is not None else 0.0)
        return min(1.0, own.number * own.ms.value / whole)


def _at_most_pct(method: Known) -> float | None:
    """Percent that it gains over plain decoding at most, where that is none: no cycle is shorter than a plain step."""
    lengths = Acceptance(method.count.tally.joint, clustering(method.count.lengths.mean()))
    most = lengths.at_most(lengths.width) if lengths.cycles else None
    return 100 * (most - 1) if most is not None and most < CANNOT_PAY else None


def _gain(speed: Span, slower: Span) -> Span:
    """Percent by which one is more than the other; they were measured apart."""
    (down, up), (off_down, off_up) = spread_of(speed), spread_of(slower)
    ratio = speed.value / slower.value
    low, high = ratio * exp(-hypot(down, off_up)), ratio * exp(hypot(up, off_down))
    return Span(100 * (ratio - 1), 100 * (low - 1), 100 * (high - 1))
