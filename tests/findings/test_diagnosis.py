"""In which order findings stand, and whose they are."""

from __future__ import annotations

from dataclasses import replace

import builders as b
import pytest

from specscope.findings.diagnosis import Diagnosis, Outcome, ranked, sum_words
from specscope.findings.registry import RULES
from specscope.findings.rule import Finding
from specscope.session.state import Rates

PLAIN = Finding("SPC101", "a", "info", "t0", "t0", "x", (("a", "b"),), "y")


def finding(code: str, **fields: object) -> Finding:
    return replace(PLAIN, code=code, **fields)


def order(*findings: Finding, rates: Rates | None = None) -> list[str]:
    session = b.fold(b.found()).view()
    (target,) = session.targets
    session = replace(session, targets=(replace(target, rates=rates or Rates()),))
    return [f.code for f in ranked(findings, session)]


def test_the_severest_comes_first_then_what_costs_most_then_the_code() -> None:
    findings = [
        finding("SPC105"),
        finding("SPC101"),
        finding("SPC104", severity="critical"),
        finding("SPC102", cost_ms=1.5),
        finding("SPC107", severity="warning"),
        finding("SPC103", cost_ms=12.0),
        finding("SPC108", severity="warning", cost_ms=1.0),
    ]
    assert order(*findings) == ["SPC104", "SPC108", "SPC107", "SPC103", "SPC102", "SPC101", "SPC105"]


@pytest.mark.parametrize(("lost", "first"), [(25.0, "SPC102"), (26.0, "SPC101")])
def test_tokens_per_second_are_weighed_as_their_share_of_the_cycle(lost: float, first: str) -> None:
    # 25 tok/s lost at 100 tok/s: without the loss a cycle of 50 ms would take 40 ms.
    findings = [finding("SPC101", cost_tok_per_s=lost), finding("SPC102", cost_ms=10.01)]
    assert order(*findings, rates=Rates(tok_s=100.0, cycle_ms=50.0))[0] == first


def test_a_loss_without_a_known_cycle_stands_between_losses_in_ms_and_what_has_none() -> None:
    findings = [finding("SPC101"), finding("SPC102", cost_tok_per_s=9.0)]
    assert order(*findings, finding("SPC104", cost_ms=0.01)) == ["SPC104", "SPC102", "SPC101"]


def test_what_loses_nothing_stands_with_what_has_no_known_loss() -> None:
    assert order(finding("SPC102", cost_tok_per_s=0.0), finding("SPC101")) == ["SPC101", "SPC102"]


def test_of_one_server() -> None:
    both = Diagnosis((finding("SPC101"), finding("SPC102", target="t1", subject="t1 slot 0")))
    assert [f.code for f in both.of("t1").findings] == ["SPC102"]


def test_how_the_rules_fare_in_numbers() -> None:
    states = ["collecting", "inapplicable", "inapplicable", "nothing", "found", "failed"]
    said = Diagnosis((), tuple(Outcome(rule, "t0", state) for rule, state in zip(RULES, states, strict=False)))
    whole = "6 rules: 1 found something, 1 looked and found nothing, 1 waits, 2 do not apply, 1 FAILED"
    assert sum_words(said) == whole
    assert sum_words(said, short=True) == whole.replace("looked and found nothing", "nothing")
    quiet = Diagnosis((), (Outcome(RULES[0], "t0", "nothing"),))
    assert sum_words(quiet, short=True) == "1 rules: 1 found nothing"
