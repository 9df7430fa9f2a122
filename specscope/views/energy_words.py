"""What a token costs in energy, and what crosses the bus for a turn, in phrases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.session.bus import bus_of
from specscope.views.figures import MARKS, UNKNOWN, data_size, whole

if TYPE_CHECKING:
    from specscope.session.gpu_state import Energy
    from specscope.session.state import Target
    from specscope.views.gpu_words import Device

GUESSED = MARKS["estimated"]


def joules(value: float | None) -> str:
    """``0.83``, ``12.4``: without the unit."""
    if value is None:
        return UNKNOWN
    digits = 1 if value >= 10 else 2 if value >= 0.1 else 3  # noqa: PLR2004  three digits that count
    return f"{value:,.{digits}f}"


def energy_mark(energy: Energy) -> str:
    """By the driver's counter, or added up from readings of power."""
    return MARKS["counted" if energy.counted else "estimated"]


def per_token(energy: Energy | None) -> str:
    """``0.83 J/token+``; a dash where nothing was generated while energy was read."""
    if energy is None or energy.j_per_token is None:
        return f"{UNKNOWN} J/token"
    return f"{joules(energy.j_per_token)} J/token{energy_mark(energy)}"


def per_accepted(energy: Energy | None) -> str:
    """``1.42 J/accepted+``; empty where no draft token was accepted."""
    if energy is None or energy.j_per_accepted is None:
        return ""
    return f"{joules(energy.j_per_accepted)} J/accepted{energy_mark(energy)}"


def live(energy: Energy | None, *, stale: bool) -> str:
    """``now 0.81~``; empty while nothing is decoded."""
    if stale or energy is None or energy.live_j_per_token is None:
        return ""
    return f"now {joules(energy.live_j_per_token)}{GUESSED}"


def rejected(energy: Energy | None) -> str:
    """``rejected drafts at most 0.21 of it~``: an upper bound, as one forward computes all rows at once."""
    if energy is None or energy.rejected_j_per_token is None:
        return ""
    return f"rejected drafts at most {joules(energy.rejected_j_per_token)}{GUESSED}"


def counted_over(energy: Energy | None) -> str:
    """``over 4,212 tokens``."""
    return f"over {whole(energy.tokens)} tokens" if energy is not None and energy.tokens else ""


def to_host(target: Target, device: Device) -> str:
    """``to host 497 MB/s``: the mean while decoding, else the latest reading."""
    link = device.gpu.link
    mean = device.gpu.to_host_bytes_per_s
    now = link.to_host_bytes_per_s if link is not None else None
    if not target.gpus or (mean is None and now is None):
        return ""
    return f"to host {data_size(mean if mean is not None else now)}/s"


def per_turn(target: Target) -> str:
    """``6.5 MB a turn~``; empty where too little was read, or a trace tells the copies themselves."""
    bus = bus_of(target.gpus, target.rates) if not target.copies else None
    return "" if bus is None else f"{data_size(bus.bytes_per_turn)} a turn{GUESSED}"
