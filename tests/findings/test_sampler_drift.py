"""SPC203: requests that are sampled differently, from each other or from a recorded run."""

from __future__ import annotations

import builders as b
import msgspec
import pytest
from judged import evidence, found, look, said, state

from specscope.findings.sampling.sampler_drift import RECORDED, RULE

CHAT = {"temperature": 0.8, "top_k": 40, "stream": True, "chat_format": "peg"}
GREEDY = CHAT | {"temperature": 0.0}
FIRST = b.idle(0.1, task=None)


def requests(*params: dict[str, object]) -> list[object]:
    facts: list[object] = [FIRST]
    for number, one in enumerate(params):
        facts += [b.busy(1.0 + number, task=number, params=one), b.idle(1.5 + number, task=number)]
    return facts


def test_two_requests_that_differ() -> None:
    finding = found(RULE, *requests(CHAT, CHAT, GREEDY))
    assert finding.severity == "info"
    assert finding.settled
    assert finding.summary == "3 requests were sampled in 2 ways: temperature differs"
    assert finding.evidence == (
        ("2 requests, chat, streamed", "temperature 0.8"),
        ("1 request, chat, streamed", "temperature 0"),
        ("changes", "1 from one request to the next"),
    )
    assert "--temp" in finding.advice


def test_how_fast_each_was_stands_beside_it() -> None:
    lines = [b.attached("log", "cycles"), *b.of_log([(7, 3)] * 20, task=1, at=1.1)]
    done = b.logged(1.6, task=1, generated=81, generated_ms=800.0, drafted=140, accepted=60)
    more = [b.busy(2.0, task=2, params=GREEDY), b.idle(2.5, task=2)]
    finding = found(RULE, FIRST, b.busy(1.0, task=1, params=CHAT), *lines, done, b.idle(1.7, task=1), *more)
    assert evidence(finding)["1 request, chat, streamed"].startswith("temperature")
    assert any("tau 3.86, 100 tok/s" in shown for _, shown in finding.evidence)


def test_many_ways_are_counted_and_the_most_frequent_shown() -> None:
    finding = found(RULE, *requests(*[CHAT | {"top_k": 10 + number} for number in range(7)]))
    assert evidence(finding)["more"] == "3 other ways"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        (requests(CHAT), "waits"),
        (requests(CHAT, CHAT, CHAT), "nothing"),
        (requests(CHAT, CHAT | {"seed": 7, "n_predict": 5, "stream": False}), "nothing"),
        (requests(CHAT, CHAT | {"temperature": 0.800000011920929}), "nothing"),
        (requests(CHAT, CHAT | {"n_probs": 5}), "nothing"),
    ],
    ids=["nothing", "one request", "all alike", "seeds and limits", "a difference of printing", "more in the answer"],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says


# --- against a recorded run ------------------------------------------------------------------------------------------

BEFORE = b.fold(b.found(), b.model(name="m"), b.props(defaults=CHAT)).view()


def test_other_values_than_in_the_recording() -> None:
    now = [b.model(name="m"), b.props(defaults=CHAT | {"top_k": 0})]
    finding = found(RULE, *now, against=BEFORE, subject=f"t0 {RECORDED}")
    assert finding.severity == "warning"
    assert evidence(finding) == {"top_k": "40 then, 0 now"}
    assert "--top-k" in finding.advice


def test_the_recording_of_the_same_model_is_taken() -> None:
    both = b.fold(b.found(), b.model(name="other"), b.props(defaults=GREEDY))
    for fact in (b.found(), b.model(name="m"), b.props(defaults=CHAT)):
        values = {name: getattr(fact, name) for name in fact.__struct_fields__}
        both.apply(type(fact)(**values | {"target": "t1"}))
    facts = [b.model(name="m"), b.props(defaults=CHAT)]
    assert (
        said(look(RULE, *facts, against=both.view()))
        == "waits: 2 requests whose parameters are seen on /slots (0 so far)"
    )
    says = said(look(RULE, b.model(name="third"), b.props(defaults=CHAT), against=both.view()))
    assert says == "waits: 2 requests whose parameters are seen on /slots (0 so far)"


def test_of_several_with_this_model_the_one_at_this_address_is_taken() -> None:
    copies = b.fold(b.found(url="http://127.0.0.1:1"), b.model(name="m"), b.props(defaults=GREEDY))
    for fact in (b.found(url="http://127.0.0.1:2"), b.model(name="m"), b.props(defaults=CHAT)):
        copies.apply(msgspec.structs.replace(fact, target="t1"))
    facts = [b.model(name="m"), b.props(defaults=CHAT)]
    assert state(look(RULE, b.found(url="http://127.0.0.1:2"), *facts, against=copies.view())) == "waits"
    assert state(look(RULE, b.found(url="http://127.0.0.1:1"), *facts, against=copies.view())) == "found"
    elsewhere = found(RULE, *facts, against=copies.view(), subject=f"t0 {RECORDED}")
    assert "temperature" in evidence(elsewhere)


@pytest.mark.parametrize(
    "facts",
    [
        [],
        [b.props(defaults=CHAT)],
        [b.props(defaults=CHAT | {"seed": 5})],
        [b.props(defaults=CHAT, n_ctx=4096)],
    ],
    ids=["values unknown", "as it was", "another seed", "another setting"],
)
def test_nothing_that_matters_differs(facts: list[object]) -> None:
    assert (
        said(look(RULE, *facts, against=BEFORE)) == "waits: 2 requests whose parameters are seen on /slots (0 so far)"
    )
