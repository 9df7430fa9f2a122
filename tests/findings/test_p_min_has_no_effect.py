"""SPC115: p_min is set and ends no draft."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.rule import Collecting
from specscope.findings.speculation.p_min_has_no_effect import MIN_CYCLES, RULE

LINE = "-m m.gguf -md d.gguf --spec-type draft-dflash --spec-draft-n-max 7 --spec-draft-p-min 0.85"
SET = b.process(LINE)
LOG = b.attached("log", "cycles")
FULL = [(7, 2)] * MIN_CYCLES


def test_full_drafts_all_the_same() -> None:
    finding = found(RULE, SET, LOG, *b.of_log(FULL))
    assert finding.severity == "info"
    assert finding.summary == "p_min 0.85 ends next to no draft: they have the full width"
    assert evidence(finding) == {
        "--spec-draft-p-min": "0.85 (command line)",
        "draft width": "7.00 of 7 on average, in 200 cycles",
    }
    assert "--spec-draft-n-max" in finding.advice


def test_tables_do_not_read_it() -> None:
    finding = found(RULE, b.process("-m m.gguf --spec-type ngram-mod,ngram-simple --draft-p-min 0.5"))
    assert finding.settled
    assert finding.summary == "p_min 0.5 has no effect: n-gram tables do not read it"
    assert evidence(finding)["methods"] == "ngram-mod, ngram-simple"


def test_the_old_default_is_a_value_too() -> None:
    line = LINE.removesuffix(" --spec-draft-p-min 0.85")
    finding = found(RULE, b.process(line, {}), b.props(build="b9100"), LOG, *b.of_log(FULL))
    assert evidence(finding)["--spec-draft-p-min"] == "0.75 (server default)"


def test_it_stays_raised_until_the_drafts_are_clearly_shorter() -> None:
    some = [SET, LOG, *b.of_log([(7, 2)] * 190 + [(4, 2)] * 15)]
    assert look(RULE, *some) == ()
    assert found(RULE, *some, raised=["t0"])
    assert look(RULE, SET, LOG, *b.of_log([(7, 2)] * 170 + [(4, 2)] * 40), raised=["t0"]) == ()


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([SET], "waits"),
        ([b.process(LINE.replace("0.85", "0")), LOG, *b.of_log(FULL)], "does not apply"),
        ([b.process(LINE.removesuffix(" --spec-draft-p-min 0.85")), LOG, *b.of_log(FULL)], "waits"),
        ([SET, LOG, *b.of_log([(7, 2), (3, 2)] * MIN_CYCLES)], "nothing"),
        ([b.process(LINE.replace("draft-dflash", "ngram-mod,draft-dflash")), LOG, *b.of_log(FULL)], "does not apply"),
        ([b.process("--spec-type ngram-mod"), b.props(build="b9100")], "does not apply"),
        ([LOG, *b.of_log(FULL)], "waits"),
    ],
    ids=[
        "nothing",
        "no cycles",
        "p_min is 0",
        "p_min is not set, in a build that is not known",
        "drafts differ in width",
        "a table before the drafter",
        "a table, and the old default",
        "nothing is known of p_min",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_too_few_cycles() -> None:
    waits = look(RULE, SET, LOG, *b.of_log(FULL[1:]))
    assert waits == Collecting("200 draft cycles and 200 draft tokens (199 cycles so far)")
