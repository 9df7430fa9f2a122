"""The bottom row: the keys that work here, or what the last one did; what watching costs, and how often it paints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.views.figures import decimal
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line


SCREENS: Final = (
    ("1", "live"),
    ("2", "cycles"),
    ("3", "time"),
    ("4", "memory"),
    ("5", "config"),
    ("6", "findings"),
)
WHOLE_FROM: Final = 10.0
"""From so many percent on, tenths are left out."""
LONG_FROM: Final = 160
"""From this width on, the requests per second are told too."""
HELP: Final = ("?", "help")
"""The key that tells all others: it and those before it matter more than the blanks between them."""


def keys_of_screen(own: str, special: tuple[tuple[str, str], ...] = ()) -> tuple[tuple[str, str], ...]:
    """The keys that work on a screen, without the one that shows it, in the order in which they matter.

    Args:
        own: the key of the screen itself.
        special: what works on that screen alone.
    """
    return (
        ("q", "quit"),
        *(screen for screen in SCREENS if screen[0] != own),
        HELP,
        *special,
        ("space", "pause"),
        ("m", "mark"),
        ("r", "reset counts"),
        ("[ ]", "servers"),
        ("+ -", "pace"),
        ("t", "theme"),
        ("^p", "commands"),
    )


class Keys(Panel):
    """The bottom row."""

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = keys

    def offer(self, keys: Sequence[tuple[str, str]]) -> None:
        """Other keys work here from now on; they are shown with the next frame."""
        self._keys = keys

    def watched(self, frame: Frame) -> object:
        """The frame, and the keys."""
        return frame, self._keys

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The keys that fit, and at the right edge what watching costs and the pace."""
        del height
        line = ink.line().add(" ", ink.text)
        if frame.notice:
            return [line.add(f" {frame.notice} ", ink.badge)]
        several = len(frame.session.targets) > 1
        keys = [(key, does) for key, does in self._keys if key != "[ ]" or several]
        needed = _cells(keys[: keys.index(HELP) + 1], 1)
        right = next((text for text in _right(frame, width) if needed + len(text) + 2 <= width), frame.pace)
        room = width - len(right) - 2
        gap = next((gap for gap in (2, 1) if _cells(keys[: keys.index(HELP) + 1], gap) <= room), 1)
        for key, does in keys:
            if line.cells + len(key) + 1 + len(does) > room:
                break
            line.add(key, ink.title).add(f" {does}{' ' * gap}", ink.muted)
        return [line.fill(width - len(right) - 1, " ", ink.text).add(right, ink.muted)]


def _right(frame: Frame, width: int) -> list[str]:
    """The right edge: specscope's own share of a core and the pace, from the longest form to the shortest."""
    cost = frame.session.own_cost
    if cost.cpu_pct is None:
        return [frame.pace]
    short = f"cost {decimal(cost.cpu_pct, 0 if cost.cpu_pct >= WHOLE_FROM else 1)} %"
    forms = [f"own {short} cpu, {decimal(cost.requests_per_s)} req/s"] if width >= LONG_FROM else []
    return [*(f"{form}  {frame.pace}" for form in (*forms, f"own {short}", short)), frame.pace]


def _cells(keys: Sequence[tuple[str, str]], gap: int) -> int:
    """How wide they are written, with the blank before them."""
    return 1 + sum(len(key) + 1 + len(does) + gap for key, does in keys) - gap
