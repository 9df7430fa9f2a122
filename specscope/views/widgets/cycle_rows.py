"""The list of cycles: only the visible rows are written, and each only once."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from specscope.session.tiers import SEEN_BY_NAMES
from specscope.views.figures import UNKNOWN, clock, decimal, whole
from specscope.views.widgets.table import TableColumn, fitting, heading, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.binding import BindingType
    from textual.geometry import Region

    from specscope.session.state import Cycle
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

CACHED_ROWS: Final = 512
BAR_MOST: Final = 64
ACCEPTED, REJECTED, UNSEEN = "█░┊"
"""What bars are drawn with: they tell the parts apart also without colour."""
BARE: Final = 64
"""Narrower than this the bar gives way before the figures."""


class CycleRows(ScrollView, can_focus=True):
    """Cycles, oldest first, the newest at the bottom.

    At the bottom it follows new cycles; scrolled back it stands still while they come, even when the oldest ones
    are dropped from the front.
    """

    DEFAULT_CSS: ClassVar[str] = """
    CycleRows { position: absolute; scrollbar-size-horizontal: 0; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,J", "scroll_down", "down", show=False),
        Binding("k,K", "scroll_up", "up", show=False),
        Binding("home", "oldest", "oldest", show=False, priority=True),
        Binding("end", "newest", "newest", show=False, priority=True),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._cycles: Sequence[Cycle] = ()
        self._ink: Ink | None = None
        self._top = 1
        self._width = 0
        self._written: OrderedDict[int, Strip] = OrderedDict()
        self.following = True

    def show(self, cycles: Sequence[Cycle], ink: Ink, top: int) -> None:
        """Show these cycles.

        Args:
            cycles: oldest first.
            ink: what to write with.
            top: draft tokens that fill a bar.
        """
        self.following = self._at_bottom()
        same_front = bool(cycles) and bool(self._cycles) and cycles[0] is self._cycles[0]
        unchanged = same_front and len(cycles) == len(self._cycles) and cycles[-1] is self._cycles[-1]
        anchor = self._anchor()
        if ink is not self._ink or top != self._top:
            self._written.clear()
        elif unchanged:
            return
        self._cycles, self._ink, self._top = cycles, ink, top
        self.virtual_size = Size(self.size.width, len(cycles))
        if self.following:
            self.scroll_end(animate=False, immediate=True, force=True)
        elif not same_front and anchor is not None:
            self.scroll_to(y=self._place_of(anchor), animate=False, immediate=True, force=True)
        self.vertical_scrollbar.position = self.scroll_offset.y
        self.refresh()

    def _at_bottom(self) -> bool:
        return self.scroll_offset.y >= self.max_scroll_y

    def _anchor(self) -> int | None:
        """The number of the topmost visible cycle."""
        y = self.scroll_offset.y
        return self._cycles[y].number if y < len(self._cycles) else None

    def _place_of(self, number: int) -> int:
        return next((i for i, c in enumerate(self._cycles) if c.number >= number), 0)

    def action_newest(self) -> None:
        """Go to the newest cycle and follow."""
        self.scroll_end(animate=False, immediate=True)

    def action_oldest(self) -> None:
        """Go to the oldest cycle kept."""
        self.scroll_home(animate=False, immediate=True)

    def on_resize(self) -> None:
        """Go on following."""
        if self.following:
            self.scroll_end(animate=False, immediate=True, force=True)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are: they carry their own ground, so that Textual has nothing to add to them."""
        if self._ink is None or self._ink.ascii or not self._ink.colour or crop.width != self.size.width:
            return super().render_lines(crop)
        return [self.render_line(y) for y in range(crop.y, crop.bottom)]

    def render_line(self, y: int) -> Strip:
        """One visible row."""
        width, place = self.scrollable_content_region.width, self.scroll_offset.y + y
        if self._ink is None or place >= len(self._cycles):
            return Strip.blank(width)
        if width != self._width:  # the scrollbar came or went
            self._written.clear()
            self._width = width
        cycle = self._cycles[place]
        strip = self._written.get(cycle.number)
        if strip is None:
            strip = cycle_line(cycle, self._ink, width, self._top).strip(width)
            self._written[cycle.number] = strip
            if len(self._written) > CACHED_ROWS:
                self._written.popitem(last=False)
        return strip


def cycle_heading(ink: Ink, width: int) -> Line:
    """The headings over the rows."""
    return heading("cycle", _columns(width), ink, width)


def _columns(width: int) -> list[TableColumn[Cycle]]:
    """The columns; the bar gets a third of the row."""
    return fitting(COLUMNS, max(BARE, width * 2 // 3))


def cycle_line(cycle: Cycle, ink: Ink, width: int, top: int) -> Line:
    """One row: the figures, then a bar of the draft, accepted part first."""
    line = row(cycle, _columns(width), ink, width)
    cells = min(BAR_MOST, width - line.cells - 2, top * 2)
    if cells < 1:
        return line
    line.add("  ", ink.text)
    if cycle.drafted is None:
        full = round(cycle.accepted / top * cells)
        line.add(ACCEPTED * full, ink.accepted).add(UNSEEN * (cells - full), ink.faint)
        return line.add(" width not seen", ink.muted) if width - line.cells > 15 else line  # noqa: PLR2004  its length
    full = round(cycle.accepted / top * cells)
    drafted = round(cycle.drafted / top * cells)
    return line.add(ACCEPTED * full, ink.accepted).add(REJECTED * (drafted - full), ink.muted)


def _number(c: Cycle, ink: Ink) -> tuple[str, Style]:
    return f" {c.number:,}", ink.text


def _at(c: Cycle, ink: Ink) -> tuple[str, Style]:
    return clock(c.at, tenths=True), ink.muted


def _slot(c: Cycle, ink: Ink) -> tuple[str, Style]:
    return str(c.slot), ink.slot(c.slot)


def _task(c: Cycle, ink: Ink) -> tuple[str, Style]:
    return str(c.task), ink.muted


def _drafted(c: Cycle, ink: Ink) -> tuple[str, Style]:
    return (UNKNOWN if c.drafted is None else str(c.drafted)), ink.text


def _accepted(c: Cycle, ink: Ink) -> tuple[str, Style]:
    return str(c.accepted), ink.strong


def _gap(c: Cycle, ink: Ink) -> tuple[str, Style]:
    return decimal(c.gap_ms), ink.text


def _position(c: Cycle, ink: Ink) -> tuple[str, Style]:
    return whole(c.position), ink.muted


def _seen_by(c: Cycle, ink: Ink) -> tuple[str, Style]:
    return SEEN_BY_NAMES[c.seen_by], ink.muted


def _replay(c: Cycle, ink: Ink) -> tuple[str, Style]:
    return ("replayed" if c.replayed else ""), ink.warn


COLUMNS: Final[tuple[TableColumn[Cycle], ...]] = (
    TableColumn("cycle", 9, _number, left=True),
    TableColumn("ended", 10, _at),
    TableColumn("slot", 4, _slot),
    TableColumn("task", 7, _task, rank=2),
    TableColumn("drafted", 7, _drafted),
    TableColumn("accepted", 8, _accepted),
    TableColumn("ms", 8, _gap),
    TableColumn("position", 8, _position, rank=1),
    TableColumn("evidence", 8, _seen_by),
    TableColumn("replay", 8, _replay),
)
