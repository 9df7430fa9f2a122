"""The Findings screen: what is wrong, what shows it and what to do, and how all rules fare."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from specscope.views.finding_entries import entries_of
from specscope.views.panels.finding_details import FindingDetails
from specscope.views.panels.finding_list import FindingList
from specscope.views.panels.header import Header
from specscope.views.panels.keys import Keys, keys_of_screen
from specscope.views.screens.findings_plan import plan
from specscope.views.screens.planned import PlannedScreen

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.geometry import Region

    from specscope.views.finding_entries import Entry
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink


class FindingsScreen(PlannedScreen):
    """A list of which one row is chosen, and the details of that one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j,J", "choose(1)", show=False),
        Binding("up,k,K", "choose(-1)", show=False),
        Binding("home", "choose(-1000)", show=False),
        Binding("end", "choose(1000)", show=False),
        Binding("pagedown", "details(1)", show=False),
        Binding("pageup", "details(-1)", show=False),
    ]

    def __init__(self) -> None:
        self._list, self._details = FindingList(), FindingDetails()
        keys = Keys(keys_of_screen("6", (("j k", "choose"), ("PgDn", "read on"))))
        super().__init__({"header": Header(), "list": self._list, "details": self._details, "keys": keys})
        self._chosen: tuple[str, str] | None = None
        self._row = 0
        self._ink: Ink | None = None

    def plan(self, width: int, height: int, frame: Frame) -> dict[str, Region]:
        """As :func:`~specscope.views.screens.findings_plan.plan` says."""
        return plan(width, height, frame)

    def show(self, frame: Frame, ink: Ink) -> None:
        """Show this frame. The chosen row stays chosen while the list changes around it."""
        self._ink = ink
        entry = self._find(entries_of(frame))
        self._list.choose(entry)
        self._details.choose(entry)
        super().show(frame, ink)

    def _find(self, entries: tuple[Entry, ...]) -> Entry | None:
        if not entries:
            return None
        keys = [entry.key for entry in entries]
        if self._chosen in keys:
            self._row = keys.index(self._chosen)
        else:  # it is gone: what has come into its place is chosen, unless the user chose none yet
            self._row = min(self._row, len(entries) - 1)
        return entries[self._row]

    def action_choose(self, step: int) -> None:
        """Choose another row."""
        if self._frame is None or self._ink is None:
            return
        entries = entries_of(self._frame)
        if entries:
            self._find(entries)
            self._row = max(0, min(len(entries) - 1, self._row + step))
            self._chosen = entries[self._row].key
            self.show(self._frame, self._ink)

    def action_details(self, pages: int) -> None:
        """Scroll the details."""
        if self._frame is not None and self._ink is not None:
            self._details.scroll_text(pages)
            self.show(self._frame, self._ink)
