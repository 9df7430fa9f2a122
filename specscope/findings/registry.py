"""All rules, in the order of their codes, and how to find and explain one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from specscope.findings import gpu, host, memory, sampling, server, speculation

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    *speculation.RULES,
    *sampling.RULES,
    *gpu.RULES,
    *memory.RULES,
    *host.RULES,
    *server.RULES,
)

SECTIONS: Final = ("Looks at", "Why it matters", "What to do", "Evidence")
"""What a rule's text consists of after its first sentence; the last one says where its thresholds are from."""


def rule_by(code_or_name: str) -> Rule | None:
    """The rule with this code (case ignored) or name."""
    wanted = code_or_name.strip().lower()
    return next((r for r in RULES if wanted in (r.code.lower(), r.name)), None)


def explanation(rule: Rule) -> str:
    """The rule's text for users: the docstring of its module."""
    return (sys.modules[rule.look.__module__].__doc__ or "").strip()
