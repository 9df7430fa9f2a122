"""What rules about several drafting methods say alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import ranged

if TYPE_CHECKING:
    from specscope.findings.rule import Case
    from specscope.session.economics.method_state import MethodRow
    from specscope.session.state import Target

LOSES_PCT: Final = -1.0
NO_LOSS_PCT: Final = 0.0
"""The upper end of a method's gain to raise a finding, and to keep it: its whole 95 % interval is a loss."""


def lost_pct(case: Case, row: MethodRow, part: str = "") -> bool:
    """Whether a method's cycles are slower for certain than what the server does without it."""
    gain = row.gain_pct
    return gain is not None and case.holds(gain.high, raise_at=LOSES_PCT, clear_at=NO_LOSS_PCT, part=part)


def displaced_ms(target: Target, row: MethodRow) -> float | None:
    """What a losing method adds to the time of the server's mean cycle."""
    cycle_ms, gain = target.economics.cycle_ms, row.server_gain_pct
    return None if cycle_ms is None or gain is None else -cycle_ms.value * gain.value / 100


def method_words(row: MethodRow) -> str:
    """What a method drafted and gained."""
    if not row.cycles:
        return "has drafted nothing"
    words = (
        f"{row.cycles:,} cycles, {row.drafted / row.cycles:.1f} drafted and {row.accepted / row.cycles:.1f} accepted"
    )
    if row.gain_pct is None:
        return f"{words} each"
    return f"{words} each, gain {ranged(row.gain_pct, 0)} % ({row.basis})"
