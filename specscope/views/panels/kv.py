"""The KV cache: what a token takes, what is reserved and filled, and how full the context was at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.views.machine_keys import fill_key
from specscope.views.memory_words import context_words, reserved_words, unknown_words
from specscope.views.widgets.bars import level_bar
from specscope.views.widgets.flow import GAP, flow, rows_of_cells
from specscope.views.widgets.line import wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.memory.map_state import KvFill
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

BAR_LEAST, BAR_MOST = 10, 40
"""Cells of the bar beside its words; where they leave it less, it has a row of its own."""
NEARLY_FULL: Final = 0.9
WHY_ROWS: Final = 2
"""Rows that it may take to say why bytes for a token are not known."""


class Kv(Panel):
    """A title, a bar of the context with its figures, and what is reserved."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The cache and how full it is."""
        return None if frame.target is None else fill_key(frame.target.memory)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The context first."""
        if frame.target is None:
            return []
        kv = frame.target.memory.kv
        phrases = [ink.line().add(text, ink.text) for text in (context_words(kv), *reserved_words(kv))]
        cells = _bar_cells(kv, width)
        bar = [level_bar(ink.line(), _share(kv), cells, _style(kv, ink), ink.faint)] if cells else []
        rows = flow([*bar, *phrases], ink, width)
        rows += [ink.line().add(f" {text}", ink.muted) for text in _why(kv, width)]
        return [ink.rule("KV cache of all slots", width), *rows[: height - 1]]


def _why(kv: KvFill, width: int) -> list[str]:
    """Why bytes for a token are not known, in as many rows as that takes."""
    return wrapped(unknown_words(kv), max(1, width - 2), WHY_ROWS) if unknown_words(kv) else []


def _share(kv: KvFill) -> float:
    return min(1.0, (kv.fill_tokens or 0) / (kv.context_tokens or 1))


def _style(kv: KvFill, ink: Ink) -> Style:
    return ink.warn if _share(kv) >= NEARLY_FULL else ink.accepted


def _bar_cells(kv: KvFill, width: int) -> int:
    """Cells of the bar; none where the context or its fill is not known."""
    if kv.fill_tokens is None or not kv.context_tokens:
        return 0
    beside = width - 2 - GAP - len(context_words(kv))
    return min(BAR_MOST, beside) if beside >= BAR_LEAST else max(1, width - 2)


def is_told(kv: KvFill) -> bool:
    """Whether anything is known of it."""
    known = (kv.bytes_per_token, kv.reserved_bytes, kv.fill_tokens, kv.context_tokens)
    return any(figure is not None for figure in known)


def rows_wanted(kv: KvFill, width: int) -> int:
    """How many rows show everything."""
    bar = _bar_cells(kv, width)
    cells = [*([bar] if bar else []), *map(len, (context_words(kv), *reserved_words(kv)))]
    return 1 + rows_of_cells(cells, width) + len(_why(kv, width))
