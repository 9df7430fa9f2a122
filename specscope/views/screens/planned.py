"""A screen made of panels, which a plan places anew for every frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from specscope.views.screens.watch import WatchScreen
from specscope.views.widgets.placing import place

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import Resize
    from textual.geometry import Region

    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.panel import Panel


class PlannedScreen(WatchScreen):
    """Shows each panel where :meth:`plan` puts it.

    Args:
        panels: by the name that the plan knows them by.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.unpause", show=False)]

    def __init__(self, panels: dict[str, Panel]) -> None:
        super().__init__()
        self._frame: Frame | None = None
        self._panels = panels

    def plan(self, width: int, height: int, frame: Frame) -> dict[str, Region]:
        """The region of every panel that is shown; a panel that is not in it is hidden."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """All panels; the plan places or hides them."""
        yield from self._panels.values()

    def on_resize(self, event: Resize) -> None:
        """Place the panels anew."""
        self._place(event.size.width, event.size.height)

    def show(self, frame: Frame, ink: Ink) -> None:
        """Show this frame."""
        self._frame = frame
        self._place(self.size.width, self.size.height)
        for panel in self._panels.values():
            panel.show(frame, ink)

    def _place(self, width: int, height: int) -> None:
        if self._frame is None or not width or not height:
            return
        regions = self.plan(width, height, self._frame)
        for name, panel in self._panels.items():
            place(panel, regions.get(name))
