"""Speed by draft width: what today's gives, what another would, and what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.session.economics.words import is_figure, next_run, speed, width_name
from specscope.views.figures import MARKS
from specscope.views.gain_keys import economics_key
from specscope.views.gain_words import points_shown, speed_words, thinned
from specscope.views.widgets.bars import LEAST_PITCH, Column, column_chart
from specscope.views.widgets.flow import flow
from specscope.views.widgets.line import wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.session.economics.state import Economics, WidthPoint
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

LEAST_ROWS: Final = 6
"""A title, numbers, two rows of bars, labels, and what is best."""

ADVICE_FROM: Final = 8
"""From so many rows on, what to try is said here too, in at most two rows; it stands in the verdict anyhow."""

TITLE: Final = 18
"""Cells of the title around what it says."""

OFF_FITS: Final = 3.5
"""Cells from one column to the next where ``off`` can stand under one; else it is 0."""

HEADROOM: Final = 1.08
"""The chart ends a little above the highest figure; what may lie far beyond is open at the top."""


class Widths(Panel):
    """A column per draft width: solid to the lower end of its interval, faint to the upper one.

    Of a width that was not seen only the lower end is drawn, with ``?`` on it: a seen one near by would tell more.
    """

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The economics."""
        return economics_key(frame)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title, the columns, the figures that matter in words, and what to try next."""
        if frame.target is None or not charted(frame):
            return []
        economics = frame.target.economics
        foot = _foot(economics, ink, width, advice=height >= ADVICE_FROM)
        title = ink.rule("speed by width", width, _said(economics.slots, width))
        return [title, *chart(economics, ink, width - 1, height - 1 - len(foot)), *foot]


def charted(frame: Frame) -> int:
    """At how many widths anything is known of the speed, off included."""
    if frame.target is None:
        return 0
    return sum(p.tok_s is not None for p in frame.target.economics.curve)


def _said(slots: int, width: int) -> str:
    """What the columns are; with several slots at work, that it is of one of them is said at any width."""
    speeds, meaning = f"tok/s{MARKS['estimated']}", "█ at least ░ at most"
    forms = [f"{speeds} of one slot: {meaning} ? not seen", f"{speeds} of one slot: {meaning}"]
    if slots == 1:
        forms[1] = f"{speeds} {meaning} ? not seen"
    return next((form for form in forms if len(form) + TITLE <= width), forms[-1])


def chart(economics: Economics, ink: Ink, width: int, height: int) -> list[Line | Strip]:
    """The columns: today's label on a ground, the best one's bold. Without room for all, some widths are left out."""
    best, today = economics.best_n_max, economics.n_max
    marked = [today, best, 0, economics.try_next.n_max if economics.try_next is not None else None]
    points = thinned(points_shown(economics), max(1, width // LEAST_PITCH), marked)
    top = HEADROOM * max((_reach(p) for p in points), default=1.0)
    off = "off" if width >= OFF_FITS * len(points) else "0"
    styles = {0: ink.muted, best: ink.strong, today: ink.badge}
    columns = [
        Column(
            label=str(p.n_max or off),
            share=p.tok_s.low / top if p.tok_s is not None else 0.0,
            number=_number(p),
            ghost=p.tok_s.high / top if p.tok_s is not None and is_figure(p) else None,
            label_style=styles.get(p.n_max),
            open=not is_figure(p),
        )
        for p in points
    ]
    return column_chart(columns, ink, width, height)


def _number(point: WidthPoint) -> str:
    if point.tok_s is None or not is_figure(point):
        return ""
    return speed(point.tok_s.value).replace(",", "")


def _reach(point: WidthPoint) -> float:
    """What the chart must show of a point: a figure to its upper end, of a mere interval the sure part."""
    if point.tok_s is None:
        return 0.0
    return point.tok_s.high if is_figure(point) else point.tok_s.low


def _foot(economics: Economics, ink: Ink, width: int, *, advice: bool) -> list[Line]:
    """Today's, the best and off in words, with intervals where there is room; then the run that would tell more."""
    for intervals in (True, False):
        rows = flow(_phrases(economics, ink, intervals=intervals), ink, width)
        if len(rows) == 1:
            break
    if economics.try_next is None or not advice:
        return rows[:1]
    what, _ = next_run(economics.try_next)
    texts = wrapped(f"try {what}: {economics.try_next.why}", max(1, width - 2), 2)
    return [*rows[:1], *(ink.line().add(f" {text}", ink.muted) for text in texts)]


def _phrases(economics: Economics, ink: Ink, *, intervals: bool) -> list[Line]:
    points, best = {p.n_max: p for p in economics.curve}, economics.best_n_max
    now, other, off = points.get(economics.n_max or 0), points.get(best or 0), points.get(0)
    phrases = [] if now is None else [_phrase(f"today {now.n_max} ", now, ink, intervals=intervals)]
    if best is None:
        phrases.append(ink.line().add("best not known", ink.muted))
    elif phrases and best == economics.n_max:
        phrases[0].add(" best" if economics.sure else " seems best", ink.good)
    elif other is not None and economics.gain_pct is not None:
        phrase = _phrase(f"best {width_name(best)} ", other, ink, intervals=intervals)
        phrases.append(phrase.add(f" {economics.gain_pct.value:+.0f} %", ink.warn))
    else:
        phrases.append(ink.line().add(f"best {width_name(best)}", ink.warn))
    if off is not None and best != 0:
        phrases.append(_phrase("off ", off, ink, intervals=intervals))
    return phrases


def _phrase(label: str, point: WidthPoint, ink: Ink, *, intervals: bool) -> Line:
    return ink.line().add(label, ink.muted).add(speed_words(point, intervals=intervals), ink.text)
