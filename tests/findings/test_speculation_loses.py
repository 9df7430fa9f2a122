"""SPC123: slower than plain decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from benched import found_at, look_at, off
from economics_bench import Bench
from judged import evidence, look, said, state
from replayed import folded

from specscope.findings.rule import Collecting
from specscope.findings.speculation.speculation_loses import RULE
from specscope.session.economics.recorded import recorded_run

if TYPE_CHECKING:
    from specscope.findings.rule import Seen


def server(**fields: object) -> Bench:
    """9 of 10 tokens are accepted, and a cycle of 5.5 tokens takes as long as 6.7 plain steps."""
    return Bench(**{"cost": lambda w: 40.0 + 2 * w, "rates": (0.9,) * 7, "n_max": 7, "block": 8} | fields)  # type: ignore[arg-type]


def test_high_acceptance_and_slower_than_off() -> None:
    finding = found_at(RULE, server().fold(off()))
    assert finding.severity == "warning"
    assert finding.summary == "speculation is slower than plain decoding: 0.82 x its speed"
    assert evidence(finding)["accepted"] == "66% of the drafted tokens"
    assert evidence(finding)["a plain step takes"].startswith("8.02 ms (7.4")
    assert finding.cost_ms == pytest.approx(54.0 - 5.55 * 8.02, abs=0.5)
    assert finding.advice == "run without --spec-type"


def test_what_switches_it_on_is_named_as_it_was_written() -> None:
    fold = server().fold(off())
    fold.apply(b.process("-m x -md d.gguf --spec_draft_n_max 7", env={"LLAMA_ARG_SPEC_TYPE": "draft-dflash"}))
    assert found_at(RULE, fold).advice == "run without LLAMA_ARG_SPEC_TYPE and -md"


def test_a_narrower_width_that_pays_is_named_first() -> None:
    dear = Bench(cost=lambda w: 7.0 + 3 * w, rates=(0.9, 0.5) + (0.1,) * 13, requests=150)
    assert found_at(RULE, dear.fold(off())).advice.startswith("set --spec-draft-n-max 1, or run without")


@pytest.mark.parametrize(
    "paying",
    [
        Bench(requests=60),
        Bench(cost=lambda w: 8.5 + 0.01 * w, rates=(0.35,) * 15, requests=60),  # few accepted, and yet faster
        server(cost=lambda w: 30.4 + 2 * w),  # 1.00 x plain
    ],
    ids=["pays", "pays at 35 %", "nothing gained or lost for certain"],
)
def test_no_loss_for_certain(paying: Bench) -> None:
    assert look_at(RULE, paying.fold(off())) == ()


def test_once_raised_it_stays_while_the_verdict_says_so() -> None:
    def nearly(base: float) -> Bench:
        return server(cost=lambda w: base + 2 * w, requests=100)

    assert 0.99 < nearly(34.8).target(off()).economics.speedup.high < 0.995
    assert look_at(RULE, nearly(34.8).fold(off())) == ()
    assert found_at(RULE, nearly(34.8).fold(off()), raised=["t0"])
    assert 0.995 < nearly(34.55).target(off()).economics.speedup.high < 1  # reads 1.00: no sure gain, no sure loss
    assert look_at(RULE, nearly(34.55).fold(off()), raised=["t0"]) == ()


def test_without_plain_decoding_nothing_is_claimed() -> None:
    assert said(look_at(RULE, server().fold())) == "waits: plain decode time (specscope recipe plain, then --runs FILE)"


def test_several_slots_are_another_finding() -> None:
    facts = [b.process("-m x --spec-type draft-dflash --spec-draft-n-max 7"), b.attached("log", "cycles")]
    cycles = [b.cycle(1 + 0.03 * i + 0.001 * s, 7, 1, slot=s, task=1 + s) for i in range(200) for s in (0, 1)]
    assert (
        said(look(RULE, *facts, *cycles)) == "does not apply: several slots are at work at once: SPC129 tells of them"
    )


def no_finding(seen: Seen) -> bool:
    return state(seen) in ("nothing", "waits")


@pytest.mark.parametrize("pair", [("h200_dflash", "h200_plain"), ("h200_fill_dflash", "h200_fill_plain")])
def test_the_h200_does_not_lose(pair: tuple[str, str]) -> None:
    fold = folded(pair[0])
    fold.targets["t0"].economics.runs = (recorded_run(folded(pair[1]).view().targets[0], pair[1]),)
    assert no_finding(look_at(RULE, fold))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("dflash", "waits"),
        ("polled", "waits"),
        ("ngram", "waits"),
        ("two_slots", "does not apply"),
        ("replay", "waits"),
        ("none", "does not apply"),
    ],
)
def test_a_recording_without_plain_decoding_says_nothing(name: str, says: str) -> None:
    assert state(look_at(RULE, folded(name))) == says


def test_too_few_cycles() -> None:
    assert isinstance(look_at(RULE, server(requests=2).fold(off())), Collecting)
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
