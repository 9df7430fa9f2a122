"""The rules for people who read: the list that ``explain`` prints, and the document made from the docstrings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.registry import RULES, explanation

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

NAME_CELLS: Final = 31
"""The longest name has 30 characters."""

AREAS: Final = {
    "SPC1": "Speculation",
    "SPC2": "Sampling",
    "SPC3": "GPU",
    "SPC4": "Memory and KV cache",
    "SPC5": "Host",
    "SPC6": "Server and attaching",
}
"""By the beginning of the code."""

HEAD: Final = """\
# What specscope finds

Written by `specscope explain --markdown > docs/findings.md` from the rules themselves; do not edit it by hand.

A rule looks at what was seen of one server. It finds something; or it finds nothing, which it says only where it had
what it needs to judge by; or it waits, and says for what and how to get it (200 draft cycles, a recorded run, a
trace); or it does not apply to this server as it is (no GPU, speculation off, no experts), and says why. A finding
has a severity (info, warning, critical), a subject, the figures that show it, what to change, and what it costs in ms
per cycle or tokens per second where that was measured. It is raised once it has been seen for 2 s (one that follows
from a flag or a file at once), stays while its rule has too little to judge by, and is cleared when it has not been
seen or its rule has not applied for 5 s, when the server restarts and when the counts are reset. The level below is
the rule's own; a single finding may be milder or graver."""


def first_line(rule: Rule) -> str:
    """What the rule finds, in one sentence."""
    return _plain(explanation(rule).split("\n\n")[0])


def rule_line(rule: Rule) -> str:
    """A rule in the list that ``explain`` prints."""
    return f"{rule.code}  {rule.name:<{NAME_CELLS}}{rule.severity:<9} {first_line(rule)}"


def rule_text(rule: Rule) -> str:
    """All that a rule says of itself."""
    return f"{rule.code} {rule.name} ({rule.severity})\n\n{_plain(explanation(rule))}"


def rules_markdown() -> str:
    """All rules: a table, then each by itself."""
    lines = [HEAD, "", "| rule | level | finds |", "|---|---|---|"]
    lines += [f"| [{r.code} `{r.name}`](#{_anchor(r)}) | {r.severity} | {_cell(_sentence(r))} |" for r in RULES]
    area = ""
    for rule in RULES:
        if AREAS[rule.code[:4]] != area:
            area = AREAS[rule.code[:4]]
            lines += ["", f"## {area}"]
        lines += ["", f"### {rule.code} {rule.name}", "", _sections(rule)]
    return "\n".join(lines) + "\n"


def _sentence(rule: Rule) -> str:
    return explanation(rule).split("\n\n")[0].strip().removesuffix(".")


def _sections(rule: Rule) -> str:
    """The docstring with its headings in bold and its code as Markdown has it."""
    first, *sections = explanation(rule).replace("``", "`").split("\n\n")
    return "\n\n".join([f"{first} ({rule.severity})", *(_bold(section) for section in sections)])


def _bold(section: str) -> str:
    head, _, rest = section.partition(":")
    return f"**{head}:**{rest}"


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


def _anchor(rule: Rule) -> str:
    """As GitHub names the heading."""
    return f"{rule.code} {rule.name}".lower().replace(" ", "-")


def _plain(text: str) -> str:
    """The text without its markup for code."""
    return text.replace("``", "")
