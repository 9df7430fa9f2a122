"""Numbers as text. What is not known is a dash, never a zero."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.session.state import Evidence

UNKNOWN: Final = "—"

MARKS: Final[dict[Evidence, str]] = {
    "exact": "=",
    "unconfirmed": "·",
    "parted": "≠",
    "polled": "°",
    "counted": "+",
    "estimated": "~",
    "unknown": " ",
}
"""How a number is known, in one character behind it. An unknown number is a dash and needs no mark."""

MEANINGS: Final[dict[Evidence, str]] = {
    "exact": "exact: every cycle seen, and equal to the server's own count",
    "unconfirmed": "all cycles seen, not yet compared with the server's count",
    "parted": "differs from the server's own count: do not trust it",
    "polled": "seen by polling /slots, some cycles missed",
    "counted": "told by the server's counters or log, or by the driver",
    "estimated": "estimated from a model, or worked out",
    "unknown": "not known: never a zero",
}

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def whole(number: int | None) -> str:
    """A count, ``4,212``."""
    return UNKNOWN if number is None else f"{number:,}"


def decimal(number: float | None, digits: int = 1) -> str:
    """A measure, ``75.5``."""
    return UNKNOWN if number is None else f"{number:,.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share, ``38.7 %``."""
    return UNKNOWN if share is None else f"{100 * share:.{digits}f} %"


def span(seconds: float) -> str:
    """A time that has passed: ``12 s``, ``3 min``, ``2 h 05 min``, ``3 d``."""
    seconds = max(0.0, seconds)
    if seconds < 2 * _MINUTE:
        return f"{int(seconds)} s"
    if seconds < 2 * _HOUR:
        return f"{int(seconds // _MINUTE)} min"
    if seconds >= 2 * _DAY:
        return f"{int(seconds // _DAY)} d"
    return f"{int(seconds // _HOUR)} h {int(seconds % _HOUR // _MINUTE):02d} min"


def milliseconds(ms: float | None) -> str:
    """A duration with its unit: ``840 ms``, ``2.41 s``."""
    if ms is None:
        return UNKNOWN
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.2f} s"  # noqa: PLR2004  a second has 1000 ms


def data_size(count: float | None) -> str:
    """An amount of data: ``40 B``, ``262 kB``, ``4.46 MB``."""
    if count is None:
        return UNKNOWN
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size * 0.9995:  # what would be written as 1,000 is written in the larger unit
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def clock(at: float, *, tenths: bool = False) -> str:
    """The local time of day, ``12:04:31``."""
    text = time.strftime("%H:%M:%S", time.localtime(at))
    return f"{text}.{int(at * 10) % 10}" if tenths else text
