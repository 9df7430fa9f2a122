"""SPC103: drafts are accepted by chance, for benchmarks: the output is not valid."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, said, state

from specscope.findings.speculation.synthetic_acceptance import RULE


@pytest.mark.parametrize(
    ("fact", "shown"),
    [
        (b.process("--spec-synth-rates 0.9,0.5,0.25"), {"--spec-synth-rates": "0.9,0.5,0.25"}),
        (b.process("--spec-synth-len 3.5"), {"--spec-synth-len": "3.5"}),
        (b.said("synthetic_acceptance"), {"log": "synthetic speculative acceptance is enabled for benchmarking"}),
    ],
)
def test_a_flag_or_the_servers_warning(fact: object, shown: dict[str, str]) -> None:
    finding = found(RULE, fact)
    assert evidence(finding) == shown
    assert "SYNTHETIC" in finding.summary
    assert "--spec-synth-rates" in finding.advice
    assert finding.severity == "critical"


def test_all_that_shows_it_is_named() -> None:
    both = [b.process("--spec-synth-rates 0.9 --spec-synth-len 3"), b.said("synthetic_acceptance")]
    assert list(evidence(found(RULE, *both))) == ["--spec-synth-rates", "--spec-synth-len", "log"]


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([b.process("-md d.gguf --spec-type draft-simple")], "nothing"),
        ([b.process("--spec-synth-rates many")], "nothing"),  # refused by the server: it did not start with that
        ([b.said("spec_params", n_max="15")], "waits"),
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says


def test_very_high_acceptance_alone_is_no_sign_of_it() -> None:
    assert (
        said(look(RULE, b.attached("log", "cycles"), *b.of_log([(15, 15)] * 300)))
        == "waits: the server's command line (watch it on its own machine)"
    )
