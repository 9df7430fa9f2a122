"""The headings of the Cycles screen, and which cycles are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from specscope.session.tiers import COUNT_NAMES
from specscope.views.figures import percent, whole
from specscope.views.widgets.cycle_rows import ACCEPTED, REJECTED, cycle_heading
from specscope.views.widgets.line import shorten, wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line


ROWS: Final = 2
"""What is shown, and the headings."""
PROBLEM_ROWS: Final = 3
BACK: Final = " SCROLLED BACK "
FOLLOW: Final = " end: follow"
RID: Final = ", esc shows all"


class CycleHeads(Panel):
    """Two rows: what is shown, and the headings."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = (0, 0, "", "", True)

    def say(self, shown: int, kept: int, condition: str, problem: str, *, following: bool) -> None:
        """Say how many of the kept cycles are shown, why, what was no filter, and whether the newest are followed."""
        self._shown = (shown, kept, condition, problem, following)

    def watched(self, frame: Frame) -> object:
        """Also what :meth:`say` told."""
        return frame, self._shown

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The two rows, and between them what each drafting method did, and why what was typed is no filter."""
        target, problem, following = frame.target, self._shown[3], self._shown[4]
        back = 0 if following else cell_len(f"  {BACK}{FOLLOW}")
        line = self._which(target, ink, width - back)
        if not following:
            line.add("  ", ink.text).add(BACK, ink.badge).add(FOLLOW, ink.muted)
        legend = ink.line()
        for character, word, style in ((ACCEPTED, "accepted", ink.accepted), (REJECTED, "rejected", ink.muted)):
            legend.add(character, style).add(f" {word} ", ink.muted)
        if line.cells + legend.cells + 1 <= width:
            line.fill(width - legend.cells, " ", ink.text).append(legend)
        told = [ink.line().add(f" {text}", ink.warn) for text in _wrapped(problem, width)]
        methods = [] if target is None or height < ROWS + len(told) + 1 else [_methods(target, ink, width)]
        return [line, *told, *methods, cycle_heading(ink, width)]

    def _which(self, target: Target | None, ink: Ink, room: int) -> Line:
        """Which cycles are shown; of a filter so much as there is room for, and always how to be rid of it."""
        shown, kept, condition, _, _ = self._shown
        if not condition:
            total = target.totals.cycles if target is not None else None
            known = f" ({COUNT_NAMES[target.totals.evidence]})" if target is not None else ""
            return ink.line().add(f" last {whole(kept)} of {whole(total)} cycles{known}", ink.text)
        line = ink.line().add(f" {whole(shown)} of the last {whole(kept)} cycles match ", ink.text)
        return line.add(shorten(condition, room - line.cells - cell_len(RID)), ink.warn).add(RID, ink.text)


def rows_wanted(target: Target | None, problem: str, width: int) -> int:
    """Two rows, one more where cycles were drafted by several methods, and those that tell what was no filter."""
    return ROWS + (target is not None and len(target.by_method) > 1) + len(_wrapped(problem, width))


def _wrapped(problem: str, width: int) -> list[str]:
    return wrapped(problem, max(1, width - 2), PROBLEM_ROWS) if problem else []


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
