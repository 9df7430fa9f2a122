"""Findings in words and as Markdown: all that is known of each, and what could not be judged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import builders as b
import pytest

from specscope import __version__
from specscope.findings.diagnosis import Diagnosis, Outcome
from specscope.findings.engine import Engine
from specscope.findings.registry import RULES
from specscope.findings.rule import Finding
from specscope.findings.speculation import speculation_off, synthetic_acceptance
from specscope.reports.findings_text import findings_markdown, findings_text
from specscope.session.fold import Fold

if TYPE_CHECKING:
    from specscope.session.state import Session

TRACED = [b.found(), b.server("ready"), b.attached("log", "cycles")]
SYNTHETIC = "SYNTHETIC acceptance: drafts are accepted by chance, the output is not valid"
SPC103 = b.process("--spec-synth-len 3.5")
PLAIN = Finding("SPC402", "context_nearly_full", "warning", "t0", "t0", "x", (("a", "b"),), "y")


SYNTH, OFF = synthetic_acceptance.RULE, speculation_off.RULE


def diagnosed(session: Session) -> Diagnosis:
    """What two rules say."""
    return Engine(rules=(SYNTH, OFF)).look(session, final=True)


def text(*findings: Finding) -> list[str]:
    return findings_text(Diagnosis(findings)).splitlines()


def test_a_finding_in_words_has_its_evidence_and_what_to_do() -> None:
    view = b.fold(b.found(), SPC103).view()
    assert findings_text(diagnosed(view)).splitlines() == [
        f"CRITICAL SPC103 synthetic_acceptance: {SYNTHETIC}",
        "    --spec-synth-len: 3.5",
        "    to do: remove --spec-synth-rates / --spec-synth-len on a server whose answers are used",
        "does not apply: no draft model is given (SPC101)",
        "2 rules: 1 found something, 1 does not apply",
    ]


def test_its_subject_where_it_is_a_part_of_the_server() -> None:
    assert text(replace(PLAIN, subject="t0 slot 2"))[0] == "WARNING SPC402 context_nearly_full (t0 slot 2): x"


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ({"cost_ms": 3.21}, "    costs 3.2 ms a cycle"),
        ({"cost_tok_per_s": 12.5}, "    costs 12.5 tok/s"),
        ({"cost_ms": 0.04, "cost_tok_per_s": 9.0}, "    costs 0.0 ms a cycle"),
    ],
)
def test_what_it_costs_where_that_was_measured(costs: dict[str, float], words: str) -> None:
    assert text(replace(PLAIN, **costs))[1] == words
    assert "costs" not in "".join(text(PLAIN))


def test_no_findings_and_what_is_still_waited_for() -> None:
    assert findings_text(diagnosed(Fold().view())) == "no findings"
    view = b.fold(b.found(), b.process("-md d.gguf")).view()
    assert findings_text(diagnosed(view)).splitlines() == [
        "no findings",
        "waits: SPC101 speculation_off needs a look at /slots",
        "2 rules: 1 looked and found nothing, 1 waits",
    ]


def test_a_summary_has_their_numbers_alone() -> None:
    outcomes = (
        Outcome(SYNTH, "t0", "collecting", "100 cycles"),
        Outcome(OFF, "t0", "inapplicable", "speculation is off"),
    )
    assert findings_text(Diagnosis((), outcomes), brief=True).splitlines() == [
        "no findings",
        "2 rules: 1 waits, 1 does not apply; specscope check says for what, and why",
    ]


def test_what_several_rules_say_alike_is_said_once() -> None:
    outcomes = [Outcome(rule, "t0", "collecting", "100 cycles") for rule in (SYNTH, OFF)]
    assert findings_text(Diagnosis((), tuple(outcomes))).splitlines() == [
        "no findings",
        "waits: SPC103 synthetic_acceptance, SPC101 speculation_off need 100 cycles",
        "2 rules: 2 wait",
    ]
    outcomes = [Outcome(rule, "t0", "inapplicable", "speculation is off") for rule in (SYNTH, OFF)]
    apart = Diagnosis((), tuple(outcomes))
    assert findings_text(apart).splitlines()[1:] == [
        "does not apply: speculation is off (SPC103, SPC101)",
        "2 rules: 2 do not apply",
    ]
    assert "- speculation is off: SPC103, SPC101" in findings_markdown(Fold().view(), apart)


def test_a_rule_that_broke_is_told() -> None:
    broken = Outcome(RULES[0], "t0", "failed", "KeyError: 'x'")
    said = findings_text(Diagnosis((), (broken,)))
    assert said.splitlines()[1] == f"FAILED: {RULES[0].code} {RULES[0].name}: KeyError: 'x'"
    assert f"- `{RULES[0].name}` FAILED: `KeyError: 'x'`" in findings_markdown(Fold().view(), Diagnosis((), (broken,)))


def test_texts_from_outside_cannot_steer_the_terminal() -> None:
    evil = replace(PLAIN, evidence=(("path", "a\x1b[2J\nb"),))
    assert "    path: a?[2J?b" in text(evil)
    assert "\x1b" not in findings_markdown(Fold().view(), Diagnosis((evil,)))


def test_findings_in_markdown_can_be_pasted_into_an_issue() -> None:
    view = b.fold(*TRACED, b.props(build="b11434"), SPC103).view()
    assert findings_markdown(view, diagnosed(view)).splitlines() == [
        "### specscope check",
        "",
        "- server: llama-server b11434, ready, evidence cycles, nothing seen yet",
        f"- specscope {__version__}",
        "",
        f"**SPC103 synthetic_acceptance** (critical): {SYNTHETIC}",
        "",
        "- --spec-synth-len: `3.5`",
        "- to do: remove --spec-synth-rates / --spec-synth-len on a server whose answers are used",
        "- https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        "",
        "2 rules: 1 found something, 1 does not apply.",
        "",
        "<details><summary>rules that do not apply here</summary>",
        "",
        "- no draft model is given: SPC101",
        "",
        "</details>",
    ]


def test_markdown_says_what_was_looked_at() -> None:
    facts = [
        *TRACED,
        b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 15"),
        b.model(),
        b.model("drafter", block_size=16),
        b.gpu(name="NVIDIA H200"),
        *b.of_log([(15, 5)] * 200),
    ]
    said = findings_markdown(b.fold(*facts).view(), Diagnosis()).splitlines()
    assert said[3:7] == [
        "- model: target `target.gguf`, drafter `drafter.gguf`",
        "- speculation: draft-dflash, n_max 15",
        "- 300.0 tok/s, tau 6.00, median 20.0 ms a cycle",
        "- GPU 0: NVIDIA H200",
    ]


def test_markdown_leaves_a_seen_backtick_alone() -> None:
    said = findings_markdown(Fold().view(), Diagnosis((replace(PLAIN, evidence=(("flag", "a `b`"),)),)))
    assert "- flag: `` a `b` ``" in said
    fenced = findings_markdown(Fold().view(), Diagnosis((replace(PLAIN, evidence=(("flag", "a ``b`` <i>"),)),)))
    assert "- flag: ``` a ``b`` <i> ```" in fenced


def test_markdown_folds_what_could_not_be_judged() -> None:
    view = b.fold(b.found(), b.process("-md d.gguf")).view()
    said = findings_markdown(view, diagnosed(view))
    assert "build unknown" in said
    assert "\n\nNo findings.\n\n2 rules: 1 looked and found nothing, 1 waits.\n\n" in said
    assert "<details><summary>rules that could not judge</summary>\n\n" in said
    assert "- `speculation_off` needs a look at /slots\n\n</details>" in said
    assert "<details>" not in findings_markdown(Fold().view(), Diagnosis())
