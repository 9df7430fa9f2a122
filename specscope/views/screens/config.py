"""The Config screen: every setting, where it comes from, what is recommended, and how requests drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding

from specscope.views.panels.claims import Claims
from specscope.views.panels.header import Header
from specscope.views.panels.keys import Keys, keys_of_screen
from specscope.views.panels.request_sets import RequestSets
from specscope.views.panels.setting_heads import SettingHeads
from specscope.views.panels.started import Started
from specscope.views.screens.config_plan import plan
from specscope.views.screens.watch import WatchScreen
from specscope.views.widgets.placing import place
from specscope.views.widgets.setting_rows import SettingRows

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import Resize

    from specscope.session.provenance.state import Setting
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink

OWN_KEYS: Final = (("j k", "pick"), ("n", "next !"), ("a", "all"))


class ConfigScreen(WatchScreen):
    """Settings with one picked; its claims and the requests' drift beside or below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a,A", "all", show=False),
        Binding("escape", "app.unpause", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._heads, self._rows = SettingHeads(), SettingRows()
        self._panels = {
            "header": Header(),
            "heads": self._heads,
            "claims": Claims(),
            "requests": RequestSets(),
            "started": Started(),
            "keys": Keys(keys_of_screen("5", OWN_KEYS)),
        }
        self._claims = self._panels["claims"]
        self._everything = False
        self._frame: Frame | None = None
        self._ink: Ink | None = None

    def compose(self) -> ComposeResult:
        """All parts; the plan places or hides them."""
        yield from self._panels.values()
        yield self._rows

    def on_mount(self) -> None:
        """The rows have the keyboard."""
        self._rows.focus()

    def on_resize(self, event: Resize) -> None:
        """Place the parts anew."""
        self._place(event.size.width, event.size.height)

    def _place(self, width: int, height: int) -> None:
        if self._frame is None or not width or not height:
            return
        regions = plan(width, height, self._frame)
        for name, panel in self._panels.items():
            place(panel, regions.get(name))
        place(self._rows, regions.get("rows"))

    def show(self, frame: Frame, ink: Ink) -> None:
        """Show this frame."""
        self._frame, self._ink = frame, ink
        self._place(self.size.width, self.size.height)
        known = frame.target.provenance.settings if frame.target is not None else ()
        told = tuple(setting for setting in known if self._everything or not setting.plain)
        self._rows.show(told, ink)
        self._heads.say(len(told), len(known))
        self._pick(self._rows.picked)
        for panel in self._panels.values():
            panel.show(frame, ink)

    def _pick(self, setting: Setting | None) -> None:
        if isinstance(self._claims, Claims):
            self._claims.pick(setting)

    def on_setting_rows_picked(self) -> None:
        """Tell of the setting that was picked."""
        self._pick(self._rows.picked)
        if self._frame is not None and self._ink is not None:
            self._claims.show(self._frame, self._ink)

    def action_all(self) -> None:
        """Show also the settings that nobody touched, or leave them out again."""
        self._everything = not self._everything
        if self._frame is not None and self._ink is not None:
            self.show(self._frame, self._ink)
