"""What speculation gains and which width is best, in words: each half with its mark and its basis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.economics.words import evidence_of, is_figure, next_run, speed, told_of
from specscope.views.figures import MARKS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from specscope.session.economics.state import WidthPoint
    from specscope.session.economics.words import Told
    from specscope.session.state import Evidence, Target
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

GAP: Final = "   "


def gains(target: Target, ink: Ink, width: int) -> list[Line]:
    """The row in the longest form that fits; no row where nothing can be judged: a server that does not draft."""
    told = told_of(target)
    if not told:
        return []
    for form, advised in ((0, True), (0, False), (1, False), (2, False)):
        line = _row(told, target, ink, form, advised=advised)
        if line.cells <= width:
            return [line]
    return [_row(told[:1], target, ink, 2, advised=False)]


def _row(told: list[Told], target: Target, ink: Ink, form: int, *, advised: bool) -> Line:
    line, run = ink.line(), target.economics.try_next
    for number, half in enumerate(told):
        line.add(GAP if number else " ", ink.text)
        half_row(line, half, evidence_of(target), ink, form)
    return line.add(f"{GAP}how: {next_run(run)[1]}", ink.muted) if advised and run is not None else line


def half_row(line: Line, told: Told, evidence: Evidence, ink: Ink, form: int = 0) -> Line:
    """``4.7x plain decode~ (17.98 tok/s recorded)``: what is said, its mark, its basis.

    Args:
        line: to write on.
        told: what is said.
        evidence: how a figure in it is known.
        ink: to write with.
        form: 0 is the longest; of one that has not so many, the shortest.
    """
    said, basis = told.forms[min(form, len(told.forms) - 1)]
    line.add(said, ink.warn if told.loud else ink.strong if told.verdict else ink.muted)
    if told.verdict:
        line.add(MARKS[evidence], ink.evidence(evidence))
    return line.add(f" ({basis})" if basis else "", ink.muted)


def speed_words(point: WidthPoint, *, intervals: bool = True) -> str:
    """``495 (465 to 525)``; of a width that was not seen only the interval."""
    if point.tok_s is None:
        return "not known"
    low, high = speed(point.tok_s.low), speed(point.tok_s.high)
    if not is_figure(point):
        return f"{low} to {high}"
    return f"{speed(point.tok_s.value)} ({low} to {high})" if intervals else speed(point.tok_s.value)


def thinned(points: Sequence[WidthPoint], most: int, keep: Collection[int | None]) -> list[WidthPoint]:
    """At most so many points in their order, evenly; those to keep are always among them."""
    if len(points) <= most:
        return list(points)
    others = [p for p in points if p.n_max not in keep]
    room = max(0, most - (len(points) - len(others)))
    chosen = {others[round(i * (len(others) - 1) / max(1, room - 1))].n_max for i in range(min(room, len(others)))}
    return [p for p in points if p.n_max in chosen or p.n_max in keep]
