"""Where the Python that hosts the server spends its time, by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.views.figures import span, whole
from specscope.views.widgets.bars import level_bar
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.events import StacksSampled
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

BAR_CELLS: Final = 10
OLD_S: Final = 10.0
"""Samples older than this are told with their age."""


class Stacks(Panel):
    """A row per frame: its share of the samples, as a bar and in percent."""

    def watched(self, frame: Frame) -> object:
        """The samples, and their age where they are old."""
        stacks = frame.target.stacks if frame.target is not None else None
        return stacks, _age(stacks, frame.now)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title, and as many frames as fit."""
        stacks = frame.target.stacks if frame.target is not None else None
        if stacks is None:
            return []
        said = f"{whole(stacks.samples)} samples in {stacks.span_s:.1f} s{_age(stacks, frame.now)}"
        more = len(stacks.frames) - (height - 1)
        said += f", {more} more not shown" if more > 0 else ""
        rows: list[Line | Strip] = [ink.rule("Python stacks", width, said)]
        for name, count in stacks.frames[: height - 1]:
            share = count / stacks.samples if stacks.samples else 0.0
            line = ink.line().add(" ", ink.text)
            level_bar(line, share, BAR_CELLS, ink.accepted, ink.faint)
            rows.append(line.right(f"{100 * share:.0f} % ", 7, ink.strong).add(name, ink.text))
        return rows


def _age(stacks: StacksSampled | None, now: float) -> str:
    return f", {span(now - stacks.at)} ago" if stacks is not None and now - stacks.at >= OLD_S else ""
