"""The headings of the Cycles screen, and which cycles are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.tiers import COUNT_NAMES
from specscope.views.figures import percent, whole
from specscope.views.widgets.cycle_rows import ACCEPTED, REJECTED, cycle_heading
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line


ROWS: Final = 2
"""What is shown, and the headings."""


class CycleHeads(Panel):
    """Two rows: what is shown, and the headings."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = (0, 0, "", True)

    def say(self, shown: int, kept: int, condition: str, *, following: bool) -> None:
        """Say how many of the kept cycles are shown, why, and whether the newest are followed."""
        self._shown = (shown, kept, condition, following)

    def watched(self, frame: Frame) -> object:
        """Also what :meth:`say` told."""
        return frame, self._shown

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The two rows, and between them what each drafting method did where there are several."""
        shown, kept, condition, following = self._shown
        target = frame.target
        total = target.totals.cycles if target is not None else None
        known = f" ({COUNT_NAMES[target.totals.evidence]})" if target is not None else ""
        line = ink.line().add(f" last {whole(kept)} of {whole(total)} cycles{known}", ink.text)
        if condition:
            line.add(f"  filter: {condition}  ", ink.warn).add(f"{whole(shown)} match, esc shows all", ink.text)
        if not following:
            line.add("  ", ink.text).add(" SCROLLED BACK ", ink.badge).add(" end: follow", ink.muted)
        legend = ink.line()
        for character, word, style in ((ACCEPTED, "accepted", ink.accepted), (REJECTED, "rejected", ink.muted)):
            legend.add(character, style).add(f" {word} ", ink.muted)
        if line.cells + legend.cells + 1 <= width:
            line.fill(width - legend.cells, " ", ink.text).append(legend)
        methods = [] if target is None or height < ROWS + 1 else [_methods(target, ink, width)]
        return [line, *methods, cycle_heading(ink, width)]


def rows_wanted(target: Target | None) -> int:
    """Two rows, and one more where cycles were drafted by several methods."""
    return ROWS + (target is not None and len(target.by_method) > 1)


def _methods(target: Target, ink: Ink, width: int) -> Line:
    """What each method drafted: its cycles, and how many of its draft tokens were accepted, where there is room."""
    for long in (True, False):
        line = ink.line().add(" by method", ink.muted)
        for row in target.by_method:
            line.add(f"   {row.name.removeprefix('draft-')} ", ink.strong).add(
                f"{whole(row.cycles)} cycles, ", ink.text
            )
            line.add(f"{whole(row.accepted)} of {whole(row.drafted)} accepted, " if long else "", ink.text)
            line.add(percent(row.acceptance), ink.text)
        if line.cells <= width:
            break
    return line
