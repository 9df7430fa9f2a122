"""How long the accepted parts are: the share of cycles for each accepted length."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from specscope.views.figures import MARKS, whole
from specscope.views.widgets.bars import Column, column_chart
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line


class Lengths(Panel):
    """A column per accepted length, none first."""

    CALM_S: ClassVar[float] = 0.6

    def watched(self, frame: Frame) -> object:
        """The histogram."""
        target = frame.target
        return None if target is None else (target.totals.histogram, target.cycle_evidence)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title and the columns, the highest as high as there is room."""
        target = frame.target
        histogram = target.totals.histogram if target is not None else ()
        cycles = sum(histogram)
        if target is None or not cycles:
            return [ink.rule("accepted length", width, "no cycle seen yet")]
        said = f"% of {whole(cycles)} cycles accepting n {MARKS[target.cycle_evidence]}"
        most = max(histogram)
        columns = [
            Column(label=str(length), share=count / most, number=_number(count / cycles))
            for length, count in enumerate(histogram)
        ]
        return [ink.rule("accepted length", width, said), *column_chart(columns, ink, width - 1, height - 1)]


def _number(share: float) -> str:
    """Percent without its sign; something too rare for a whole percent is not a zero."""
    if not share:
        return "0"
    return "<1" if share < 0.005 else f"{100 * share:.0f}"  # noqa: PLR2004  half a percent rounds down to none
