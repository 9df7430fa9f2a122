"""SPC405: prompts are computed again although their slot held them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.memory.prompt_reprocessed import RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from specscope import events as ev


def turn(
    task: int, *, computed: int = 7_800, cached: int | None = 0, similarity: float | None = 0.95, forced: bool = False
) -> list[ev.Event]:
    """A turn of a conversation, as /slots and the log tell it."""
    at = 10.0 * task
    told: list[ev.Event] = [b.launched(at, task=task, similarity=similarity)]
    if forced:
        told.append(b.said("full_reprocess", at + 0.1, slot="0", task=str(task)))
    told.append(b.busy(at + 0.2, task=task, processed_tokens=computed, cached_tokens=cached))
    told += [b.logged(at + 5, task=task, prompt_tokens=computed, prompt_ms=1700.0, generated=100), b.released(at + 5)]
    return [*told, b.idle(at + 5.1, task=task)]


def test_a_conversation_that_begins_anew_with_each_turn() -> None:
    finding = found(RULE, *turn(1), *turn(2, forced=True))
    assert finding.severity == "warning"
    assert evidence(finding) == {
        "computed again": "2 of 2 long prompts that their slot held",
        "the latest": "95% of it held, 7,800 tokens computed, 0 from the cache",
        "until the first token": "1.7 s on average",
        "log": "forcing full prompt re-processing, for 1 of them",
    }
    assert "--ctx-checkpoints" in finding.advice
    assert "--swa-full" in finding.advice
    assert finding.cost_ms is None


def test_the_advice_is_of_the_model_and_in_the_users_words() -> None:
    mamba = [b.model(hparams={"ssm.state_size": 16}), b.process("-m m.gguf -ctxcp 4")]
    advice = found(RULE, *mamba, *turn(1), *turn(2)).advice
    assert "-ctxcp (now 4)" in advice
    assert "--swa-full" not in advice
    window = [b.model(hparams={"attention.sliding_window": 1024})]
    assert "--swa-full" in found(RULE, *window, *turn(1), *turn(2)).advice


def test_where_the_cache_is_not_told_the_forced_line_is_needed() -> None:
    assert look(RULE, *turn(1, cached=None), *turn(2, cached=None)) == ()
    finding = found(RULE, *turn(1, cached=None, forced=True), *turn(2, cached=None, forced=True))
    assert evidence(finding)["the latest"] == "95% of it held, 7,800 tokens computed"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"computed": 500, "cached": 7_300}, "nothing"),
        ({"computed": 6_900, "cached": 900}, "nothing"),
        ({"computed": 1_900}, "waits"),
        ({"similarity": 0.7}, "waits"),
        ({"similarity": None}, "waits"),
        ({"similarity": 0.25, "forced": True}, "waits"),
    ],
    ids=["reused", "a part reused", "short", "another text", "chosen otherwise", "only its beginning was held"],
)
def test_what_is_no_loss(fields: dict[str, object], says: str) -> None:
    assert state(look(RULE, *[fact for task in (1, 2, 3) for fact in turn(task, **fields)])) == says  # type: ignore[arg-type]


def test_once_is_too_little() -> None:
    assert look(RULE, *turn(1)) == Collecting("a second prompt that is computed again")


def test_it_is_over_after_twenty_requests_that_were_reused() -> None:
    good = [fact for task in range(3, 22) for fact in turn(task, computed=500, cached=7_300)]
    assert found(RULE, *turn(1), *turn(2), *good, raised=["t0"])
    assert look(RULE, *turn(1), *turn(2), *good) == Collecting("a second prompt that is computed again")
    assert look(RULE, *turn(1), *turn(2), *good, *turn(22, computed=500, cached=7_300), raised=["t0"]) == ()
