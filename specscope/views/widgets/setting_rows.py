"""The list of settings, by group, with one picked row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from rich.style import Style
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from specscope.views.setting_words import GROUP_NAMES, origin_words, value_words, wanted_words
from specscope.views.widgets.table import TableColumn, fitting, heading, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from specscope.session.provenance.state import Group, Setting
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

PICKED: Final = ">"
DIFFERS: Final = "!"
"""Before a setting whose value is not the recommended one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row: a setting, or the title of a group."""

    setting: Setting | None = None
    group: Group | None = None
    picked: bool = False


class SettingRows(ScrollView, can_focus=True):
    """Settings under the titles of their groups; the keys that would scroll move the picked row."""

    DEFAULT_CSS: ClassVar[str] = """
    SettingRows { position: absolute; scrollbar-size-horizontal: 0; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,J", "scroll_down", show=False),
        Binding("k,K", "scroll_up", show=False),
        Binding("n,N", "next_deviating", show=False),
    ]

    class Picked(Message):
        """Another setting was picked."""

    def __init__(self) -> None:
        super().__init__()
        self._settings: tuple[Setting, ...] = ()
        self._entries: list[Entry] = []
        self._ink: Ink | None = None
        self._chosen = ""

    @property
    def picked(self) -> Setting | None:
        """The picked setting; None where there is none at all."""
        place = self._place()
        return None if place is None else self._settings[place]

    def show(self, settings: Sequence[Setting], ink: Ink) -> None:
        """Show these settings; the picked one stays picked by its name."""
        told = tuple(settings)
        if told == self._settings and ink is self._ink:
            return
        self._settings, self._ink = told, ink
        self._lay_out()

    def _lay_out(self) -> None:
        picked = self.picked
        self._entries = []
        for setting in self._settings:
            if not self._entries or setting.group != self._group():
                self._entries.append(Entry(group=setting.group))
            self._entries.append(Entry(setting, picked=setting is picked))
        self.virtual_size = Size(self.size.width, len(self._entries))
        self.refresh()

    def _group(self) -> Group | None:
        last = self._entries[-1]
        return last.setting.group if last.setting is not None else last.group

    def _place(self) -> int | None:
        names = [setting.name for setting in self._settings]
        return names.index(self._chosen) if self._chosen in names else 0 if names else None

    # --- picking ----------------------------------------------------------------------------------------------------

    def _pick(self, place: int) -> None:
        if not self._settings:
            return
        self._chosen = self._settings[max(0, min(place, len(self._settings) - 1))].name
        self._lay_out()
        y = next(i for i, entry in enumerate(self._entries) if entry.picked)
        top = y - 1 if y and self._entries[y - 1].group is not None else y
        self.scroll_to_region(Region(0, top, 1, y - top + 1), animate=False, immediate=True, force=True)
        self.post_message(self.Picked())

    def _move(self, step: int) -> None:
        self._pick((self._place() or 0) + step)

    def action_scroll_down(self) -> None:
        """Pick the next row."""
        self._move(1)

    def action_scroll_up(self) -> None:
        """Pick the row before."""
        self._move(-1)

    def action_page_down(self) -> None:
        """Pick a row one page further."""
        self._move(max(1, self.size.height - 1))

    def action_page_up(self) -> None:
        """Pick a row one page before."""
        self._move(-max(1, self.size.height - 1))

    def action_scroll_home(self) -> None:
        """Pick the first."""
        self._pick(0)

    def action_scroll_end(self) -> None:
        """Pick the last."""
        self._pick(len(self._settings) - 1)

    def action_next_deviating(self) -> None:
        """Pick the next setting that is not as recommended, from the top again after the last."""
        places = [i for i, setting in enumerate(self._settings) if setting.deviates]
        if places:
            here = self._place() or 0
            self._pick(next((place for place in places if place > here), places[0]))

    # --- drawing ----------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Keep the picked row in sight."""
        if self._entries:
            self._move(0)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are: they carry their own ground, so that Textual has nothing to add to them."""
        if self._ink is None or self._ink.ascii or not self._ink.colour or crop.width != self.size.width:
            return super().render_lines(crop)
        return [self.render_line(y) for y in range(crop.y, crop.bottom)]

    def render_line(self, y: int) -> Strip:
        """One visible row."""
        width, place = self.scrollable_content_region.width, self.scroll_offset.y + y
        if self._ink is None or place >= len(self._entries):
            return Strip.blank(width, self._ink.text if self._ink is not None else Style())
        entry = self._entries[place]
        if entry.setting is None:
            return self._ink.rule(GROUP_NAMES[entry.group or "server"], width).strip(width)
        return row(entry, _columns(width), self._ink, width).strip(width)


def setting_heading(ink: Ink, width: int) -> Line:
    """The headings over the rows."""
    return heading("setting", _columns(width), ink, width)


def _columns(width: int) -> list[TableColumn[Entry]]:
    return fitting(COLUMNS, width)


def _of(entry: Entry) -> Setting:
    assert entry.setting is not None  # noqa: S101  titles are drawn otherwise
    return entry.setting


def _name(e: Entry, ink: Ink) -> tuple[str, Style]:
    mark = DIFFERS if _of(e).deviates else " "
    if e.picked:
        return f"{mark}{PICKED} {_of(e).name}", ink.title
    return f"{mark}  {_of(e).name}", ink.warn if _of(e).deviates else ink.text


def _value(e: Entry, ink: Ink) -> tuple[str, Style]:
    return value_words(_of(e)), ink.warn if _of(e).deviates else ink.strong


def _origin(e: Entry, ink: Ink) -> tuple[str, Style]:
    return origin_words(_of(e)), ink.muted if _of(e).origin in ("server default", "unknown") else ink.text


def _recommended(e: Entry, ink: Ink) -> tuple[str, Style]:
    return wanted_words(_of(e).recommended), ink.text


def _by(e: Entry, ink: Ink) -> tuple[str, Style]:
    found = _of(e).recommended
    return ("" if found is None else found.by), ink.muted


def _remark(e: Entry, ink: Ink) -> tuple[str, Style]:
    return _of(e).note, ink.muted


COLUMNS: Final[tuple[TableColumn[Entry], ...]] = (
    TableColumn("setting", 30, _name, left=True),
    TableColumn("in force", 13, _value, left=True),
    TableColumn("from", 16, _origin, left=True),
    TableColumn("recommended", 11, _recommended, left=True),
    TableColumn("by", 10, _by, left=True, rank=2),
    TableColumn("remark", 21, _remark, left=True, rank=1),
)
