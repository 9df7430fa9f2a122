"""A one-line question at the bottom of the screen; what is behind it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType


class Prompt(ModalScreen["str | None"]):
    """Returns what was typed on Enter, None on Escape."""

    DEFAULT_CSS: ClassVar[str] = """
    Prompt { background: transparent; align: left bottom; }
    Prompt Input { dock: bottom; width: 100%; border-title-color: $primary; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", show=False)]

    def __init__(self, name: str, hint: str, value: str = "") -> None:
        super().__init__()
        self._input = Input(value=value, placeholder=hint)
        self._input.border_title = f"{name} (enter, esc leaves)"

    def compose(self) -> ComposeResult:
        """The input alone."""
        yield self._input

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer."""
        self.dismiss(event.value.strip())
