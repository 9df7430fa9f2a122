"""``specscope explain``: what a rule looks at, why it matters, what to do about it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from specscope.cli.exits import OK, CommandError
from specscope.findings.registry import RULES, explanation, rule_by
from specscope.reports.text import rule_line

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.findings.rule import Rule


def run(args: Namespace) -> int:
    """Explain one rule, or list them all."""
    if args.rule is None:
        lines = [rule_line(rule, _plain(rule).splitlines()[0]) for rule in RULES]
        sys.stdout.write("\n".join(lines) + "\n")
        return OK
    rule = rule_by(args.rule)
    if rule is None:
        raise CommandError(f"no rule {args.rule!r}; specscope explain lists them all")
    sys.stdout.write(f"{rule.code} {rule.name} ({rule.severity})\n\n{_plain(rule)}\n")
    return OK


def _plain(rule: Rule) -> str:
    """The rule's text without its markup for code."""
    return explanation(rule).replace("``", "")
