"""Each draft width in a row: speed, tokens per step, cost of a cycle, and how that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from specscope.session.economics.cost_model import KERNEL_ROWS
from specscope.session.economics.words import HOW, is_figure, of_slots, speed, width_name
from specscope.views.figures import MARKS, UNKNOWN, whole
from specscope.views.gain_keys import economics_key
from specscope.views.gain_words import points_shown, thinned
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.table import TableColumn, headed, heading, row, snug

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.economics.state import CostPoint, Economics, PlainTime, WidthPoint
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

LEAST_ROWS: Final = 4
_MARK: Final = MARKS["estimated"]


class _Row(NamedTuple):
    """A width: its point, the time of a cycle (off: of a plain step), how many were timed, and what it is."""

    point: WidthPoint
    cost: CostPoint | PlainTime | None
    timed: int
    name: str


class WidthTable(Panel):
    """A row per width, off first; where not all fit, today's, the best and those beside the kernels' step stay."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The economics."""
        return economics_key(frame)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """Headings and rows."""
        if frame.target is None or not frame.target.economics.curve:
            return []
        economics = frame.target.economics
        columns = snug(headed(COLUMNS, "tok/s", of_slots(economics.slots)), width)
        return [
            heading("n_max", columns, ink, width),
            *(row(r, columns, ink, width) for r in _rows(economics, height - 1)),
        ]


def rows_wanted(economics: Economics) -> int:
    """How many rows show every width."""
    return 1 + len(points_shown(economics))


def _rows(e: Economics, room: int) -> list[_Row]:
    costs = {p.width: p for p in e.costs}
    names = {0: "", e.n_max: "today", e.best_n_max: "best"}
    if e.best_n_max is not None and e.best_n_max == e.n_max:
        names[e.n_max] = "today, best" if e.sure else "today"
    if e.try_next is not None:
        names.setdefault(e.try_next.n_max, "try")
    points = thinned(points_shown(e), room, [e.n_max, e.best_n_max, *names, KERNEL_ROWS - 1, KERNEL_ROWS, *costs])
    rows: list[_Row] = []
    for point in points:
        name, cost = names.get(point.n_max, ""), costs.get(point.n_max)
        if point.n_max:
            rows.append(_Row(point, cost, cost.cycles if cost is not None else 0, name))
        else:
            rows.append(_Row(point, e.plain, e.plain.steps if e.plain is not None else 0, name))
    return rows


def _width(r: _Row, ink: Ink) -> tuple[str, Style]:
    known = r.name in ("today", "best", "today, best")
    beyond = " on" if r.point.tau is None else ""
    return f" {width_name(r.point.n_max) + beyond:<3} {r.name}", ink.strong if known else ink.text


def _speed(r: _Row, ink: Ink) -> tuple[str, Style]:
    point = r.point
    if point.tok_s is None or not is_figure(point):
        return UNKNOWN, ink.muted
    return speed(point.tok_s.value) + _MARK, ink.strong


def _speed_span(r: _Row, ink: Ink) -> tuple[str, Style]:
    speeds = r.point.tok_s
    return ("" if speeds is None else f"{speed(speeds.low)} to {speed(speeds.high)}"), ink.text


def _tau(r: _Row, ink: Ink) -> tuple[str, Style]:
    tau = r.point.tau
    return (UNKNOWN if tau is None else f"{tau.value:.2f}{_MARK if r.point.n_max else ''}"), ink.text


def _tau_span(r: _Row, ink: Ink) -> tuple[str, Style]:
    tau = r.point.tau
    return ("" if tau is None or not r.point.n_max else f"{tau.low:.2f} to {tau.high:.2f}"), ink.muted


def _ms(r: _Row, ink: Ink) -> tuple[str, Style]:
    return (UNKNOWN, ink.muted) if r.cost is None else (f"{r.cost.ms:.2f}", ink.text)


def _ms_span(r: _Row, ink: Ink) -> tuple[str, Style]:
    return ("" if r.cost is None else f"{r.cost.low:.2f} to {r.cost.high:.2f}"), ink.muted


def _cycles(r: _Row, ink: Ink) -> tuple[str, Style]:
    return whole(r.timed or None), ink.muted


def _how(r: _Row, ink: Ink) -> tuple[str, Style]:
    how = r.point.how
    return ("not known" if how is None else HOW[how]), ink.muted


COLUMNS: Final[tuple[TableColumn[_Row], ...]] = (
    TableColumn("n_max", 16, _width, left=True),
    TableColumn("tok/s", 7, _speed),
    TableColumn("95 %", 14, _speed_span),
    TableColumn("tau", 6, _tau),
    TableColumn("95 %", 14, _tau_span, rank=3),
    TableColumn("ms/step", 7, _ms),
    TableColumn("95 %", 15, _ms_span, rank=2),
    TableColumn("timed", 6, _cycles, rank=4),
    TableColumn("how known", 24, _how, rank=1, left=True),
)
