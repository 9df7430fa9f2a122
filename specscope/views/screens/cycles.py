"""The Cycles screen: every cycle a row, with scroll-back and a filter; and what other widths would give."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.geometry import Region

from specscope.views.cycle_filter import FilterError, filtered, parse_filter
from specscope.views.panels.cycle_heads import CycleHeads, rows_wanted
from specscope.views.panels.gain import Gain
from specscope.views.panels.header import Header
from specscope.views.panels.keys import Keys, keys_of_screen
from specscope.views.panels.prefill import PrefillPanel
from specscope.views.panels.regimes import Regimes
from specscope.views.panels.width_table import WidthTable
from specscope.views.panels.widths import Widths
from specscope.views.screens.watch import WatchScreen
from specscope.views.screens.widths_plan import GUTTER, plan
from specscope.views.widgets.cycle_rows import CycleRows
from specscope.views.widgets.placing import place

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import Resize

    from specscope.session.state import Cycle
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.panel import Panel


BOTH: Final = 190
"""From this width on, the page of the widths stands beside the rows."""

ROWS_CELLS: Final = 80
"""Cells of the rows then: all figures, and a bar."""

ON_ROWS: Final = (("/", "filter"), ("j k", "scroll"))
KEYS: Final = keys_of_screen("2", (("w", "widths"), *ON_ROWS))
BOTH_KEYS: Final = keys_of_screen("2", ON_ROWS)
PAGE_KEYS: Final = keys_of_screen("w", (("w", "cycles"),))
"""While the page stands in the rows' place: what brings these back, and nothing that works on them alone."""


class CyclesScreen(WatchScreen):
    """Rows of the shown server's last cycles, and the page of the widths: beside them, or in their place."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "app.filter", show=False),
        Binding("escape", "clear_filter", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._header = Header()
        self._heads = CycleHeads()
        self._rows = CycleRows()
        self._keys = Keys(KEYS)
        self._page: dict[str, Panel] = {
            "gain": Gain(),
            "widths": Widths(),
            "width_table": WidthTable(),
            "regimes": Regimes(),
            "prefill": PrefillPanel(),
        }
        self.on_page = False
        self._condition: Callable[[Cycle], bool] | None = None
        self._text = ""
        self._problem = ""
        self._frame: Frame | None = None
        self._ink: Ink | None = None

    def compose(self) -> ComposeResult:
        """Header, headings, rows, the page, keys."""
        yield self._header
        yield self._heads
        yield self._rows
        yield from self._page.values()
        yield self._keys

    def on_mount(self) -> None:
        """The rows have the keyboard."""
        self._rows.focus()

    def on_resize(self, event: Resize) -> None:
        """Place the parts anew."""
        self._place(event.size.width, event.size.height)

    def _place(self, width: int, height: int) -> None:
        place(self._header, Region(0, 0, width, 1))
        body = Region(0, 1, width, max(2, height - 2))
        both = width >= BOTH
        self._keys.offer(BOTH_KEYS if both else PAGE_KEYS if self.on_page else KEYS)
        place(self._keys, Region(0, height - 1, width, 1))
        rows = Region(0, 1, ROWS_CELLS, body.height) if both else body
        heads = rows_wanted(self._frame.target if self._frame is not None else None, self._problem, rows.width)
        listed = both or not self.on_page
        place(self._heads, Region(0, 1, rows.width, heads) if listed else None)
        place(self._rows, Region(0, 1 + heads, rows.width, max(1, rows.height - heads)) if listed else None)
        area = Region(rows.right + GUTTER, 1, width - rows.right - GUTTER, body.height) if both else body
        shown = plan(area, self._frame) if self._frame is not None and (both or self.on_page) else {}
        for name, panel in self._page.items():
            place(panel, shown.get(name))

    def show(self, frame: Frame, ink: Ink) -> None:
        """Show this frame."""
        self._frame, self._ink = frame, ink
        self._place(self.size.width, self.size.height)
        cycles = frame.target.cycles if frame.target is not None else ()
        chosen = filtered(cycles, self._condition)
        limit = frame.target.config.n_max_effective if frame.target is not None else None
        widest = max((c.drafted or c.accepted for c in cycles[-64:]), default=1)
        self._rows.show(chosen, ink, max(1, limit or 0, widest))
        self._heads.say(len(chosen), len(cycles), self._text, self._problem, following=self._rows.following)
        for panel in (self._header, self._heads, self._keys, *self._page.values()):
            panel.show(frame, ink)

    def show_page(self, *, shown: bool) -> None:
        """Show the page of the widths in place of the rows, or the rows again; a wide screen shows both anyhow."""
        self.on_page = shown
        if self._frame is not None and self._ink is not None:
            self.show(self._frame, self._ink)

    @property
    def condition(self) -> str:
        """The filter in force, as it was typed."""
        return self._text

    def action_clear_filter(self) -> None:
        """Show all cycles again."""
        self.filter_by("")

    def filter_by(self, text: str | None) -> None:
        """Show only cycles for which the text holds; None changes nothing, a text that is no filter is told."""
        if text is None:
            return
        try:
            self._condition, self._text, self._problem = parse_filter(text), text, ""
        except FilterError as error:
            self._condition, self._text, self._problem = None, "", str(error)
        if self._frame is not None and self._ink is not None:
            self.show(self._frame, self._ink)
