"""The rules for people who read: the list, one rule, and the document made from the docstrings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from specscope.findings.registry import RULES, SECTIONS
from specscope.reports.rules import NAME_CELLS, rule_line, rule_text, rules_markdown

if TYPE_CHECKING:
    from specscope.findings.rule import Rule

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "findings.md"


def test_the_document_is_up_to_date() -> None:
    written = DOCUMENT.read_text(encoding="utf-8")
    assert written == rules_markdown(), "write it anew: specscope explain --markdown > docs/findings.md"


def test_every_link_of_the_table_leads_to_a_heading() -> None:
    text = rules_markdown()
    headings = [h.lower().replace(" ", "-") for h in re.findall(r"^### (.*)$", text, re.MULTILINE)]
    assert headings == re.findall(r"\(#(\S+)\)", text)
    assert len(headings) == len(RULES)


def test_every_area_has_one_heading() -> None:
    areas = re.findall(r"^## (.*)$", rules_markdown(), re.MULTILINE)
    assert len(areas) == len({rule.code[:4] for rule in RULES})
    assert len(areas) == len(set(areas))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_in_the_list(rule: Rule) -> None:
    line = rule_line(rule)
    assert line.startswith(f"{rule.code}  {rule.name}")
    assert re.search(rf" {rule.severity} +\S", line)
    assert "`" not in line
    assert len(rule.name) < NAME_CELLS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_by_itself_and_in_the_document(rule: Rule) -> None:
    said = rule_text(rule)
    assert said.startswith(f"{rule.code} {rule.name} ({rule.severity})\n\n")
    assert "`" not in said
    section = rules_markdown().split(f"### {rule.code} {rule.name}\n")[1].split("\n#")[0]
    for head in SECTIONS:
        assert f"\n{head}: " in said
        assert f"\n**{head}:** " in section
    assert section.count("`") % 2 == 0
