"""A one-line question at the bottom of the screen; what is behind it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType


LABELS: Final = ("code", "prose", "planning", "tool calls", "agent")
"""Kinds of work that are usually told apart: how predictable their text is differs most between them."""


class Prompt(ModalScreen["str | None"]):
    """Returns what was typed on Enter, None on Escape.

    Args:
        name: what is asked for.
        hint: shown while nothing is typed.
        value: what the answer was before.
        offers: usual answers: up and down go through them.
    """

    DEFAULT_CSS: ClassVar[str] = """
    Prompt { background: transparent; align: left bottom; }
    Prompt Input {
        dock: bottom; width: 100%; background: $surface;
        border-title-color: $primary; border-subtitle-align: left;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", show=False),
        Binding("down,tab", "offer(1)", show=False, priority=True),
        Binding("up,shift+tab", "offer(-1)", show=False, priority=True),
    ]

    def __init__(self, name: str, hint: str, value: str = "", offers: Sequence[str] = ()) -> None:
        super().__init__()
        self._offers = tuple(offers)
        self._input = Input(value=value, placeholder=hint)
        self._input.border_title = f"{name} (enter, esc leaves)"
        self._input.border_subtitle = f"down: {', '.join(offers)}" if offers else ""

    def compose(self) -> ComposeResult:
        """The input alone."""
        yield self._input

    def action_offer(self, step: int) -> None:
        """The next of the usual answers, or the one before."""
        if not self._offers:
            return
        typed = self._input.value
        place = self._offers.index(typed) + step if typed in self._offers else (0 if step > 0 else -1)
        self._input.value = self._offers[place % len(self._offers)]
        self._input.cursor_position = len(self._input.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer."""
        self.dismiss(event.value.strip())


def mark_prompt(given: Sequence[str]) -> Prompt:
    """The question for a mark's label; those given before, latest first, are offered before the usual ones."""
    hint = "what the server does from here on; empty ends it"
    return Prompt("mark", hint, offers=list(dict.fromkeys([*given, *LABELS])))
