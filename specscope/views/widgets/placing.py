"""Putting a widget at an exact place; the plan of a screen decides which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Region

if TYPE_CHECKING:
    from textual.widget import Widget


def place(widget: Widget, region: Region | None) -> None:
    """Let an absolutely positioned widget take up this part of the screen; None hides it."""
    widget.display = region is not None
    if region is not None and region != _placed(widget):
        widget.styles.offset = (region.x, region.y)
        widget.styles.width = region.width
        widget.styles.height = region.height


def _placed(widget: Widget) -> Region:
    offset, width, height = widget.styles.offset, widget.styles.width, widget.styles.height
    wide, high = (int(scalar.value) if scalar is not None else 0 for scalar in (width, height))
    return Region(int(offset.x.value), int(offset.y.value), wide, high)
