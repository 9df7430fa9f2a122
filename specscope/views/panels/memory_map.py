"""What is in the memory of a server's devices, or of its host: a bar, a row for each part, and what they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple

from rich.cells import cell_len

from specscope.views.figures import MARKS, UNKNOWN
from specscope.views.machine_keys import map_key
from specscope.views.memory_parts import EVIDENCE, groups_of, letter_of, portions_of, whole_of
from specscope.views.memory_words import gib, mib, sum_words, used_words
from specscope.views.widgets.flow import flow
from specscope.views.widgets.line import wrapped
from specscope.views.widgets.memory_bar import memory_bar, memory_phrase
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.part_bar import filled
from specscope.views.widgets.table import TableColumn, heading, row, snug

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.memory.map_state import MapPart, MemoryMap, PartSource
    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

SUM_ROWS: Final = 2
"""Rows that the sum may take."""
FRAME_ROWS: Final = 3
"""The title, the bar, and the headings."""
LETTER_CELLS: Final = 3
WHY_ROWS: Final = 3
"""Rows that it may take to say why there is no map."""

SAID: Final[dict[PartSource, str]] = {
    "log": "log",
    "computed": "computed",
    "driver": "driver",
    "rest": "what is left",
}
"""How a part is known, in a word before what it rests on, where that does not say so itself."""
NOT_TOLD: Final = "not told: within unexplained"
KNOWN_ROWS: Final = 3
"""Rows that it may take to say how a part is known."""
SHARE: Final = "of all"
SHARE_FROM: Final = 100
"""From this width on, there is room for shares of the whole beside all else."""
NAMES: Final = {"device": "device memory", "host": "host memory"}


class _Row(NamedTuple):
    """One part, or one that is not told (``part`` is None). ``known``: how it is known, as far as this row says it."""

    name: str
    part: MapPart | None
    whole: int
    known: str


class MemoryMapPanel(Panel):
    """The map of one place.

    Args:
        place: whose memory.
    """

    CALM_S: ClassVar[float] = 0.9

    def __init__(self, place: Literal["device", "host"]) -> None:
        super().__init__()
        self._place: Literal["device", "host"] = place

    def watched(self, frame: Frame) -> object:
        """The parts."""
        known = map_of(frame.target, self._place)
        return map_key(known), known is None and why_none(frame)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The largest parts where not all fit; what they add up to has the last rows."""
        known = map_of(frame.target, self._place)
        if known is None:
            texts = wrapped(why_none(frame), max(1, width - 2), min(WHY_ROWS, max(1, height - 1)))
            return [ink.rule("memory", width), *(ink.line().add(f" {text}", ink.text) for text in texts)]
        foot, loud = _foot(known, width), sum_words(known)[1]
        told, room = _rows(known), height - FRAME_ROWS - len(foot)
        title = ink.rule(_title(frame, known), width, _used(known))
        if room < 1:
            return [title, *_groups(known, ink, width)]
        bar = ink.line().add(" ", ink.text).append(memory_bar(portions_of(known), ink, width - 2))
        rows: list[Line | Strip] = [title, bar]
        shown = told
        if len(told) > room:
            kept = sorted(told, key=lambda r: -(r.part.bytes if r.part is not None else 0))[:room]
            shown = [r for r in told if r in kept]
        columns = _columns(shown, width)
        more = f"part, {len(told) - len(shown)} more" if len(told) > len(shown) else "part"
        rows.append(ink.line().add("─" * LETTER_CELLS, ink.faint).append(heading(more, columns, ink, width - 3)))
        rows += _written(shown, columns, ink, width, room)
        return rows + [ink.line().add(f" {text}", ink.warn if loud else ink.text) for text in foot]


def _written(shown: list[_Row], columns: list[TableColumn[_Row]], ink: Ink, width: int, room: int) -> list[Line]:
    """The rows of the parts; how one is known takes more of them, where there is room for that of all."""
    texts = [_known_rows(r, columns, width) for r in shown]
    if sum(map(len, texts)) > room:
        texts = [[r.known] for r in shown]
    written: list[Line] = []
    for r, (first, *more) in zip(shown, texts, strict=True):
        written.append(_letter(r, ink).append(row(r._replace(known=first), columns, ink, width - LETTER_CELLS)))
        written += [ink.line().add(" " * _known_at(columns) + text, _known(r, ink)[1]) for text in more]
    return written


def _columns(shown: list[_Row], width: int) -> list[TableColumn[_Row]]:
    """The columns. On narrow screens shares of the whole, which the bar shows too, give way to how parts are known."""
    columns = snug(COLUMNS, width - LETTER_CELLS)
    longest = max((cell_len(r.known) for r in shown), default=0)
    if width >= SHARE_FROM or _known_at(columns) + longest <= width:
        return columns
    return [column for column in columns if column.head != SHARE]


def _known_at(columns: list[TableColumn[_Row]]) -> int:
    """Where the last column begins."""
    return LETTER_CELLS + sum(column.width + 1 for column in columns[:-1])


def _known_rows(r: _Row, columns: list[TableColumn[_Row]], width: int) -> list[str]:
    return wrapped(r.known, max(1, width - _known_at(columns)), KNOWN_ROWS)


def _groups(known: MemoryMap, ink: Ink, width: int) -> list[Line]:
    """The figures of a small map."""
    groups = groups_of(known)
    held = [mib(group.filled_bytes) if group.filled_bytes is not None else "" for group in groups]
    phrases = [memory_phrase(group, mib(group.bytes), ink, part) for group, part in zip(groups, held, strict=True)]
    return flow(phrases, ink, width)


def map_of(target: Target | None, place: Literal["device", "host"]) -> MemoryMap | None:
    """The map of a place, where it is known."""
    if target is None:
        return None
    return target.memory.device if place == "device" else target.memory.host


def why_none(frame: Frame) -> str:
    """Why there is no map, and what would tell."""
    if frame.target is None:
        return "no server seen yet"
    off = [f"{source.name}: {source.detail}" for source in frame.session.machine.sources if source.state == "lost"]
    said = "; ".join(["nothing is known of this server's memory yet", *off])
    return f"{said}; the model files or the server's log at -lv 4 would tell"


def none_rows(frame: Frame, width: int) -> int:
    """How many rows say why there is no map."""
    return 1 + len(wrapped(why_none(frame), max(1, width - 2), WHY_ROWS))


def rows_wanted(known: MemoryMap, width: int) -> int:
    """How many rows show everything."""
    told = _rows(known)
    columns = _columns(told, width)
    return FRAME_ROWS + sum(len(_known_rows(r, columns, width)) for r in told) + len(_foot(known, width))


def _rows(known: MemoryMap) -> list[_Row]:
    """The parts in their order, and behind the server's own those that nothing tells."""
    whole = whole_of(known)
    rows = [_Row(part.name, part, whole, _source(part)) for part in known.parts]
    rest = ("unexplained", "other processes", "driver reserve", "free")
    place = next((n for n, r in enumerate(rows) if r.name in rest), len(rows))
    return [*rows[:place], *(_Row(name, None, whole, NOT_TOLD) for name in known.missing), *rows[place:]]


def _title(frame: Frame, known: MemoryMap) -> str:
    """Whose memory it is."""
    gpus = len(frame.target.gpus) if frame.target is not None and known.place == "device" else 1
    return f"{NAMES[known.place]} of {gpus} GPUs" if gpus > 1 else NAMES[known.place]


def _used(known: MemoryMap) -> str:
    if known.used_bytes is None and known.process_bytes is not None:
        return f"the process's {mib(known.process_bytes)} MiB"
    if known.used_bytes is None:
        return "" if known.total_bytes is None else f"of {gib(known.total_bytes)} GiB"
    if known.total_bytes is None:
        return f"{mib(known.used_bytes)} MiB in use"
    exact = f"{mib(known.used_bytes)} of {mib(known.total_bytes)} MiB in use"
    return f"{exact} ({used_words(known.used_bytes, known.total_bytes)})"


def _foot(known: MemoryMap, width: int) -> list[str]:
    return wrapped(sum_words(known)[0], max(1, width - 2), SUM_ROWS)


def _letter(r: _Row, ink: Ink) -> Line:
    letter, place = letter_of(r.part.name) if r.part is not None else ("", 0)
    line = ink.line().add(" ", ink.text)
    return line.add(letter, filled(ink, place)).fill(LETTER_CELLS, " ", ink.text)


def _name(r: _Row, ink: Ink) -> tuple[str, Style]:
    return r.name, ink.text


def _size(r: _Row, ink: Ink) -> tuple[str, Style]:
    if r.part is None:
        return f"{UNKNOWN} ", ink.muted
    sign = "-" if r.part.bytes < 0 else ""
    return f"{sign}{mib(abs(r.part.bytes))}{MARKS[EVIDENCE[r.part.source]]}", ink.strong


def _share(r: _Row, ink: Ink) -> tuple[str, Style]:
    if r.part is None or r.part.bytes < 0:
        return UNKNOWN, ink.muted
    share = r.part.bytes / r.whole
    return ("<0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"), ink.muted  # noqa: PLR2004  rounds to none


def _filled(r: _Row, ink: Ink) -> tuple[str, Style]:
    if r.part is None or not r.part.name.endswith("KV"):
        return "", ink.text
    held = r.part.filled_bytes
    if held is None or r.part.bytes <= 0:
        return UNKNOWN, ink.muted
    share = held / r.part.bytes
    percent = "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"  # noqa: PLR2004  rounds down to none
    return f"{mib(held)} ({percent})", ink.text


def _known(r: _Row, ink: Ink) -> tuple[str, Style]:
    return r.known, ink.text if r.part is None else ink.muted


def _source(part: MapPart) -> str:
    """How a part is known: by what, and what that rests on."""
    said = SAID[part.source]
    if not part.basis:
        return said
    return part.basis if part.source in (*part.basis.split(), "rest") else f"{said}: {part.basis}"


COLUMNS: Final[tuple[TableColumn[_Row], ...]] = (
    TableColumn("part", 15, _name, left=True),
    TableColumn("MiB ", 9, _size),
    TableColumn(SHARE, 7, _share, rank=2),
    TableColumn("of it filled", 13, _filled, rank=1),
    TableColumn("known by", 20, _known, left=True),
)
