"""Requests by kind: what the user marked, or how predictable they are; so that one average never hides two machines.

Absent where all requests are of one kind, unless the user has named it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from specscope.session.economics.words import factor, kinds, of_slots
from specscope.views.figures import MARKS, UNKNOWN, decimal, percent, whole
from specscope.views.gain_keys import regimes_key
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.table import TableColumn, headed, heading, row, snug

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.economics.state import Regime
    from specscope.session.state import Evidence
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

LEAST_ROWS: Final = 3


class _Row(NamedTuple):
    regime: Regime
    mark: str


class Regimes(Panel):
    """A row per kind, all requests first."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The regimes."""
        target = frame.target
        return regimes_key(frame), target and (target.cycle_evidence, len(target.slots))

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """Headings and the rows; where not all fit, the whole and the kinds with most tokens."""
        target = frame.target
        shown = told(frame)
        if target is None or not shown:
            return []
        evidence: Evidence = target.cycle_evidence if target.cycle_evidence != "unknown" else "counted"
        room = max(1, height - 1)
        kept = sorted(shown, key=lambda r: (r.how != "all", -r.tokens))[:room]
        columns = snug(headed(COLUMNS, "tok/s", of_slots(len(target.slots))), width)
        rows = [row(_Row(r, MARKS[evidence]), columns, ink, width) for r in shown if r in kept]
        return [heading("regimes", columns, ink, width), *rows]


def told(frame: Frame) -> tuple[Regime, ...]:
    """The regimes that are shown: none where there is but one kind that nobody named."""
    shown = kinds(frame.target.regimes) if frame.target is not None else ()
    return () if len(shown) == 1 and shown[0].how == "all" else shown


def rows_wanted(frame: Frame) -> int:
    """How many rows show everything; 0: there is nothing to show."""
    shown = told(frame)
    return 1 + len(shown) if shown else 0


def _name(r: _Row, ink: Ink) -> tuple[str, Style]:
    return f" {r.regime.name}", ink.muted if r.regime.how == "all" else ink.strong


def _requests(r: _Row, ink: Ink) -> tuple[str, Style]:
    return whole(r.regime.requests), ink.text


def _tokens(r: _Row, ink: Ink) -> tuple[str, Style]:
    return percent(r.regime.share_tokens, 0), ink.text


def _time(r: _Row, ink: Ink) -> tuple[str, Style]:
    return percent(r.regime.share_time, 0), ink.text


def _tau(r: _Row, ink: Ink) -> tuple[str, Style]:
    error = f" ±{1.96 * r.regime.tau_se:.2f}" if r.regime.tau_se is not None else ""
    return f"{decimal(r.regime.tau, 2)}{r.mark}{error}", ink.strong


def _acceptance(r: _Row, ink: Ink) -> tuple[str, Style]:
    known = r.regime.acceptance is not None
    return percent(r.regime.acceptance) + (r.mark if known else ""), ink.text


def _speed(r: _Row, ink: Ink) -> tuple[str, Style]:
    known = r.regime.tok_s is not None
    return decimal(r.regime.tok_s) + (MARKS["counted"] if known else ""), ink.strong


def _speedup(r: _Row, ink: Ink) -> tuple[str, Style]:
    gained = r.regime.speedup
    if gained is None:
        return UNKNOWN, ink.muted
    return factor(gained) + MARKS["estimated"], ink.warn if gained < 1 else ink.text


def _drafted(r: _Row, ink: Ink) -> tuple[str, Style]:
    return percent(r.regime.drafted_share, 0), ink.muted


COLUMNS: Final[tuple[TableColumn[_Row], ...]] = (
    TableColumn("regime", 17, _name, left=True),
    TableColumn("requests", 8, _requests, rank=1),
    TableColumn("of tokens", 9, _tokens),
    TableColumn("of time", 7, _time),
    TableColumn("tau ±95 %", 13, _tau),
    TableColumn("acceptance", 11, _acceptance),
    TableColumn("tok/s", 8, _speed),
    TableColumn("speedup", 8, _speedup),
    TableColumn("steps drafted", 13, _drafted, rank=2),
)
