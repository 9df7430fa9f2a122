"""Rules about the server and attaching to it: SPC6xx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.server import (
    key_needed,
    metrics_disabled,
    router_needs_model,
    slots_disabled,
    untested_build,
)

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    metrics_disabled.RULE,
    slots_disabled.RULE,
    router_needs_model.RULE,
    key_needed.RULE,
    untested_build.RULE,
)
"""In the order of their codes."""
