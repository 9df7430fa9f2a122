"""Prompts, apart from decoding: how fast, how much of them cached, and what the drafter takes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.views.figures import MARKS, UNKNOWN, milliseconds, percent, whole
from specscope.views.gain_keys import prefill_key
from specscope.views.widgets.flow import flow, rows_of_cells
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.session.economics.state import Prefill
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

LEAST_ROWS: Final = 2


class PrefillPanel(Panel):
    """A title and a row or two of figures. Absent before a prompt was seen to its end."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The prompts."""
        return prefill_key(frame)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The figures that are known, in rows as they fit."""
        told = frame.target.prefill if frame.target is not None else None
        if told is None:
            return []
        title = ink.rule("prefill", width, f"prompts of {whole(told.requests)} requests that have ended")
        phrases = [ink.line().add(label, ink.muted).add(text, ink.text) for label, text in _phrases(told)]
        return [title, *flow(phrases, ink, width)[: height - 1]]


def rows_wanted(frame: Frame, width: int) -> int:
    """How many rows show everything; 0: nothing is known."""
    told = frame.target.prefill if frame.target is not None else None
    if told is None:
        return 0
    return 1 + rows_of_cells([len(label) + len(text) for label, text in _phrases(told)], width)


def _phrases(told: Prefill) -> list[tuple[str, str]]:
    """(what, its figure) of everything that is known."""
    counted, worked_out = MARKS["counted"], MARKS["estimated"]
    phrases: list[tuple[str, str]] = []
    if told.tokens is not None:
        phrases.append(("computed ", f"{whole(told.tokens)} tokens{counted}"))
    if told.cached_tokens is not None:
        share = f" ({percent(told.cache_share)} of all)" if told.cache_share is not None else ""
        phrases.append(("from the cache ", f"{whole(told.cached_tokens)}{counted}{share}"))
    if told.tok_s is not None:
        phrases.append(("", f"{told.tok_s:,.0f} tok/s{counted}"))
    if told.ttft_ms is not None:
        p95 = f" ({milliseconds(told.ttft_p95_ms)})" if told.ttft_p95_ms is not None else ""
        phrases.append(("first token (95 % within) ", milliseconds(told.ttft_ms) + p95))
    if told.drafter_ms is not None:
        share = f", {percent(told.drafter_share, 0)} of it" if told.drafter_share is not None else ""
        phrases.append(("drafter ", f"{milliseconds(told.drafter_ms)} of a prompt{worked_out}{share}"))
        if told.pays_back_tokens is not None:
            phrases.append(("paid back by ", f"{told.pays_back_tokens:,.0f} generated tokens{worked_out}"))
        phrases.append(("by ", told.basis))
    elif told.basis:
        phrases.append(("drafter ", f"{UNKNOWN} ({told.basis})"))
    return phrases
