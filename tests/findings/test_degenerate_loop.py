"""SPC127: a model that is forced past its end repeats itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said, state
from replayed import replayed

from specscope.findings.rule import Case, Collecting
from specscope.findings.speculation.degenerate_loop import RULE

if TYPE_CHECKING:
    from specscope import events as ev

FORCED = {"ignore_eos": True, "n_predict": 400}
DRAFTS = b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 7")


def request(
    accepted: int, *, task: int = 1, cycles: int = 60, params: dict[str, object] | None = None, plain: int = 0
) -> list[ev.Event]:
    """A request of cycles 7 wide with so many accepted in each."""
    at = 100.0 * task
    return [
        b.launched(at, task=task),
        b.busy(at + 0.001, task=task, params=FORCED if params is None else params),
        *[b.cycle(at + 0.02 * (i + 1), 7, accepted, task=task) for i in range(cycles)],
        b.logged(at + 50, task=task, generated=1 + plain + cycles * (accepted + 1), generated_ms=5000),
        b.idle(at + 51, task=task),
    ]


def test_nearly_all_is_accepted_of_a_request_that_may_not_stop() -> None:
    finding = found(RULE, DRAFTS, *request(7))
    assert finding.severity == "warning"
    assert finding.summary == "1 of 1 requests forced past their end look like loops: 100% accepted"
    assert evidence(finding)["longest of them"] == "481 tokens, 420 accepted of drafts"
    assert '"ignore_eos"' in finding.advice
    assert "--ignore-eos" in finding.advice


def test_the_recording_of_tables_has_one() -> None:
    session = replayed("ngram")
    (finding,) = RULE.look(Case(session.targets[0], session))  # type: ignore[misc]
    assert finding.summary == "1 of 2 requests forced past their end look like loops: 96% accepted"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (request(7, params={"ignore_eos": False}), "nothing"),
        (request(7, params={}), "waits"),
        (request(5), "nothing"),
        (request(7, plain=2000), "nothing"),
        ([b.process("--spec-type draft-dflash --spec-synth-rates 1,1,1,1,1,1,1"), *request(7)], "does not apply"),
        ([b.said("synthetic_acceptance"), *request(7)], "does not apply"),
    ],
    ids=["may stop", "not known", "5 of 7", "few of its tokens from drafts", "by chance", "by chance, said"],
)
def test_no_loop(facts: list[ev.Event], says: str) -> None:
    assert state(look(RULE, DRAFTS, *facts)) == says


def test_one_of_many_does_not_inflate_them_and_a_quarter_does() -> None:
    def served(loops: int, others: int) -> list[ev.Event]:
        tasks = range(1, loops + others + 1)
        return [fact for task in tasks for fact in request(7 if task <= loops else 5, task=task)]

    assert look(RULE, DRAFTS, *served(1, 4)) == ()
    assert found(RULE, DRAFTS, *served(1, 3))
    assert found(RULE, DRAFTS, *served(1, 7), raised=["t0"])
    assert look(RULE, DRAFTS, *served(1, 8), raised=["t0"]) == ()


def test_once_raised_it_is_over_when_no_forced_request_is_among_the_latest() -> None:
    unforced = [DRAFTS, b.launched(0.1), b.logged(1.0, generated=30, drafted=40, accepted=10)]
    assert state(look(RULE, *unforced)) == "waits"  # its parameters were not seen
    assert look(RULE, *unforced, raised=["t0"]) == ()


def test_by_polling_the_widths_are_those_of_the_drafter() -> None:
    steps = [b.step(1 + 0.05 * i, 1 + 8 * i, held_ms=5.0, fill_tokens=100 + 8 * i) for i in range(60)]
    polled = [b.idle(0.1, task=0), b.busy(0.5, params=FORCED, speculative=True), *steps]
    assert found(RULE, DRAFTS, *polled)
    assert look(RULE, b.process("-md d.gguf --spec-type draft-dflash"), *polled) == Collecting(
        "a forced request of 256 tokens with 200 drafted ones (473 so far)"
    )


def test_too_short_to_tell() -> None:
    waits = look(RULE, DRAFTS, *request(7, cycles=20))
    assert waits == Collecting("a forced request of 256 tokens with 200 drafted ones (161 so far)")
    assert said(look(RULE)) == "waits: to know which methods draft (/slots, the log or the command line)"
