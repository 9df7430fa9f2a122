"""The top of the Config screen: how many settings, how many are not as recommended, and the headings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.views.widgets.panel import Panel
from specscope.views.widgets.setting_rows import DIFFERS, setting_heading

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

ROWS: Final = 2
NOBODY: Final = "nothing is recommended for this model: a profile in config.toml would say what to hold it to"


class SettingHeads(Panel):
    """Two rows."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = (0, 0)

    def say(self, shown: int, known: int) -> None:
        """Say how many of the known settings are shown."""
        self._shown = (shown, known)

    def watched(self, frame: Frame) -> object:
        """The settings, and what :meth:`say` told."""
        return frame.target.provenance if frame.target is not None else None, self._shown

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """What the settings come to, and the headings."""
        del height
        shown, known = self._shown
        line = ink.line()
        if frame.target is None:
            return [line.add(" no server seen yet", ink.muted), setting_heading(ink, width)]
        line.add(f" {shown} settings" if shown == known else f" {shown} of {known} settings", ink.text)
        provenance = frame.target.provenance
        deviating = len(provenance.deviating)
        if not provenance.adviser:
            line.add(f"; {NOBODY}", ink.muted)
        elif deviating:
            line.add(", ", ink.text).add(f"{DIFFERS} {deviating} not as recommended", ink.warn)
            line.add(f" by {provenance.adviser}", ink.muted)
        else:
            line.add(", all as recommended", ink.good).add(f" by {provenance.adviser}", ink.muted)
        return [line, setting_heading(ink, width)]
