"""Power and clocks of the devices second by second: power under its limit, and when a limit held."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from rich.segment import Segment
from textual.strip import Strip

from specscope.views import gpu_words as words
from specscope.views.gpu_words import devices_of
from specscope.views.machine_keys import seconds_key
from specscope.views.memory_parts import DRAFTER, TARGET, WORK
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.runs import runs
from specscope.views.widgets.second_axis import AXIS, axis_row, between, columns_of
from specscope.views.widgets.turn_strip import scale_top
from specscope.views.widgets.value_strip import CUT, PAUSED, Value, value_rows

if TYPE_CHECKING:
    from rich.style import Style

    from specscope.session.gpu_state import Gpu, GpuSecond
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

LEAST_ROWS: Final = 7
"""Of one device: title, limit, two rows of power, when a limit held, clocks, times."""
HELD: Final = 0.5
"""Share of a second from which on a limit is said to have held in it."""
BUSY_FROM: Final = 12
"""From so many rows on, use has a lane of its own."""
UNITS: Final = {"power_w": "W", "busy_pct": "% busy", "sm_clock_mhz": "SM MHz"}
HELD_SIGN: Final = "!"
ABOVE: Final = 1.02
"""Power above the limit by more than this is marked: readings and control both lag a little."""
NAME: Final = " limit "


class Power(Panel):
    """A chart for each device, as far as there is room."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The seconds, and marks on them."""
        return tuple(seconds_key(gpu) for gpu in charted(frame)), frame.session.marks

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The most limited device first where not all fit."""
        gpus = charted(frame)
        if not gpus:
            return []
        count = max(1, min(len(gpus), height // LEAST_ROWS))
        if count < len(gpus):
            gpus = sorted(gpus, key=lambda gpu: -(gpu.limits[0].share if gpu.limits else 0.0))
        each = height // count
        rows: list[Line | Strip] = []
        for number, gpu in enumerate(gpus[:count]):
            room = each if number < count - 1 else height - len(rows)
            hidden = len(gpus) - count if not number else 0
            rows += _chart(frame, gpu, ink, (width, room), hidden)
        return rows


def charted(frame: Frame) -> list[Gpu]:
    """The devices of which seconds are known."""
    return [device.gpu for device in devices_of(frame) if device.gpu.seconds]


class _Seconds:
    """The seconds of a device as columns at the right edge of the chart."""

    def __init__(self, gpu: Gpu, room: int) -> None:
        self.told: dict[int, GpuSecond] = {int(second.at): second for second in gpu.seconds}
        self.columns = columns_of(self.told, room)
        self.left = room - len(self.columns)

    def limited(self) -> list[float | None]:
        """The share of each column in which a limit held."""
        return [self.told[s].limited if s is not None and s in self.told else None for s in self.columns]

    def told_of(self, field: str) -> list[float]:
        """What was told of a figure."""
        return [value.value for value in self.values(field) if value.value is not None and value.value >= 0]

    def values(self, field: str) -> list[Value]:
        """A figure of each column; loud while a limit held."""
        found = [Value(None)] * self.left
        for second in self.columns:
            told = self.told.get(second) if second is not None else None
            held = told is not None and told.limited is not None and told.limited >= HELD
            found.append(PAUSED if second is None else Value(getattr(told, field, None), held))
        return found


class _Lane(NamedTuple):
    """One figure of the chart; ``top`` is the value at its upper edge, ``label`` stands there."""

    field: str
    top: float
    label: str
    style: Style
    rows: int


def _lanes(gpu: Gpu, seconds: _Seconds, ink: Ink, free: int) -> list[_Lane]:
    """Power, use where there is room, and clocks, each under the most it can be."""
    limit, clock = gpu.found.power_limit_w, gpu.found.sm_clock_max_mhz
    low = max(1, free // 4)
    busy = low if free >= BUSY_FROM else 0
    power = limit if limit is not None else scale_top(seconds.told_of("power_w"))
    edge = float(clock) if clock is not None else scale_top(seconds.told_of("sm_clock_mhz"))
    rows = max(1, free - low - busy - (limit is not None))
    lanes = [_Lane("power_w", power, "" if limit is not None else f"{power:.4g}", ink.parts[DRAFTER], rows)]
    if busy:
        lanes.append(_Lane("busy_pct", 100.0, "100", ink.parts[TARGET], busy))
    return [*lanes, _Lane("sm_clock_mhz", edge, f"{edge:.0f}", ink.parts[WORK], low)]


def _chart(frame: Frame, gpu: Gpu, ink: Ink, size: tuple[int, int], hidden: int) -> list[Line | Strip]:
    """Title, the limit, power, seconds in which a limit held, use, clocks, times."""
    width, height = size
    room = max(1, width - AXIS - 1)
    seconds, limit = _Seconds(gpu, room), gpu.found.power_limit_w
    lanes = _lanes(gpu, seconds, ink, max(4, height - 3))
    units = ", ".join(UNITS[lane.field] for lane in lanes)
    said = f"{units} of GPU {gpu.index}{', ! limited' if gpu.reasons_known else ''}"
    rows: list[Line | Strip] = [ink.rule("power", width, f"{said}{f'; {hidden} more not shown' if hidden else ''}")]
    if limit is not None:
        rows.append(_row(words.limit_watts(limit), _limit_row(seconds, limit, ink), ink))
    for lane in lanes:
        strips = value_rows(seconds.values(lane.field), lane.top, lane.rows, ink, lane.style)
        rows += [_row("" if y else lane.label, strip, ink) for y, strip in enumerate(strips)]
        if lane.field == "power_w":
            rows.append(_row("", _held_row(seconds, ink), ink))
    foot = axis_row(seconds.columns, frame.session.marks, ink, room)
    return [*rows, Strip([Segment("   0 ", ink.muted), Segment("└", ink.faint), *foot], AXIS + room)]


def _row(label: str, strip: Strip, ink: Ink) -> Strip:
    return between(label, strip, ink.line(), ink)


def _limit_row(seconds: _Seconds, limit: float, ink: Ink) -> Strip:
    """The limit as a rule, with its name on it; an arrow where power was above it."""
    text = [" "] * seconds.left + ["─"] * len(seconds.columns)
    if len(seconds.columns) > len(NAME):
        text[seconds.left : seconds.left + len(NAME)] = NAME
    codes = ["l"] * len(text)
    for place, value in enumerate(seconds.values("power_w")):
        if value.value is not None and value.value > limit * ABOVE:
            text[place], codes[place] = CUT, "w"
    return Strip(runs("".join(text), "".join(codes), {"l": ink.muted, "w": ink.warn}), len(text))


def _held_row(seconds: _Seconds, ink: Ink) -> Strip:
    """A sign under each second in which a limit held most of the time."""
    signs = [HELD_SIGN if held is not None and held >= HELD else " " for held in seconds.limited()]
    text = " " * seconds.left + "".join(signs)
    return Strip(runs(text, "w" * len(text), {"w": ink.warn}), len(text))
