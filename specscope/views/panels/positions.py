"""How many cycles accept at least n draft tokens: where a wider draft stops paying."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from specscope.views.figures import MARKS
from specscope.views.widgets.bars import Column, column_chart
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from specscope.session.state import Evidence, Target
    from specscope.session.tally import PositionRate
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

PARTS_BY: Final = 0.005
"""The two rates are shown apart from half a percent of difference on."""

GHOST_TOLD: Final = 60
"""Narrower titles have no room for what the faint part of a column is."""


class Positions(Panel):
    """A column per draft position."""

    CALM_S: ClassVar[float] = 0.6

    def watched(self, frame: Frame) -> object:
        """The rates."""
        totals = frame.target.totals if frame.target is not None else None
        return None if totals is None else (totals.survival, totals.evidence, totals.histogram)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title and the columns; behind each, faintly, the rate among drafts that were wide enough."""
        target = frame.target
        rates, evidence = _rates(target) if target is not None else ((), "unknown")
        if not rates:
            return [ink.rule("position survival", width, "no cycle seen yet")]
        said = f"% of cycles accepting ≥n {MARKS[evidence]}"
        if width >= GHOST_TOLD and any(_parts(rate) for rate in rates):
            said += " ░ of drafts ≥n wide"
        columns = [
            Column(
                label=str(number),
                share=rate.share,
                number=f"{100 * rate.share:.0f}",
                ghost=rate.among_wide if _parts(rate) else None,
            )
            for number, rate in enumerate(rates, 1)
        ]
        return [ink.rule("position survival", width, said), *column_chart(columns, ink, width - 1, height - 1)]


class _Rate(NamedTuple):
    """As the session's rate of a position."""

    share: float
    among_wide: float | None


def _rates(target: Target) -> tuple[Sequence[PositionRate | _Rate], Evidence]:
    """The rates and how they are known; where the server tells none, from the lengths of the cycles seen."""
    totals = target.totals
    cycles = sum(totals.histogram)
    if totals.survival or not cycles:
        return totals.survival, totals.evidence
    at_least = [sum(totals.histogram[n:]) for n in range(1, len(totals.histogram))]
    return [_Rate(count / cycles, None) for count in at_least], target.cycle_evidence


def _parts(rate: PositionRate | _Rate) -> bool:
    return rate.among_wide is not None and abs(rate.among_wide - rate.share) >= PARTS_BY
