"""The part all panels share: draw rows from a frame, and repaint only the rows that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line


class Panel(Widget):
    """A rectangle of the screen that shows one thing.

    A panel says how to draw itself (:meth:`draw`) and may say what its picture depends on (:meth:`watched`), so
    that a dear picture is not drawn again when none of that changed. It looks at the frame it is handed and at
    nothing else.
    """

    CALM_S: ClassVar[float] = 0.0
    """Least time between two pictures, in the session's seconds: totals move too little to be drawn more often."""

    DEFAULT_CSS: ClassVar[str] = "Panel { position: absolute; width: 0; height: 0; }"

    def __init__(self) -> None:
        super().__init__()
        self._frame: Frame | None = None
        self._ink: Ink | None = None
        self._drawn_from: object = None
        self._drawn_for: object = None
        self._drawn_at = 0.0
        self._rows: list[Strip] = []

    # --- what a panel says ----------------------------------------------------------------------------------------

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The rows, at most ``height``; missing ones stay empty."""
        raise NotImplementedError

    def watched(self, frame: Frame) -> object:
        """What the picture depends on, compared with ``==``; by default the whole frame."""
        return frame

    # --- what all panels do ---------------------------------------------------------------------------------------

    def show(self, frame: Frame, ink: Ink) -> None:
        """Show this frame."""
        self._frame, self._ink = frame, ink
        if self.display:
            self._redraw()

    def on_resize(self) -> None:
        """Draw at the new size."""
        self._redraw()

    def _redraw(self) -> None:
        frame, ink, (width, height) = self._frame, self._ink, self.size
        if frame is None or ink is None or not width or not height:
            return
        if (ink, width, height) == self._drawn_for and 0 < frame.session.at - self._drawn_at < self.CALM_S:
            return
        drawn_from = (self.watched(frame), ink, width, height)
        if drawn_from == self._drawn_from:
            return
        self._drawn_for, self._drawn_at = (ink, width, height), frame.session.at
        self._drawn_from = drawn_from
        drawn = self.draw(frame, ink, width, height)[:height]
        rows = [
            row.adjust_cell_length(width, ink.text) if isinstance(row, Strip) else row.strip(width) for row in drawn
        ]
        rows += [ink.line().strip(width)] * (height - len(rows))
        before, self._rows = self._rows, rows
        if len(before) != height:
            self.refresh()
            return
        changed = [Region(0, y, width, 1) for y in range(height) if before[y] != rows[y]]
        if changed:
            self.refresh(*changed)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are: they carry their own ground, so that Textual has nothing to add to them."""
        if self._ink is None or self._ink.ascii or not self._ink.colour or crop.width != self.size.width:
            return super().render_lines(crop)
        return [self.render_line(y) for y in range(crop.y, crop.bottom)]

    def render_line(self, y: int) -> Strip:
        """One row of the picture."""
        return self._rows[y] if y < len(self._rows) else Strip.blank(self.size.width)
