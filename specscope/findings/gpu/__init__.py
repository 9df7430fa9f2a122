"""Rules about the GPUs: SPC3xx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.gpu import (
    clocks_low_waiting_for_host,
    power_brake,
    power_limited,
    thermal_limited,
)

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    power_limited.RULE,
    thermal_limited.RULE,
    power_brake.RULE,
    clocks_low_waiting_for_host.RULE,
)
"""In the order of their codes."""
