"""Where the panels of the page of the widths stand: all that is known of what drafting gains; the rest is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.geometry import Region

from specscope.views.panels import gain, prefill, regimes, width_table, widths

if TYPE_CHECKING:
    from specscope.views.frame import Frame

TWO_COLUMNS: Final = 104
"""From this width on, the chart stands beside the facts."""
GUTTER: Final = 2
TOP_LEAST: Final = 10
"""Rows that chart and facts keep where the table has more rows than there is room for."""
CHART_LEAST: Final = 8
"""Rows without which the table alone tells the widths."""

PANELS: Final = ("gain", "widths", "width_table", "regimes", "prefill")


def plan(area: Region, frame: Frame) -> dict[str, Region]:
    """The region of every panel that is shown, within the area; a panel that is not in it is hidden."""
    wide = area.width >= TWO_COLUMNS
    below = _below(area, frame, wide=wide)
    taken = area.bottom - min((region.y for region in below.values()), default=area.bottom)
    above = Region(area.x, area.y, area.width, area.height - taken)
    return below | (_beside(above, frame) if wide else _stacked(above, frame))


def _below(area: Region, frame: Frame, *, wide: bool) -> dict[str, Region]:
    """Regimes, and prompts beside or under them, at the foot: as far as a third of the rows allows."""
    kinds, room = regimes.rows_wanted(frame), area.height // 3
    half = (area.width - GUTTER) // 2
    if wide and kinds and area.width >= 2 * TWO_COLUMNS:
        rows = min(room, max(kinds, prefill.rows_wanted(frame, half)))
        left = Region(area.x, area.bottom - rows, half, rows)
        return {"regimes": left, "prefill": Region(area.right - half, left.y, half, rows)}
    places: dict[str, Region] = {}
    y = area.bottom
    for name, wanted in (("prefill", prefill.rows_wanted(frame, area.width)), ("regimes", kinds)):
        rows = min(wanted, room)
        if rows > 1:
            y, room = y - rows, room - rows
            places[name] = Region(area.x, y, area.width, rows)
    return places


def _beside(area: Region, frame: Frame) -> dict[str, Region]:
    """The chart and the facts beside each other, above the table."""
    if frame.target is None or not frame.target.economics.curve:
        return {"gain": area}
    economics = frame.target.economics
    half = (area.width - GUTTER) // 2
    facts = gain.rows_wanted(frame.target, half)
    top_least = min(facts, max(TOP_LEAST, area.height // 3), area.height)
    rows = min(width_table.rows_wanted(economics), area.height - top_least)
    top = area.height - rows
    places = {"width_table": Region(area.x, area.y + top, area.width, rows)}
    if not widths.charted(frame):
        return places | {"gain": Region(area.x, area.y, area.width, top)}
    right = Region(area.right - half, area.y, half, top)
    return places | {"widths": Region(area.x, area.y, half, top), "gain": right}


def _stacked(area: Region, frame: Frame) -> dict[str, Region]:
    """The facts, the table, and between them a chart where there is room for all three."""
    if frame.target is None or not frame.target.economics.curve:
        return {"gain": area}
    economics = frame.target.economics
    facts = min(gain.rows_wanted(frame.target, area.width), max(4, area.height // 2), area.height)
    rows = min(width_table.rows_wanted(economics), area.height - facts)
    chart = area.height - facts - rows
    if chart < CHART_LEAST or not widths.charted(frame):
        facts, chart = facts + chart, 0
    places = {
        "gain": Region(area.x, area.y, area.width, facts),
        "width_table": Region(area.x, area.y + facts + chart, area.width, rows),
    }
    return places | ({"widths": Region(area.x, area.y + facts, area.width, chart)} if chart else {})
