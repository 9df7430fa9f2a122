"""SPC118: even the first drafted token fails half the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from benched import found_at, look_at
from economics_bench import Bench
from judged import evidence, found, look, said, state
from methods_bench import DRAFTER, Kind, Server

from specscope.findings.rule import Collecting
from specscope.findings.speculation.drafter_mismatch import RULE

if TYPE_CHECKING:
    from specscope import events as ev

DRAFTS = [b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 7"), b.attached("log", "cycles")]


def rates(first: float, *, requests: int = 60) -> Bench:
    return Bench(rates=(first,) + (0.6,) * 14, requests=requests)


def cycles(hits: int, of: int) -> list[ev.Event]:
    return b.of_log([(7, 2 if i * hits % of < hits else 0) for i in range(of)])


def test_a_drafter_of_another_model() -> None:
    named = [
        b.model(name="Coder-30B-tuned", n_layer=1),
        b.model("drafter", name="Base-30B-DFlash", base_models=["https://huggingface.co/x/base"], block_size=16),
        b.busy(0.2, params={"temperature": 1.0}),
    ]
    fold = rates(0.3).fold()
    for fact in named:
        fold.apply(fact)
    finding = found_at(RULE, fold)
    shown = evidence(finding)
    assert shown["first token accepted"].startswith("31% (29%")
    assert shown["target"] == "Coder-30B-tuned"
    assert shown["drafter"] == "Base-30B-DFlash, made from https://huggingface.co/x/base"
    assert shown["temperature"] == "1"
    assert "--spec-draft-model" in finding.advice


def test_a_first_token_that_fits_and_a_draft_that_loses_the_thread() -> None:
    lost = Bench(rates=(0.8,) + (0.1,) * 14, requests=60)
    assert lost.target().totals.acceptance < 0.1
    assert look_at(RULE, lost.fold()) == ()


@pytest.mark.parametrize(
    ("line", "drafter", "advised"),
    [
        ("-m m.gguf --spec-type draft-mtp", "the target's own MTP layers", "MTP layers that were trained with it"),
        ("-m m.gguf --spec-type draft-mtp -md d.gguf", "header not read", "--spec-draft-model"),
        ("-m m.gguf --spec-type draft-eagle3 -md d.gguf", "header not read", "--spec-draft-model"),
    ],
    ids=["its own layers", "layers in a file beside it", "another method"],
)
def test_a_target_that_drafts_by_its_own_layers_has_no_drafter_to_change(line: str, drafter: str, advised: str) -> None:
    finding = found(RULE, b.process(line), b.attached("log", "cycles"), *cycles(60, 300))
    assert evidence(finding)["drafter"] == drafter
    assert advised in finding.advice


def test_near_half_nothing_is_certain() -> None:
    assert look_at(RULE, rates(0.5).fold()) == ()
    assert look_at(RULE, rates(0.52).fold()) == ()
    assert look_at(RULE, rates(0.52).fold(), raised=["t0"]) != ()
    assert look_at(RULE, rates(0.6).fold(), raised=["t0"]) == ()


def test_the_servers_counters_tell_it_too() -> None:
    def read(drafts: int, accepted: int, at: float) -> ev.Event:
        shares = [accepted // 2] * 2
        return b.counters(at, drafts, 7 * drafts, accepted, accepted_per_position=shares, generated=drafts + accepted)

    told = [DRAFTS[0], read(0, 0, 0.0), read(400, 200, 9.0)]
    assert evidence(found(RULE, *told))["first token accepted"].startswith("25% (21%")
    assert look(RULE, DRAFTS[0], read(0, 0, 0.0), read(400, 600, 9.0)) == ()


def test_behind_tables_the_drafters_own_cycles_count() -> None:
    poor = Kind("draft-dflash", 1.0, (7,), 0.3, 9.0, draft_us=1200)
    for drafter, is_found in ((poor, True), (DRAFTER, False)):
        seen = look(RULE, *Server(kinds=(Kind("ngram-mod", 0.3, (8,), 0.9, 9.0), drafter)).begin()[1:])
        assert said(seen) == "waits: the drafter's own cycles, beside the tables' (--trace auto)"
        facts = Server(kinds=(Kind("ngram-mod", 0.3, (8,), 0.9, 9.0), drafter))
        seen = look(RULE, *facts.begin()[1:], *facts.facts())
        assert bool(seen) is is_found


def test_where_tables_and_drafter_are_not_told_apart_it_says_nothing() -> None:
    both = b.process("-md d.gguf --spec-type ngram-mod,draft-dflash")
    assert (
        said(look(RULE, both, *cycles(60, 300))) == "waits: the drafter's own cycles, beside the tables' (--trace auto)"
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [("", "waits"), ("--spec-type ngram-mod", "does not apply"), ("--spec-type none", "does not apply")],
)
def test_it_is_about_drafters(line: str, says: str) -> None:
    assert state(look(RULE, b.process(line), *cycles(60, 300))) == says


def test_acceptance_by_chance_says_nothing_of_the_drafter() -> None:
    assert found(RULE, *DRAFTS, *cycles(60, 300))
    assert (
        said(look(RULE, *DRAFTS, b.said("synthetic_acceptance"), *cycles(60, 300)))
        == "does not apply: drafts are accepted by chance (--spec-synth-rates)"
    )


def test_too_few_cycles() -> None:
    assert look(RULE, *DRAFTS, *cycles(20, 199)) == Collecting("200 draft cycles (199 so far)")


def test_where_no_width_can_pay_it_says_to_turn_it_off() -> None:
    hopeless = Bench(rates=(0.005,) * 7, n_max=7, block=8, requests=20)
    advice = found_at(RULE, hopeless.fold()).advice
    assert advice.startswith("no width can pay (1.0")
    assert "tokens a cycle at most): run without --spec-type until then; use the drafter made for" in advice
    assert found_at(RULE, rates(0.3).fold()).advice.startswith("use the drafter made for")
