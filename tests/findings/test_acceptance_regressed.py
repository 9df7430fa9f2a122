"""SPC122: less of the drafts is accepted than in the recorded run."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said

from specscope.findings.rule import Collecting
from specscope.findings.speculation.acceptance_regressed import RULE

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.state import Session

LINE = "-md d.gguf --spec-type draft-dflash --spec-draft-n-max 7"


def run(
    rate: float, *, seed: int = 1, count: int = 8, label: str | None = None, build: str = "b11434-1a2b3c4"
) -> list[ev.Event]:
    """Requests of 40 cycles, each draft token accepted at this rate until the first that is not."""
    draw = random.Random(seed)  # noqa: S311  no secret
    facts: list[ev.Event] = [b.process(LINE, env={}), b.attached("log", "cycles"), b.props(build=build)]
    facts += [b.mark(label, 1.0)] if label else []
    for task in range(count):
        at = 10.0 * (task + 1)
        taken = [next((i for i in range(7) if draw.random() > rate), 7) for _ in range(40)]
        facts += [b.launched(at, task=task)]
        facts += [b.cycle(at + 0.1 + i / 100, 7, a, task=task) for i, a in enumerate(taken)]
        facts.append(b.logged(at + 1, task=task, generated=1 + sum(a + 1 for a in taken), generated_ms=800))
    return facts


def recorded(*facts: ev.Event) -> Session:
    return b.fold(b.found(), *facts).view()


BEFORE = recorded(*run(0.8))


def test_another_build_accepts_less_of_the_same_drafts() -> None:
    finding = found(RULE, *run(0.6, seed=2, build="b11549-9f8e7d6"), against=BEFORE)
    assert finding.severity == "warning"
    assert finding.summary.startswith("acceptance fell from 4")
    assert evidence(finding)["what differs"] == "build b11434-1a2b3c4 -> b11549-9f8e7d6"


def test_a_sampling_default_that_changed_is_named() -> None:
    before = recorded(b.busy(0.1, task=99, params={"min_p": 0.0, "top_k": 64}), *run(0.8))
    now = [b.busy(0.1, task=99, params={"min_p": 0.05, "top_k": 40}), *run(0.65, seed=2)]
    assert evidence(found(RULE, *now, against=before))["what differs"] == "top_k 64 -> 40; min_p 0 -> 0.05"


def test_where_nothing_differs_that_is_said() -> None:
    what = evidence(found(RULE, *run(0.6, seed=2), against=BEFORE))["what differs"]
    assert what == "nothing that is seen: not the configuration"


@pytest.mark.parametrize(("rate", "seed"), [(0.8, 2), (0.95, 2), (0.79, 3)], ids=["the same", "more", "about as much"])
def test_it_has_not_fallen(rate: float, seed: int) -> None:
    assert look(RULE, *run(rate, seed=seed), against=BEFORE) == ()


def test_each_kind_of_work_by_itself() -> None:
    before = recorded(*run(0.8, label="code"))
    finding = found(RULE, *run(0.6, seed=2, label="code"), against=before, subject="t0 code")
    assert finding.summary.startswith("acceptance of code fell")


def test_once_raised_it_stays_until_it_is_nearly_back() -> None:
    nearly = run(0.78, seed=4, count=12)
    assert look(RULE, *nearly, against=BEFORE) == ()
    assert found(RULE, *nearly, against=BEFORE, raised=["t0"])
    assert look(RULE, *run(0.8, seed=2), against=BEFORE, raised=["t0"]) == ()


@pytest.mark.parametrize("line", [LINE.replace("n-max 7", "n-max 15"), "--spec-type ngram-mod"])
def test_another_width_or_method_cannot_be_compared(line: str) -> None:
    says = said(look(RULE, *run(0.6, seed=2)[1:], b.process(line, env={}), against=BEFORE))
    assert says == "does not apply: the recorded run drafted with other methods or another width"


def test_a_recording_of_several_servers_is_compared_by_the_model() -> None:
    other = b.fold(b.found(), *run(0.8), b.model(name="a"))
    for name in ("b", "c"):
        other.apply(b.model(name=name))
    two = b.fold(b.found(), *run(0.8), b.model(name="a"))
    for fact in (b.found(), b.model(name="b")):
        values = {key: getattr(fact, key) for key in fact.__struct_fields__}
        two.apply(type(fact)(**values | {"target": "t1"}))
    now = run(0.6, seed=2)
    assert found(RULE, *now, b.model(name="a"), against=two.view())
    assert (
        said(look(RULE, *now, b.model(name="b"), against=two.view()))
        == "does not apply: the recorded run made no drafts"
    )  # it drafted nothing there
    says = said(look(RULE, *now, b.model(name="x"), against=two.view()))
    assert says == "does not apply: the recording has no server with this model"
    assert said(look(RULE, *now, against=two.view())) == "does not apply: the recording has no server with this model"


def test_too_few_requests() -> None:
    waits = look(RULE, *run(0.6, seed=2, count=2), against=BEFORE)
    assert waits == Collecting("3 requests and 200 drafted tokens of each kind of work in both runs")
    assert (
        said(look(RULE, *run(0.6, seed=2))) == "waits: a recorded run to compare with (specscope check --against FILE)"
    )
    says = said(look(RULE, against=BEFORE))
    assert says == "waits: to know which methods draft (/slots, the log or the command line)"
