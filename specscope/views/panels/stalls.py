"""When the host waited for the device, and the device for the host: what the dear probes saw, burst by burst."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.strip import Strip

from specscope.session.turn_parts import SAMPLING, VERIFY
from specscope.views.trace_keys import traced_key
from specscope.views.trace_words import has_stalls, sampled_words
from specscope.views.widgets.bars import EIGHTHS, RISING
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.runs import runs
from specscope.views.widgets.second_axis import PAUSE, between, columns_of, columns_room, seconds_told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.style import Style

    from specscope.session.turn_state import Burst
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

LANES: Final = (("waiting", "CPU waits for GPU"), ("idle", "GPU idle"))

LOW: Final = "."
"""Less than half of a cell, where its eighths cannot be drawn."""
DEVICE, HOST = VERIFY, SAMPLING
"""The lanes have the colours of the parts in which the one and the other is at work."""


class Stalls(Panel):
    """Two lanes: the share of each burst that the host waited, and that the device had nothing to do."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The bursts, and the seconds that they stand under."""
        target = frame.target
        return None if target is None else traced_key(target)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title and the lanes; each gets half of the rows."""
        target = frame.target
        if target is None or target.stalls is None or not has_stalls(target):
            return []
        stalls, room = target.stalls, columns_room(width)
        columns = columns_of(seconds_told(target), room)
        rows = max(1, (height - 1) // len(LANES))
        drawn: list[Line | Strip] = [ink.rule("stalls", width, f"% of the time, {sampled_words(stalls)}")]
        shares = {"waiting": (stalls.waiting, ink.parts[DEVICE]), "idle": (stalls.idle, ink.parts[HOST])}
        for attribute, name in LANES:
            mean, style = shares[attribute]
            bursts = {int(b.at): _share(b, attribute) for b in stalls.bursts}
            lane = _lane([*[-1] * (room - len(columns)), *columns], bursts, ink, style, rows)
            told = ink.line().add(f" {name}", ink.text).right(f"{100 * mean:.0f} %", 27 - 3 - len(name), ink.strong)
            labels = ["100", *[""] * (rows - 2), "0"] if rows > 1 else [""]
            drawn += [between(label, row, ink.line(), ink) for label, row in zip(labels[:-1], lane[:-1], strict=True)]
            drawn.append(between(labels[-1], lane[-1], told, ink))
        return drawn


def _share(burst: Burst, attribute: str) -> float:
    return burst.waiting if attribute == "waiting" else burst.idle


def _lane(columns: Sequence[int | None], bursts: Mapping[int, float], ink: Ink, style: Style, rows: int) -> list[Strip]:
    """The rows of a lane: a bar for each burst, with its number before it where the one before leaves room."""
    text = [[" "] * len(columns) for _ in range(rows)]
    codes = [["n"] * len(columns) for _ in range(rows)]
    free = 0
    for place, second in enumerate(columns):
        share = bursts.get(second) if second is not None else None
        if second is None:
            for y in range(rows):
                text[y][place], codes[y][place] = PAUSE, "p"
            free = place + 1
        if share is None:
            continue
        for y in range(rows):
            level = _level(share, rows, y)
            text[rows - 1 - y][place] = LOW if ink.ascii and 0 < level < EIGHTHS // 2 else RISING[level]
            codes[rows - 1 - y][place] = "b"
        number = f"{100 * share:.0f}"
        if place - len(number) >= free:
            text[-1][place - len(number) : place] = number
            codes[-1][place - len(number) : place] = "t" * len(number)
        free = place + 2
    styles = {"n": ink.text, "b": style, "t": ink.text, "p": ink.faint}
    return [Strip(runs("".join(t), "".join(c), styles), len(columns)) for t, c in zip(text, codes, strict=True)]


def _level(share: float, rows: int, row: int) -> int:
    eighths = max(1 if share > 0 else 0, round(share * rows * EIGHTHS))
    return max(0, min(EIGHTHS, eighths - row * EIGHTHS))
