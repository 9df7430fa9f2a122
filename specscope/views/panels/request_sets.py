"""How requests differ in sampling: the ways they were sampled in, what each was worth, and the latest changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from specscope.session.provenance.values import written
from specscope.views.figures import clock, decimal, percent, whole
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.table import TableColumn, fitting, heading, row

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.provenance.state import Change, RequestDrift, RequestSet
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

NONE_SEEN: Final = "no request with known parameters seen yet; /slots shows them"


@dataclass(frozen=True, slots=True)
class _Row:
    found: RequestSet
    varying: tuple[str, ...]


class RequestSets(Panel):
    """A row per way of sampling, then the latest changes, newest first."""

    def watched(self, frame: Frame) -> object:
        """The requests' drift."""
        return frame.target.provenance.requests if frame.target is not None else None

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """One sentence where all are alike, else the ways and as many changes as fit."""
        drift = frame.target.provenance.requests if frame.target is not None else None
        if drift is None or not drift.requests:
            return [ink.rule("requests", width, NONE_SEEN)]
        if not drift.varying:
            return [ink.rule("requests", width, f"{_count(drift.requests, 'request')}, all sampled alike")]
        said = (
            f"{_count(drift.requests, 'request')} sampled in {len(drift.sets)} ways, {_count(drift.changed, 'change')}"
        )
        said += f", {whole(drift.unlisted)} in ways not listed" if drift.unlisted else ""
        columns = fitting(COLUMNS, width)
        rows: list[Line | Strip] = [ink.rule("requests", width, said), heading("seen", columns, ink, width)]
        sets = drift.sets[: max(1, (height - 2 + 1) // 2)] if drift.changes else drift.sets
        rows += [row(_Row(found, drift.varying), columns, ink, width) for found in sets]
        rows += [_change(change, ink) for change in reversed(drift.changes)]
        return rows[:height]


def rows_wanted(drift: RequestDrift | None) -> int:
    """How many rows show everything."""
    if drift is None or not drift.varying:
        return 1
    return 2 + len(drift.sets) + len(drift.changes)


def _count(number: int, word: str) -> str:
    return f"{whole(number)} {word}{'' if number == 1 else 's'}"


def _change(change: Change, ink: Ink) -> Line:
    line = ink.line().add(f" {clock(change.at)} slot {change.slot} task {change.task}  ", ink.muted)
    return line.add(", ".join(f"{n} {written(old)} to {written(new)}" for n, old, new in change.settings), ink.text)


def _requests(r: _Row, ink: Ink) -> tuple[str, Style]:
    return f" {whole(r.found.requests)}", ink.strong


def _tau(r: _Row, ink: Ink) -> tuple[str, Style]:
    return decimal(r.found.tau, 2), ink.text


def _speed(r: _Row, ink: Ink) -> tuple[str, Style]:
    return decimal(r.found.tok_s), ink.text


def _acceptance(r: _Row, ink: Ink) -> tuple[str, Style]:
    return percent(r.found.acceptance), ink.text


def _last(r: _Row, ink: Ink) -> tuple[str, Style]:
    return clock(r.found.last_at), ink.muted


def _kinds(r: _Row, ink: Ink) -> tuple[str, Style]:
    kinds = r.found.kinds
    return "; ".join(f"{n} {kind}" for kind, n in kinds) if len(kinds) > 1 else "".join(k for k, _ in kinds), ink.muted


def _values(r: _Row, ink: Ink) -> tuple[str, Style]:
    values = dict(r.found.values)
    return ", ".join(f"{name} {written(values.get(name))}" for name in r.varying), ink.text


COLUMNS: Final[tuple[TableColumn[_Row], ...]] = (
    TableColumn("seen", 7, _requests, left=True),
    TableColumn("tau", 5, _tau),
    TableColumn("tok/s", 7, _speed),
    TableColumn("acceptance", 10, _acceptance, rank=1),
    TableColumn("last", 8, _last, rank=3),
    TableColumn("asked as", 26, _kinds, rank=2, left=True),
    TableColumn("sampled with", 30, _values, left=True),
)
