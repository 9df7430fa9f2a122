"""Speed and tau by KV depth: what a long context costs each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from specscope.session.economics.words import of_slots
from specscope.views.figures import MARKS, decimal, whole
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.table import TableColumn, headed, heading, row, snug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.depth import DepthRow
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

BAR_CELLS: Final = 16


class _Row(NamedTuple):
    """One depth, its step's time beside the longest, and how it is known."""

    depth: DepthRow
    share: float
    mark: str


class Depth(Panel):
    """A row per depth, shallowest first."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The depths."""
        target = frame.target
        return None if target is None else (target.by_depth, target.cycle_evidence, len(target.slots))

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """Headings and the rows; where not all fit, the shallowest and the deepest."""
        target = frame.target
        depths = target.by_depth if target is not None else ()
        if target is None or not depths:
            return []
        evidence = target.cycle_evidence if target.cycle_evidence != "unknown" else "polled"
        most = max(step_ms(depth) for depth in depths)
        room = max(2, height - 1)
        shown = depths if len(depths) <= room else (depths[0], *depths[1 - room :])
        columns = snug(headed(COLUMNS, "tok/s", of_slots(len(target.slots))), width)
        name = "speed by KV depth"
        rows = [_Row(depth, step_ms(depth) / most, MARKS[evidence]) for depth in shown]
        return [heading(name, columns, ink, width), *(row(r, columns, ink, width) for r in rows)]


def step_ms(depth: DepthRow) -> float:
    """Time of one step of one slot."""
    return 1000 * depth.tau / depth.tok_s


def rows_wanted(depths: Sequence[DepthRow]) -> int:
    """How many rows show everything."""
    return 1 + len(depths)


def _depth(r: _Row, ink: Ink) -> tuple[str, Style]:
    return f" {whole(r.depth.tokens)} to {whole(r.depth.to_tokens)}", ink.text


def _steps(r: _Row, ink: Ink) -> tuple[str, Style]:
    return whole(r.depth.steps), ink.muted


def _ms(r: _Row, ink: Ink) -> tuple[str, Style]:
    return f"{decimal(step_ms(r.depth), 1)}{r.mark}", ink.text


def _tau(r: _Row, ink: Ink) -> tuple[str, Style]:
    return f"{decimal(r.depth.tau, 2)}{r.mark}", ink.text


def _speed(r: _Row, ink: Ink) -> tuple[str, Style]:
    return f"{decimal(r.depth.tok_s)}{r.mark}", ink.strong


def _bar(r: _Row, ink: Ink) -> tuple[str, Style]:
    return "█" * max(1, round(r.share * BAR_CELLS)), ink.accepted


COLUMNS: Final[tuple[TableColumn[_Row], ...]] = (
    TableColumn("depth in tokens", 20, _depth, left=True),
    TableColumn("steps", 8, _steps, rank=1),
    TableColumn("ms/step", 9, _ms),
    TableColumn("tau", 7, _tau),
    TableColumn("tok/s", 8, _speed),
    TableColumn("ms/step as a bar", BAR_CELLS, _bar, rank=2, left=True),
)
