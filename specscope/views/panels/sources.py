"""Where the facts come from, how each source fares, and what would lift it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.tiers import TIER_NAMES
from specscope.views.figures import span, whole
from specscope.views.trace_words import SOURCE as TRACING
from specscope.views.trace_words import missing_phrase, trace_phrase
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.session.state import SourceView
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line


class Sources(Panel):
    """A row per source."""

    def watched(self, frame: Frame) -> object:
        """The sources, and the age of those that are off."""
        sources = sources_of(frame)
        trace = frame.target.trace if frame.target is not None else None
        traced = None if trace is None else (trace_phrase(trace), trace.missing)
        return sources, _is_without_gpu(frame), traced, any(_is_off(s, frame) for s in sources) and int(frame.now)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title and the rows, those that are off first when not all fit."""
        sources = sources_of(frame)
        lost = sum(_is_off(s, frame) for s in sources)
        said = f"{len(sources)} known" + (f", {lost} off" if lost else "")
        shown = sorted(sources, key=lambda s: s.state != "lost")[: height - 1] if len(sources) > height - 1 else sources
        return [_heading(said, ink, width), *(_row(source, frame, ink, width) for source in shown)]


def sources_of(frame: Frame) -> tuple[SourceView, ...]:
    """The server's sources, and those of the machine's figures."""
    return (*(frame.target.sources if frame.target is not None else ()), *frame.session.machine.sources)


def _is_without_gpu(frame: Frame) -> bool:
    """Whether no device was ever found, so that the machine's source has not failed: there is nothing to read."""
    return not frame.session.machine.gpus


def _is_absent(source: SourceView, frame: Frame) -> bool:
    return source.state == "lost" and source in frame.session.machine.sources and _is_without_gpu(frame)


def _is_off(source: SourceView, frame: Frame) -> bool:
    return source.state == "lost" and not _is_absent(source, frame)


_STATE_AT: Final = 13
"""The column in which a row says what its source gives."""
_STATE_CELLS: Final = 12


def _heading(said: str, ink: Ink, width: int) -> Line:
    """The title, with a word over what the sources give."""
    line = ink.line().add("─ ", ink.faint).add("sources", ink.title).add(" ", ink.faint)
    line.fill(_STATE_AT - 1, "─", ink.faint).add(" gives ", ink.muted)
    line.fill(_STATE_AT + _STATE_CELLS, "─", ink.faint)
    return line.add(f" {said} ", ink.muted).fill(width, "─", ink.faint)


def _gives(source: SourceView, now: float) -> str:
    """The tier; a source that sees no step tells other things, and has not failed."""
    if source.state != "attached":
        return f"off {span(now - source.since)}"
    return "info" if source.tier == "none" else TIER_NAMES[source.tier]


def _row(source: SourceView, frame: Frame, ink: Ink, width: int) -> Line:
    attached = source.state == "attached"
    if _is_absent(source, frame):
        line = ink.line().add(" ○ ", ink.muted).left(source.name, 9, ink.text).add(" ", ink.text)
        line.left("none", _STATE_CELLS, ink.muted)
    else:
        line = ink.line().add(" ● " if attached else " ✖ ", ink.good if attached else ink.bad)
        line.left(source.name, 9, ink.text).add(" ", ink.text)
        line.left(_gives(source, frame.now), _STATE_CELLS, ink.text if attached else ink.bad)
    if source.missed:
        line.add(f" {whole(source.missed)} missed", ink.warn)
    trace = frame.target.trace if frame.target is not None and source.name == TRACING else None
    if trace is not None and attached:
        missing = missing_phrase(trace)
        told = trace_phrase(trace, source.detail)
        line.add(f" {told}", ink.muted).add(f"; {missing}" if missing not in told else "", ink.text)
    elif source.detail:
        line.add(f" {source.detail}", ink.muted)
    # Where a trace tells every cycle, the log has no more to give.
    hint = "" if source.name == "log" and frame.target is not None and frame.target.tier == "trace" else source.hint
    if hint and line.cells < width:
        line.add(f"  > {hint}", ink.text)
    return line
