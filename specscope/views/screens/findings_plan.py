"""Where the parts of the Findings screen stand: the list above the details, or beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.geometry import Region

from specscope.views.panels.finding_list import rows_wanted

if TYPE_CHECKING:
    from specscope.views.frame import Frame

BESIDE: Final = 150
"""From this width on, both have rows that are wide enough side by side."""
LIST_SHARE: Final = 0.55
"""The list's part of a wide screen: its table is wider than text is good to read."""
LIST_ROWS: Final = 0.4
"""The list's part of a narrow screen, at the most."""
GUTTER: Final = 2


def plan(width: int, height: int, frame: Frame) -> dict[str, Region]:
    """The region of every panel."""
    room = max(0, height - 2)
    places = {"header": Region(0, 0, width, 1), "keys": Region(0, height - 1, width, 1)}
    if width >= BESIDE:
        left = round(width * LIST_SHARE)
        places["list"] = Region(0, 1, left, room)
        places["details"] = Region(left + GUTTER, 1, width - left - GUTTER, room)
        return places
    rows = min(rows_wanted(frame), max(4, round(room * LIST_ROWS)))
    places["list"] = Region(0, 1, width, rows)
    places["details"] = Region(0, 1 + rows, width, max(1, room - rows))
    return places
