"""``specscope explain``: what a rule looks at, why it matters, what to do about it."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

from specscope.cli.exits import OK, CommandError
from specscope.findings.registry import RULES, rule_by
from specscope.reports.rules import rule_line, rule_text, rules_markdown

if TYPE_CHECKING:
    from argparse import Namespace


def run(args: Namespace) -> int:
    """Explain one rule, or list them all."""
    if args.markdown:
        if args.rule is not None:
            raise CommandError("--markdown writes all rules; leave the rule out")
        sys.stdout.write(rules_markdown())
        return OK
    if args.rule is None:
        sys.stdout.write("\n".join(rule_line(rule) for rule in RULES) + "\n")
        return OK
    rule = rule_by(args.rule)
    if rule is None:
        raise CommandError(f"no rule {args.rule!r}; {_hint(args.rule)}")
    sys.stdout.write(rule_text(rule) + "\n")
    return OK


def _hint(word: str) -> str:
    names = [rule.name for rule in RULES] + [rule.code.lower() for rule in RULES]
    like = difflib.get_close_matches(word.strip().lower(), names, 1)
    return f"did you mean {like[0]}?" if like else "specscope explain lists them all"
