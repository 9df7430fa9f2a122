"""What the screens of a watch have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.screen import Screen

if TYPE_CHECKING:
    from textual.binding import BindingType

    from specscope.views.frame import Frame
    from specscope.views.ink import Ink


class WatchScreen(Screen[None]):
    """A screen that shows frames. ``tab`` goes to the next server, not to the next widget."""

    DEFAULT_CSS: ClassVar[str] = "WatchScreen { background: $background; overflow: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.next_target(1)", show=False),
        Binding("shift+tab", "app.next_target(-1)", show=False),
    ]

    def show(self, frame: Frame, ink: Ink) -> None:
        """Show this frame."""
        raise NotImplementedError
