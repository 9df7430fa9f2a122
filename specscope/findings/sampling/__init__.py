"""Rules about sampling: SPC2xx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.sampling import (
    hidden_min_p,
    hidden_sampler_default,
    sampler_drift,
)

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    hidden_min_p.RULE,
    hidden_sampler_default.RULE,
    sampler_drift.RULE,
)
"""In the order of their codes."""
