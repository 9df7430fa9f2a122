"""Rules about the server and attaching to it: SPC6xx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

RULES: Final[tuple[Rule, ...]] = ()
"""In the order of their codes."""
