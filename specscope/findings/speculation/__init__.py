"""Rules about speculation: SPC1xx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.speculation import (
    draft_width_clamped,
    speculation_off,
    synthetic_acceptance,
)

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    speculation_off.RULE,
    draft_width_clamped.RULE,
    synthetic_acceptance.RULE,
)
"""In the order of their codes."""
