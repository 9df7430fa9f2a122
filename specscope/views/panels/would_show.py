"""What a trace would show, where there is none and the screen has room to say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

TEXT: Final = (
    "",
    "A trace needs no restart of the server and none of its flags. It shows",
    "  where the milliseconds of a turn go: draft, verify, features, host sampling",
    "  how long the CPU waits for the GPU, and the GPU for the CPU",
    "  what is copied to the host, by size and meaning",
)


class WouldShow(Panel):
    """A few rows that do not change."""

    def watched(self, frame: Frame) -> object:
        """Nothing."""
        del frame

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The rows."""
        del frame, width, height
        return [ink.line().add(f" {text}", ink.muted) for text in TEXT]
