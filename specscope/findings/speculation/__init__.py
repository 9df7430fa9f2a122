"""Rules about speculation: SPC1xx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.speculation import (
    draft_width_clamped,
    drafter_never_stops,
    drafter_vocab_mismatch,
    drafter_wrong_arch,
    env_keeps_speculation_on,
    ignored_environment,
    mtp_head_missing,
    ngram_never_drafts,
    p_min_has_no_effect,
    projector_disables_speculation,
    removed_flag,
    spec_type_overridden,
    speculation_off,
    speculation_refused,
    synthetic_acceptance,
)

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    speculation_off.RULE,
    draft_width_clamped.RULE,
    synthetic_acceptance.RULE,
    mtp_head_missing.RULE,
    ngram_never_drafts.RULE,
    spec_type_overridden.RULE,
    env_keeps_speculation_on.RULE,
    speculation_refused.RULE,
    drafter_wrong_arch.RULE,
    drafter_vocab_mismatch.RULE,
    projector_disables_speculation.RULE,
    removed_flag.RULE,
    ignored_environment.RULE,
    drafter_never_stops.RULE,
    p_min_has_no_effect.RULE,
)
"""In the order of their codes."""
