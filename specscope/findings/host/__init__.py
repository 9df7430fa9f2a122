"""Rules about the host: SPC5xx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.host import (
    backend_sampling_disabled,
    cuda_graphs_lost,
    drafter_on_cpu,
    full_vocabulary_sort,
    graphs_rebuilt,
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
    backend_sampling_disabled.RULE,
    drafter_on_cpu.RULE,
    cuda_graphs_lost.RULE,
    graphs_rebuilt.RULE,
)
"""In the order of their codes."""
