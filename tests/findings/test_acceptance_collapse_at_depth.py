"""SPC121: from some depth on next to nothing is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.rule import Collecting
from specscope.findings.speculation.acceptance_collapse_at_depth import MIN_STEPS, RULE

if TYPE_CHECKING:
    from specscope import events as ev

DRAFTS = [b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 7"), b.attached("log", "cycles")]
FINE = (3, 4, 5)
DEPTHS = (500, 1500, 3000, 6000, 12_000)


def at_depths(*accepted: float, steps: int = 120) -> list[ev.Event]:
    """A request at each of the depths, in whose cycles so many tokens are accepted on average."""
    facts = list(DRAFTS)
    for task, (depth, mean) in enumerate(zip(DEPTHS, accepted, strict=False), 1):
        at, count = 100.0 * task, steps if task == len(accepted) else 120
        taken = [min(7, int((i + 1) * mean) - int(i * mean)) for i in range(count)]
        facts += [b.launched(at, task=task), b.busy(at + 0.01, task=task, fill_tokens=depth, speculative=True)]
        facts.append(b.step(at + 0.02, 1, task=task, fill_tokens=depth + 1))
        facts += [b.cycle(at + 0.1 + i / 50, 7, a, task=task) for i, a in enumerate(taken)]
        facts.append(b.idle(at + 50, task=task, fill_tokens=depth + 400))
    return facts


def test_beyond_what_the_drafter_was_trained_for() -> None:
    drafter = b.model("drafter", n_ctx_train=4096)
    finding = found(RULE, drafter, *at_depths(3.0, 3.1, 2.9, 0.2, 0.1))
    assert finding.severity == "warning"
    assert finding.summary == "beyond 4,096 tokens of context 0.2 drafted tokens a step are accepted, 3.0 before"
    assert evidence(finding)["drafter trained for"] == "4,096 tokens"
    assert "--ctx-size" in finding.advice


@pytest.mark.parametrize(
    ("accepted", "says"),
    [
        ((3.0, 3.0, 3.0, 3.0), "nothing"),
        ((3.0, 2.5, 1.8, 1.3), "nothing"),
        ((3.0, 0.2, 3.0), "nothing"),
        ((0.1, 0.1, 0.0), "nothing"),
        ((3.0,), "waits"),
        ((), "waits"),
    ],
    ids=["steady", "slowly less", "of another kind in between", "never any", "one depth", "nothing"],
)
def test_no_collapse(accepted: tuple[float, ...], says: str) -> None:
    assert state(look(RULE, *at_depths(*accepted))) == says


@pytest.mark.parametrize(("deep", "is_kept"), [(1.2, True), (1.5, False)])
def test_once_raised_it_stays_until_more_is_accepted(deep: float, is_kept: bool) -> None:
    assert look(RULE, *at_depths(3.0, 3.0, deep)) == ()
    assert bool(look(RULE, *at_depths(3.0, 3.0, deep), raised=["t0"])) is is_kept


def test_too_few_steps_at_depth() -> None:
    waits = look(RULE, *at_depths(3.0, 3.0, 0.1, steps=MIN_STEPS - 10))
    assert isinstance(waits, Collecting)
    assert waits.needs.startswith("50 steps beyond 2,048 tokens (")
    assert look(RULE, *at_depths(3.0, 3.0, 2.9, steps=MIN_STEPS - 10)) == ()


@pytest.mark.parametrize("types", ["ngram-mod", "ngram-mod,draft-dflash", "none"])
def test_it_is_about_drafters_alone(types: str) -> None:
    assert state(look(RULE, *at_depths(3.0, 3.0, 0.1)[1:], b.process(f"--spec-type {types}"))) == "does not apply"
