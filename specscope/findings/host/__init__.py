"""Rules about the host: SPC5xx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.host import (
    full_vocabulary_sort,
    host_argmax,
    host_sampling_dominates,
    sync_stalls,
)

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    host_argmax.RULE,
    host_sampling_dominates.RULE,
    full_vocabulary_sort.RULE,
    sync_stalls.RULE,
)
"""In the order of their codes."""
