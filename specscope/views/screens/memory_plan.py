"""Where the panels of the Memory screen stand; what is not known is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from textual.geometry import Region

from specscope.views.panels import depth, growth, kv, memory_map, power
from specscope.views.panels.devices import all_devices

if TYPE_CHECKING:
    from specscope.session.state import Target
    from specscope.views.frame import Frame

TWO_COLUMNS: Final = 110
"""From this width on, charts stand side by side."""
MAPS_BESIDE: Final = 170
"""From this width on, the maps of device and host do."""
GUTTER: Final = 2
GROWTH_WANTS: Final = 11
POWER_WANTS: Final = 10
GPUS_MOST: Final = 8
DEVICE_LEAST: Final = 12
"""The largest parts with what they add up to; on higher screens all of them."""

ORDER: Final = ("device", "host", "kv", "growth", "power", "depth", "devices")
"""The panels from the top down, where each has a band of its own."""

CLAIMS: Final = ("device", "kv", "devices", "depth", "growth", "power", "host")
"""Who is served first when rows are scarce."""

PAIRS: Final = (("growth", "power"), ("kv", "depth"))
"""Panels that stand side by side where there is room."""

GROWS: Final = ("growth", "power")
"""Panels whose charts take what rows are left."""


class Need(NamedTuple):
    """Without ``least`` rows a band is left out; with ``want`` it is content."""

    least: int
    want: int


def plan(width: int, height: int, frame: Frame) -> dict[str, Region]:
    """The region of every panel that is shown; a panel that is not in it is hidden."""
    places = {"header": Region(0, 0, width, 1), "keys": Region(0, height - 1, width, 1)}
    needs = _needs(frame, width)
    bands = _bands(needs, width)
    wants = {band: Need(max(needs[n].least for n in band), max(needs[n].want for n in band)) for band in bands}
    rows, y = _share_out(max(0, height - 2), wants), 1
    for band in bands:
        if band in rows:
            places |= _side_by_side(band, y, width, rows[band])
            y += rows[band]
    return places


Band = tuple[str, ...]


def _needs(frame: Frame, width: int) -> dict[str, Need]:
    """The rows that each panel needs, of which anything is known."""
    target = frame.target
    if target is None:
        return {"device": Need(2, 2)}
    needs: dict[str, Need] = {}
    memory = target.memory
    beside = width >= MAPS_BESIDE and memory.device is not None and memory.host is not None
    for name, known in (("device", memory.device), ("host", memory.host)):
        if known is not None:
            rows = memory_map.rows_wanted(known, _half(width) if beside else width)
            needs[name] = Need(min(rows, 2 if name == "host" and "device" in needs else DEVICE_LEAST), rows)
    if not needs:
        needs["device"] = Need(2, memory_map.none_rows(frame, width))
    if kv.is_told(memory.kv):
        paired = width >= TWO_COLUMNS and bool(target.by_depth)
        needs["kv"] = Need(2, kv.rows_wanted(memory.kv, _half(width) if paired else width))
    if growth.is_told(memory):
        needs["growth"] = Need(2, GROWTH_WANTS)
    if power.charted(frame):
        needs["power"] = Need(power.LEAST_ROWS, POWER_WANTS)
    return needs | _tables(frame, target)


def _tables(frame: Frame, target: Target) -> dict[str, Need]:
    needs: dict[str, Need] = {}
    if target.by_depth:
        needs["depth"] = Need(min(3, depth.rows_wanted(target.by_depth)), depth.rows_wanted(target.by_depth))
    gpus = len(all_devices(frame))
    if gpus:
        needs["devices"] = Need(2, 1 + min(GPUS_MOST, gpus))
    return needs


def _bands(needs: dict[str, Need], width: int) -> list[Band]:
    """The bands from the top down."""
    pairs = [*(PAIRS if width >= TWO_COLUMNS else ()), *((("device", "host"),) if width >= MAPS_BESIDE else ())]
    bands: list[Band] = []
    for name in ORDER:
        if name not in needs or any(name in band for band in bands):
            continue
        pair = next((pair for pair in pairs if name in pair), (name,))
        bands.append(tuple(n for n in pair if n in needs))
    return bands


def _share_out(room: int, wants: dict[Band, Need]) -> dict[Band, int]:
    """Rows by band: the least of each in order of claim, then what they want, then the rest to the charts.

    The host's memory below that of the devices is served when all others are content.
    """
    claims = sorted(wants, key=lambda band: min(CLAIMS.index(name) for name in band))
    last = [("host",)] if ("host",) in wants and ("device",) in wants else []
    rows: dict[Band, int] = {}
    for served in ([band for band in claims if band not in last], last):
        for band in served:
            if wants[band].least <= room:
                rows[band] = wants[band].least
                room -= rows[band]
        for band in served:
            more = min(wants[band].want - rows[band], room) if band in rows else 0
            if more > 0:
                rows[band] += more
                room -= more
    charts = [band for band in rows if any(name in GROWS for name in band)]
    for number, band in enumerate(charts):
        more = room // (len(charts) - number)
        rows[band] += more
        room -= more
    return rows


def _half(width: int) -> int:
    return (width - GUTTER) // 2


def _side_by_side(band: Band, y: int, width: int, height: int) -> dict[str, Region]:
    if len(band) == 1:
        return {band[0]: Region(0, y, width, height)}
    half = _half(width)
    return {band[0]: Region(0, y, half, height), band[1]: Region(width - half, y, half, height)}
