"""The Live screen: all panels at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding

from specscope.views.panels.findings import Findings
from specscope.views.panels.header import Header
from specscope.views.panels.keys import Keys
from specscope.views.panels.lengths import Lengths
from specscope.views.panels.positions import Positions
from specscope.views.panels.requests import Requests
from specscope.views.panels.slots import Slots
from specscope.views.panels.sources import Sources
from specscope.views.panels.tape import Tape
from specscope.views.panels.verdict import Verdict
from specscope.views.screens.live_plan import plan
from specscope.views.screens.watch import WatchScreen
from specscope.views.widgets.placing import place

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import Resize

    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.panel import Panel

KEYS: Final = (
    ("q", "quit"),
    ("space", "pause"),
    ("2", "cycles"),
    ("m", "mark"),
    ("r", "reset counts"),
    ("?", "help"),
    ("[ ]", "servers"),
    ("+ -", "pace"),
    ("t", "theme"),
    ("^p", "commands"),
)


class LiveScreen(WatchScreen):
    """A panel more is a line here and one in the plan."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.unpause", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._frame: Frame | None = None
        self._ink: Ink | None = None
        self._panels: dict[str, Panel] = {
            "header": Header(),
            "verdict": Verdict(),
            "tape": Tape(),
            "positions": Positions(),
            "lengths": Lengths(),
            "slots": Slots(),
            "requests": Requests(),
            "sources": Sources(),
            "findings": Findings(),
            "keys": Keys(KEYS),
        }

    def compose(self) -> ComposeResult:
        """All panels; the plan places or hides them."""
        yield from self._panels.values()

    def on_resize(self, event: Resize) -> None:
        """Place the panels anew."""
        self._place(event.size.width, event.size.height)

    def show(self, frame: Frame, ink: Ink) -> None:
        """Show this frame."""
        self._frame, self._ink = frame, ink
        self._place(self.size.width, self.size.height)
        for panel in self._panels.values():
            panel.show(frame, ink)

    def _place(self, width: int, height: int) -> None:
        if self._frame is None or not width or not height:
            return
        regions = plan(width, height, self._frame)
        for name, panel in self._panels.items():
            place(panel, regions.get(name))
