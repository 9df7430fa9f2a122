"""The last requests, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.session.tiers import SEEN_BY_NAMES
from specscope.views.figures import MARKS, UNKNOWN, clock, decimal, milliseconds, percent, whole
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.table import TableColumn, fitting, heading, row

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.request_state import RequestRow
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line


class Requests(Panel):
    """A row per request."""

    CALM_S: ClassVar[float] = 0.6

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """Headings and as many requests as fit."""
        columns = fitting(COLUMNS, width)
        requests = frame.target.requests if frame.target is not None else ()
        rows: list[Line | Strip] = [heading("requests", columns, ink, width)]
        rows += [row(request, columns, ink, width) for request in reversed(requests[-(height - 1) :])]
        if not requests:
            rows.append(ink.line().add(" none seen yet", ink.muted))
        return rows


def _start(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    return f" {clock(r.started_at)}{'' if r.whole else ' *'}", ink.muted


def _slot(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    return str(r.slot), ink.slot(r.slot)


def _task(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    return (UNKNOWN if r.task is None else str(r.task)), ink.text


def _prompt(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    """A running request's prompt is not known before some of it was seen."""
    unseen = r.ended_at is None and not r.prompt_tokens
    return (UNKNOWN if unseen else whole(r.prompt_tokens)), ink.text


def _cached(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    return whole(r.cached_tokens), ink.muted


def _generated(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    return whole(r.generated), ink.text


def _ttft(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    """While a request runs only its slot tells when it had a token; the log's own figure comes at its end."""
    estimated = r.ended_at is None and r.ttft_ms is not None
    return milliseconds(r.ttft_ms) + (MARKS["estimated"] if estimated else ""), ink.text


def _speed(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    return decimal(r.tok_s), ink.strong


def _tau(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    return decimal(r.tau, 2), ink.strong


def _acceptance(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    return (percent(r.accepted / r.drafted) if r.drafted and r.accepted is not None else UNKNOWN), ink.text


def _stop(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    if r.ended_at is None:
        return "running", ink.good
    return r.stop or "ended", (ink.warn if r.stop in ("lost", "cancelled") else ink.muted)


def _agrees(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    if r.agrees is None:
        return ("not compared" if r.ended_at is not None else ""), ink.muted
    return ("= server", ink.good) if r.agrees else ("≠ SERVER", ink.bad)


def _seen_by(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    return (UNKNOWN if r.seen_by is None else SEEN_BY_NAMES[r.seen_by]), ink.muted


def _label(r: RequestRow, ink: Ink) -> tuple[str, Style]:
    return r.label or "", ink.text


COLUMNS: Final[tuple[TableColumn[RequestRow], ...]] = (
    TableColumn("started", 11, _start, left=True),
    TableColumn("slot", 4, _slot),
    TableColumn("task", 7, _task, rank=2),
    TableColumn("prompt", 8, _prompt),
    TableColumn("cached", 8, _cached, rank=4),
    TableColumn("generated", 9, _generated),
    TableColumn("ttft", 8, _ttft, rank=1),
    TableColumn("tok/s", 7, _speed),
    TableColumn("tau", 6, _tau),
    TableColumn("acceptance", 10, _acceptance),
    TableColumn("stop", 9, _stop, left=True),
    TableColumn("totals", 12, _agrees, rank=1, left=True),
    TableColumn("evidence", 9, _seen_by, rank=5, left=True),
    TableColumn("mark", 8, _label, rank=3, left=True),
)
