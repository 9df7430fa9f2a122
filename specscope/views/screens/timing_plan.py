"""Where the panels of the Time screen stand; what is not known is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from textual.geometry import Region

from specscope.views.panels import copies, paths, timeline, untraced, would_show
from specscope.views.trace_words import has_stalls

if TYPE_CHECKING:
    from specscope.session.state import Target
    from specscope.views.frame import Frame

TWO_COLUMNS: Final = 190
"""From this width on, copies and paths stand side by side."""
GUTTER: Final = 2
STACKS_MOST: Final = 12
STALLS_ROWS: Final = 3
"""A title, and a row for each of the two lanes."""
LANES_GROW: Final = (14, 20, 25, 28, 31)
"""Each time the strip would have more rows than these, the lanes of the stalls have one row more."""

ORDER: Final = ("timeline", "stalls", "copies", "paths", "stacks")
"""The bands from the top down."""

CLAIMS: Final = ("timeline", "copies", "stalls", "paths", "stacks")
"""Who is served first when rows are scarce."""


class Need(NamedTuple):
    """Without ``least`` rows a band is left out; with ``want`` it is content."""

    least: int
    want: int


def plan(width: int, height: int, frame: Frame) -> dict[str, Region]:
    """The region of every panel that is shown; a panel that is not in it is hidden."""
    places = {"header": Region(0, 0, width, 1), "keys": Region(0, height - 1, width, 1)}
    room, y = max(0, height - 2), 1
    needs = _needs(frame.target, width) if frame.target is not None else {}
    beside = width >= TWO_COLUMNS and "copies" in needs and "paths" in needs
    if beside:
        needs["copies"] = Need(*map(max, needs["copies"], needs.pop("paths")))
    said = untraced.rows_wanted(frame.target, width)
    if said:
        rows = min(room, said)
        places["untraced"] = Region(0, y, width, rows)
        room, y = room - rows, y + rows
    rows_of = _share_out(room, needs, grows=frame.target is not None and _has_seconds(frame.target))
    for name in ORDER:
        if name not in rows_of:
            continue
        places[name] = Region(0, y, width, rows_of[name])
        if beside and name == "copies":
            half = _half(width)
            places["copies"] = Region(0, y, half, rows_of[name])
            places["paths"] = Region(width - half, y, half, rows_of[name])
        y += rows_of[name]
    left = height - 1 - y
    if said and left >= len(would_show.TEXT):
        places["would_show"] = Region(0, y, width, len(would_show.TEXT))
    return places


def _half(width: int) -> int:
    return (width - GUTTER) // 2


def _has_seconds(target: Target) -> bool:
    return target.anatomy is not None and bool(target.anatomy.seconds)


def _needs(target: Target, width: int) -> dict[str, Need]:
    needs: dict[str, Need] = {}
    if target.anatomy is not None:
        least = timeline.rows_least(target, width)
        needs["timeline"] = Need(least, least)
    if has_stalls(target) and _has_seconds(target):
        needs["stalls"] = Need(STALLS_ROWS, STALLS_ROWS)
    if target.copies:
        needs["copies"] = Need(copies.LEAST, copies.rows_wanted(target))
    if target.trace is not None or {target.backend_path.draft, target.backend_path.target} != {"unknown"}:
        rows = paths.rows_wanted(target, _half(width) if width >= TWO_COLUMNS and target.copies else width)
        needs["paths"] = Need(rows, rows)
    if target.stacks is not None and target.stacks.frames:
        needs["stacks"] = Need(2, 1 + min(STACKS_MOST, len(target.stacks.frames)))
    return needs


def _share_out(room: int, needs: dict[str, Need], *, grows: bool) -> dict[str, int]:
    """Rows by band: the least of each in order of claim, then what they want, then the rest to the strip."""
    rows: dict[str, int] = {}
    for name in CLAIMS:
        if name in needs and needs[name].least <= room:
            rows[name] = needs[name].least
            room -= rows[name]
    for name, least in list(rows.items()):
        more = min(needs[name].want - least, -(-room // 2))
        rows[name] += more
        room -= more
    if grows and "timeline" in rows:
        rows["timeline"] += room
        if "stalls" in rows:
            for limit in LANES_GROW:
                more = 2 * (rows["timeline"] >= limit)
                rows["stalls"] += more
                rows["timeline"] -= more
    return rows
