"""Where the panels of the Live screen stand: the rows are shared out by need, and none stays empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.geometry import Region

from specscope.views.panels.anatomy import rows_wanted as anatomy_rows
from specscope.views.panels.findings import rows_of, shown_id
from specscope.views.panels.gpu import rows_wanted as gpu_rows
from specscope.views.panels.prefill import rows_wanted as prefill_rows
from specscope.views.panels.regimes import LEAST_ROWS as REGIMES_LEAST
from specscope.views.panels.regimes import rows_wanted as regimes_rows
from specscope.views.panels.sources import sources_of
from specscope.views.panels.verdict import rows_wanted
from specscope.views.panels.vram import ROWS as VRAM_ROWS
from specscope.views.panels.vram import is_told as vram_told
from specscope.views.panels.widths import LEAST_ROWS as WIDTHS_LEAST
from specscope.views.panels.widths import charted
from specscope.views.widgets.tape import useful_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.views.frame import Frame

HEADER: Final = 1
KEYS: Final = 1
TWO_COLUMNS: Final = 100
"""From this width on, panels stand side by side."""
THREE_COLUMNS: Final = 160
"""From this width on, three charts stand side by side."""
REGIMES_BESIDE: Final = 190
"""From this width on, prompts stand beside the regimes."""
GUTTER: Final = 2
SOURCES_FROM: Final = 30
"""On lower screens the sources' rows go to the tape; what they missed is in the referee's sentence."""
ANATOMY_FROM: Final = 30
"""On lower screens the parts of a turn have a single row."""
GPU_FROM: Final = 30
"""On lower screens the devices have a single row."""
COMPARED: Final = 2
"""Widths, off included, of which something must be known before their chart takes the place of another."""
WIDTHS_FROM: Final = 40
"""On lower screens of one column, other widths are told in the verdict alone."""
REGIMES_FROM: Final = 30
PREFILL_FROM: Final = 50
TAPE_FRAME: Final = 2
"""The tape's title, and the row under its bars."""
TAPE_IDEAL: Final = 17
"""A title, fifteen rows for the usual width of fifteen, and the row under the bars."""
CHART_IDEAL: Final = 12
SLOTS_FIRST: Final = 2
"""So many slots are shown before anything grows: two sessions on one server are the common case."""
FINDINGS_LEAST: Final = 3
"""The title, and two rows of the worst finding."""
REQUEST_STEP: Final = 2
"""The requests' share grows by so many rows at once, so that the screen does not shift with every request."""


@dataclass(frozen=True, slots=True)
class Band:
    """Panels side by side, and how many rows they want.

    Attributes:
        panels: from left to right.
        least: without so many rows the band is left out.
        want: what it is content with.
        step: it grows by so many rows at once.
        first: up to so many rows it is served before any other grows.
    """

    panels: tuple[str, ...]
    least: int
    want: int
    step: int = 1
    first: int = 0


def plan(width: int, height: int, frame: Frame) -> dict[str, Region]:
    """The region of every panel that is shown; a panel that is not in it is hidden."""
    verdict = min(rows_wanted(frame, width), max(1, height - HEADER - KEYS - 8))
    places = {"header": Region(0, 0, width, HEADER), "verdict": Region(0, HEADER, width, verdict)}
    y = HEADER + verdict
    bands = _bands(width, height, frame)
    rows = share_out(height - y - KEYS, bands)
    _snap_tape(rows, frame)
    for name in ORDER:
        band = bands.get(name)
        if band is not None and rows.get(name):
            places |= _side_by_side(band.panels, y, width, rows[name])
            y += rows[name]
    places["keys"] = Region(0, height - KEYS, width, KEYS)
    return places


ORDER: Final = (
    *("tape", "anatomy", "gpu", "vram", "charts", "widths", "regimes", "slots", "sources"),
    *("requests", "findings"),
)
"""The bands from the top down."""

CLAIMS: Final = (
    *("tape", "findings", "gpu", "anatomy", "slots", "regimes", "requests", "charts", "vram", "widths"),
    "sources",
)
"""Who is served first when rows are scarce."""

WHOLE: Final = ("findings", "gpu", "anatomy", "slots", "regimes", "vram", "sources")
"""Bands that are shown whole, as far as half of what is left allows, before the others grow."""


def _bands(width: int, height: int, frame: Frame) -> dict[str, Band]:
    target = frame.target
    slots = max(1, len(target.slots) if target is not None else 0)
    sources = len(sources_of(frame))
    requests = -(-len(target.requests if target is not None else ()) // REQUEST_STEP) * REQUEST_STEP
    bands = {
        "slots": Band(("slots",), 2, 1 + slots, first=1 + min(slots, SLOTS_FIRST)),
        "requests": Band(("requests",), 3, 1 + max(2 * REQUEST_STEP, requests)),
    }
    if target is not None and target.anatomy is not None:
        bands["anatomy"] = Band(("anatomy",), 1, anatomy_rows(target, width) if height >= ANATOMY_FROM else 1)
    bands |= _gpu_bands(width, height, frame)
    if sources and (height >= SOURCES_FROM or frame.speculating is False):
        bands["sources"] = Band(("sources",), 2, 1 + sources)
    if "sources" in bands and width >= 2 * TWO_COLUMNS - 10:
        del bands["sources"]
        bands["slots"] = Band(("slots", "sources"), 2, 1 + max(slots, sources))
    if frame.speculating is not False:
        bands["tape"] = Band(("tape",), 5, TAPE_IDEAL)
        bands |= _charts(width, height, frame)
    bands |= _kinds(width, height, frame)
    if frame.findings:
        rows = [rows_of(finding, shown_id(frame), width) for finding in frame.findings]
        bands["findings"] = Band(("findings",), min(FINDINGS_LEAST, 1 + rows[0]), 1 + sum(rows), first=1 + rows[0])
    return bands


def _charts(width: int, height: int, frame: Frame) -> dict[str, Band]:
    """What drafts come to: by position, by length, and what other widths would give, as far as that is known."""
    known = charted(frame)
    if width >= THREE_COLUMNS and known:
        return {"charts": Band(("positions", "lengths", "widths"), WIDTHS_LEAST, CHART_IDEAL)}
    if width >= TWO_COLUMNS:
        other = "widths" if known >= COMPARED else "lengths"
        return {"charts": Band(("positions", other), 6 if other == "lengths" else WIDTHS_LEAST, CHART_IDEAL)}
    bands = {"charts": Band(("positions",), 6, CHART_IDEAL)}
    if known >= COMPARED and height >= WIDTHS_FROM:
        bands["widths"] = Band(("widths",), WIDTHS_LEAST, CHART_IDEAL)
    return bands


def _kinds(width: int, height: int, frame: Frame) -> dict[str, Band]:
    """Regimes, and prompts beside them; on low screens they are on the page of the widths alone."""
    regimes = regimes_rows(frame) if height >= REGIMES_FROM else 0
    half = (width - GUTTER) // 2
    if regimes and width >= REGIMES_BESIDE:
        prompts = prefill_rows(frame, half)
        panels = ("regimes", "prefill") if prompts else ("regimes",)
        return {"regimes": Band(panels, REGIMES_LEAST, max(regimes, prompts))}
    if regimes:
        return {"regimes": Band(("regimes",), REGIMES_LEAST, regimes)}
    prompts = prefill_rows(frame, width) if height >= PREFILL_FROM else 0
    return {"regimes": Band(("prefill",), 2, prompts)} if prompts else {}


def _gpu_bands(width: int, height: int, frame: Frame) -> dict[str, Band]:
    """The devices, and their memory beside or below them; nothing where there are none."""
    rows = gpu_rows(frame)
    if not rows:
        return {}
    if height < GPU_FROM:
        return {"gpu": Band(("gpu",), 1, 1)}
    if not vram_told(frame):
        return {"gpu": Band(("gpu",), 1, rows)}
    if width >= TWO_COLUMNS:
        return {"gpu": Band(("gpu", "vram"), 3, max(rows, VRAM_ROWS))}
    return {"gpu": Band(("gpu",), 1, rows), "vram": Band(("vram",), 3, VRAM_ROWS)}


def share_out(room: int, bands: dict[str, Band]) -> dict[str, int]:
    """Rows by band: first the least of each in order of claim, then what each wants, then the rest.

    The worst finding and two slots are told whole before anything else grows. What nobody wants goes to the tape, whose
    bars take any height, else to the requests.
    """
    claims = [name for name in CLAIMS if name in bands]
    rows: dict[str, int] = {}
    for name in claims:
        if bands[name].least <= room:
            rows[name] = bands[name].least
            room -= rows[name]
    for name in list(rows):
        sure = max(0, min(bands[name].first - rows[name], room))
        rows[name] += sure
        room -= sure
    for name in WHOLE:
        if name not in rows:
            continue
        step = bands[name].step
        more = min(bands[name].want - rows[name], room // 2) // step * step
        rows[name] += more
        room -= more
    while grown := _grow(rows, bands, claims, room):
        room -= grown
    if room > 0 and rows:
        _give_rest(rows, room)
    return rows


def _grow(rows: dict[str, int], bands: dict[str, Band], claims: Iterable[str], room: int) -> int:
    """One step more to the band that is furthest from content; how many rows it took."""
    hungry = [n for n in claims if n in rows and rows[n] < bands[n].want and bands[n].step <= room]
    if not hungry:
        return 0
    name = min(hungry, key=lambda n: rows[n] / bands[n].want)
    rows[name] += bands[name].step
    return bands[name].step


def _give_rest(rows: dict[str, int], room: int) -> None:
    if "tape" in rows:
        charts = room // 3 if "charts" in rows else 0
        rows["tape"] += room - charts
        if charts:
            rows["charts"] += charts
    else:
        rows["requests" if "requests" in rows else next(iter(rows))] += room


def _snap_tape(rows: dict[str, int], frame: Frame) -> None:
    """Rows that the bars of the tape cannot reach go to another band; with two slots it has two tapes."""
    target = frame.target
    other = next((name for name in ("charts", "requests") if name in rows), None)
    if target is None or "tape" not in rows or other is None or len(target.slots) > 1:
        return
    top = max(1, target.config.n_max_effective or 0, target.totals.width_max or 0)
    spare = rows["tape"] - TAPE_FRAME - useful_rows(rows["tape"] - TAPE_FRAME, top)
    rows["tape"] -= spare
    rows[other] += spare


def _side_by_side(panels: tuple[str, ...], y: int, width: int, height: int) -> dict[str, Region]:
    each = (width - GUTTER * (len(panels) - 1)) // len(panels)
    regions = {name: Region(i * (each + GUTTER), y, each, height) for i, name in enumerate(panels)}
    last = panels[-1]
    regions[last] = regions[last].grow((0, width - regions[last].right, 0, 0))
    return regions
