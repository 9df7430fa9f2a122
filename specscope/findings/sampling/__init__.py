"""Rules about sampling: SPC2xx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.sampling import (
    hidden_min_p,
)

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

RULES: Final[tuple[Rule, ...]] = (hidden_min_p.RULE,)
"""In the order of their codes."""
