"""Where the parts of the Config screen stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.geometry import Region

from specscope.views.panels import request_sets, setting_heads

if TYPE_CHECKING:
    from specscope.views.frame import Frame

TWO_COLUMNS: Final = 170
"""From this width on, claims, requests and the command line stand beside the settings."""
GUTTER: Final = 2
LIST_SHARE: Final = 0.55
CLAIMS_LEAST: Final = 7
CLAIMS_MOST: Final = 12
CLAIMS_SHARE: Final = 0.3
"""Of the rows between header and keys. It does not follow the picked setting: the list would jump."""
REQUESTS_SHARE: Final = 0.25
LIST_LEAST: Final = 3


def plan(width: int, height: int, frame: Frame) -> dict[str, Region]:
    """The region of every part that is shown."""
    places = {"header": Region(0, 0, width, 1), "keys": Region(0, height - 1, width, 1)}
    room = max(0, height - 2)
    drift = frame.target.provenance.requests if frame.target is not None else None
    wanted = request_sets.rows_wanted(drift)
    if width >= TWO_COLUMNS:
        left = int(width * LIST_SHARE)
        right = Region(left + GUTTER, 1, width - left - GUTTER, room)
        claims = min(room, CLAIMS_MOST)
        requests = min(wanted, room - claims)
        rest = {"claims": claims, "requests": requests, "started": room - claims - requests}
        return places | _list(Region(0, 1, left, room)) | _stacked(right, rest)
    requests = min(wanted, max(1, int(room * REQUESTS_SHARE)))
    claims = min(CLAIMS_MOST, max(CLAIMS_LEAST, int(room * CLAIMS_SHARE)))
    if room - claims - requests < setting_heads.ROWS + LIST_LEAST:
        claims = requests = 0
    rows = room - claims - requests
    below = Region(0, 1 + rows, width, claims + requests)
    return places | _list(Region(0, 1, width, rows)) | _stacked(below, {"claims": claims, "requests": requests})


def _list(region: Region) -> dict[str, Region]:
    heads = min(setting_heads.ROWS, region.height)
    found = {"heads": Region(region.x, region.y, region.width, heads)} if heads else {}
    if region.height > heads:
        found["rows"] = Region(region.x, region.y + heads, region.width, region.height - heads)
    return found


def _stacked(region: Region, rows: dict[str, int]) -> dict[str, Region]:
    """Panels one below the other; those without rows are left out."""
    found: dict[str, Region] = {}
    y = region.y
    for name, height in rows.items():
        if height > 0:
            found[name] = Region(region.x, y, region.width, height)
            y += height
    return found
