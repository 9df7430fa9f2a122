"""SPC408: the drafter's cache has four bits."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.memory.draft_kv_too_coarse import RULE
from specscope.findings.rule import Collecting

COARSE = b.process("-md d.gguf --spec-type draft-simple -ctkd q4_0 -ctvd q4_0")
POOR = b.of_log([(5, 0)] * 30 + [(5, 3)] * 50)
"""First position accepted in 62 % of the cycles, 37 % of all tokens."""
WIDE = b.of_log([(15, 0)] * 10 + [(15, 5)] * 70)
"""First position accepted in 87 %."""


def test_the_reported_case() -> None:
    finding = found(RULE, COARSE, *POOR)
    assert finding.severity == "warning"
    assert evidence(finding) == {
        "drafter's cache": "q4_0 (--spec-draft-type-k), q4_0 (--spec-draft-type-v)",
        "acceptance": "37.5% of 400 draft tokens",
        "first position accepted": "62% of 80 cycles",
    }
    assert finding.advice.startswith("try -ctkd q8_0 -ctvd q8_0 (or f16)")


def test_where_the_first_position_holds_the_drafts_may_only_be_wide() -> None:
    assert found(RULE, COARSE, *WIDE).severity == "info"


def test_the_log_tells_the_types_too() -> None:
    said = b.said("draft_kv_cache", type_k="q4_0", type_v="f16", mib="8.00", cells="4096", layers="1")
    types = b.busy(0.2, params={"speculative.types": "draft-dflash"})
    finding = found(RULE, said, types, *POOR)
    assert evidence(finding)["drafter's cache"] == "q4_0 (--spec-draft-type-k)"
    assert finding.advice.startswith("try --spec-draft-type-k q8_0 (or f16)")


def test_a_variable_is_advised_as_a_variable() -> None:
    env = {"LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K": "q4_0"}
    finding = found(RULE, b.process("-md d.gguf --spec-type draft-simple", env=env), *POOR)
    assert finding.advice.startswith("try LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K=q8_0 (or f16)")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("-md d.gguf --spec-type draft-simple", "nothing"),
        ("-md d.gguf --spec-type draft-simple -ctkd q8_0 -ctvd q5_1", "nothing"),
        ("-md d.gguf --spec-type draft-simple -ctk q4_0", "nothing"),
        ("--spec-type ngram-mod -ctkd q4_0", "does not apply"),
    ],
)
def test_it_does_not_apply(line: str, says: str) -> None:
    assert state(look(RULE, b.process(line), *POOR)) == says


def test_drafts_that_are_accepted_are_no_loss() -> None:
    assert look(RULE, COARSE, *b.of_log([(5, 3)] * 80)) == ()
    near = b.of_log([(5, 2)] * 40 + [(5, 3)] * 45)  # 51 %
    assert look(RULE, COARSE, *near) == ()
    assert found(RULE, COARSE, *near, raised=["t0"])


def test_too_little_is_seen() -> None:
    assert look(RULE, COARSE, *b.of_log([(5, 0)] * 49)) == Collecting("50 cycles with 200 draft tokens (49 so far)")
    assert look(RULE, COARSE, *b.of_log([(3, 0)] * 60)) == Collecting("50 cycles with 200 draft tokens (60 so far)")
    assert look(RULE, COARSE) == Collecting("50 cycles with 200 draft tokens (0 so far)")
