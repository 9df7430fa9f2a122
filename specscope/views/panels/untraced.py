"""Why nothing is traced, and what would lift it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.views.trace_words import untraced_words
from specscope.views.widgets.line import wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

MOST: Final = 3
"""Rows that the sentence may take."""


class Untraced(Panel):
    """One sentence."""

    def watched(self, frame: Frame) -> object:
        """The sentence."""
        return sentence(frame.target)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The sentence in as many rows as it takes."""
        texts = wrapped(sentence(frame.target), max(1, width - 2), min(height, MOST))
        return [ink.line().add(f" {text}", ink.strong) for text in texts]


def sentence(target: Target | None) -> str:
    """The sentence; empty while a trace tells turns."""
    if target is None:
        return "no server seen yet"
    why, lift = untraced_words(target)
    if not why:
        return "" if target.anatomy is not None else "traced: waiting for the first turn"
    shown = "; what is shown is " + _shown(target) if target.anatomy is not None else ""
    return f"{why}{f'; what lifts it: {lift}' if lift else ''}{shown}"


def _shown(target: Target) -> str:
    if target.anatomy is not None and target.anatomy.evidence == "estimated":
        return "an estimate"
    return "what was traced before"


def rows_wanted(target: Target | None, width: int) -> int:
    """How many rows the sentence takes."""
    said = sentence(target)
    return len(wrapped(said, max(1, width - 2), MOST)) if said else 0
