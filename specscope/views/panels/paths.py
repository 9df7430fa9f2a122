"""Where tokens are chosen and what says so, and how all of this is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.views.figures import MARKS, UNKNOWN
from specscope.views.trace_keys import path_key
from specscope.views.trace_words import missing_phrase, trace_phrase
from specscope.views.widgets.line import wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

WHY_AT: Final = 25
"""The column of what says so."""
WHY_ROWS: Final = 3


class Paths(Panel):
    """A row for the drafter, one for the target, and one for the trace where there is one."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The paths and the trace."""
        target = frame.target
        return None if target is None else (path_key(target.backend_path), _traced(target, 10**6))

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title and the rows; what says so goes on below where it is too long for one."""
        target = frame.target
        if target is None:
            return []
        path = target.backend_path
        sign = MARKS[path.evidence]
        rows: list[Line | Strip] = [ink.rule("where tokens are chosen", width)]
        for what, where, why in (
            ("draft selection", path.draft, path.draft_why),
            ("target sampling", path.target, path.target_why),
        ):
            known = where != "unknown"
            line = ink.line().add(" ", ink.text).left(what, 16, ink.muted)
            line.add(where if known else UNKNOWN, ink.strong if known else ink.muted)
            line.add(sign if known else "", ink.evidence(path.evidence))
            said = _broken(why or ("" if known else "nothing said so yet"), width)
            rows += _hanging(line, said, ink.text if known else ink.muted, ink)
        line = ink.line().add(" ", ink.text).left("traced", 16, ink.muted)
        rows += _hanging(line, _traced(target, width), ink.text, ink) if target.trace is not None else []
        return rows[:height]


def rows_wanted(target: Target, width: int) -> int:
    """How many rows show everything."""
    path = target.backend_path
    said = [_broken(path.draft_why, width), _broken(path.target_why, width)]
    return 1 + sum(len(rows) or 1 for rows in said) + len(_traced(target, width))


def _traced(target: Target, width: int) -> list[str]:
    if target.trace is None:
        return []
    missing = missing_phrase(target.trace)
    return _broken(trace_phrase(target.trace) + (f"; {missing}" if missing else ""), width)


def _broken(text: str, width: int) -> list[str]:
    return wrapped(text, max(1, width - WHY_AT - 1), WHY_ROWS) if text else []


def _hanging(line: Line, texts: list[str], style: Style, ink: Ink) -> list[Line]:
    """A row that goes on below itself."""
    lines = [line, *(ink.line() for _ in texts[1:])]
    for row, text in zip(lines, texts, strict=False):
        row.fill(WHY_AT, " ", ink.text).add(text, style)
    return lines
