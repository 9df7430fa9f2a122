"""What speculation gains and which width is best, in words: each half with its mark and its basis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.economics.words import evidence_of, is_figure, next_run, speed, told_of
from specscope.views.figures import MARKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.economics.state import Economics, WidthPoint
    from specscope.session.economics.words import Told
    from specscope.session.state import Evidence, Target
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

GAP: Final = "   "
FORMS: Final = 3
"""Of each half, longest first; one that has fewer is the same in the last ones."""


def gain_rows(target: Target, width: int) -> list[list[tuple[Told, int]]]:
    """Both halves in one row, in the longest forms that fit, else a row for each; none where nothing can be judged.

    An interval is worth a row: without it nobody sees how sure a figure is.

    Returns:
        Rows of (what is told, which of its forms).
    """
    told = told_of(target)
    for form in range(FORMS):
        halves = [(half, 0 if half.interval else form) for half in told]
        if sum(len(GAP) + half_cells(*half) for half in halves) - len(GAP) + 1 <= width:
            return [halves] if halves else []
    return [[(half, next((f for f in range(FORMS) if half_cells(half, f) < width), FORMS - 1))] for half in told]


def gains(target: Target, ink: Ink, width: int) -> list[Line]:
    """The verdict, and at its end the command that tells how to learn more, where there is room."""
    lines: list[Line] = []
    for halves in gain_rows(target, width):
        lines.append(ink.line())
        for number, (half, form) in enumerate(halves):
            lines[-1].add(GAP if number else " ", ink.text)
            half_row(lines[-1], half, evidence_of(target), ink, form)
    run = target.economics.try_next
    how = f"{GAP}how: {next_run(run)[1]}" if run is not None and lines else ""
    if how and lines[-1].cells + len(how) <= width:
        lines[-1].add(how, ink.muted)
    return lines


def half_cells(told: Told, form: int) -> int:
    """How many cells a half takes."""
    said, basis = told.forms[min(form, len(told.forms) - 1)]
    return len(said) + told.verdict + (len(basis) + 3 if basis else 0)


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


def points_shown(economics: Economics) -> Sequence[WidthPoint]:
    """The curve as far as drafts were seen, and the first width beyond: of none of those that follow is more known."""
    beyond = next((i for i, p in enumerate(economics.curve) if p.tau is None), len(economics.curve))
    return economics.curve[: beyond + 1]


def thinned(points: Sequence[WidthPoint], most: int, keep: Sequence[int | None]) -> list[WidthPoint]:
    """At most so many points in their order: those to keep, the first of them first, and others evenly between."""
    if len(points) <= most:
        return list(points)
    there = {p.n_max for p in points}
    chosen = set([n for n in dict.fromkeys(keep) if n is not None and n in there][:most])
    others = [p.n_max for p in points if p.n_max not in chosen]
    room = most - len(chosen)
    chosen |= {others[round(i * (len(others) - 1) / max(1, room - 1))] for i in range(room)}
    return [p for p in points if p.n_max in chosen]
