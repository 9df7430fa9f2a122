"""Rules about memory and the KV cache: SPC4xx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.memory import (
    context_nearly_full,
    context_never_filled,
    context_shift,
    context_shrunk_by_fit,
    draft_kv_too_coarse,
    prompt_reprocessed,
    vram_nearly_full,
    vram_spill,
)

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    vram_spill.RULE,
    vram_nearly_full.RULE,
    context_shrunk_by_fit.RULE,
    context_never_filled.RULE,
    prompt_reprocessed.RULE,
    context_shift.RULE,
    context_nearly_full.RULE,
    draft_kv_too_coarse.RULE,
)
"""In the order of their codes."""
