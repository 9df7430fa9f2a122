"""What the evidence is called."""

from __future__ import annotations

from typing import get_args

import builders as b
import pytest

from specscope import events as ev
from specscope.session.state import CycleSource, Evidence
from specscope.session.tiers import COUNT_NAMES, SEEN_BY_NAMES, TIER_NAMES, evidence_words, tier_of

README = {"trace", "cycles", "polled", "totals"}
CYCLE = [b.attached("log", "cycles"), b.launched(), b.cycle()]


def test_there_are_no_names_but_those_of_the_readme() -> None:
    assert set(TIER_NAMES) == set(get_args(ev.Tier))
    assert set(TIER_NAMES.values()) == README | {"none"}
    assert set(SEEN_BY_NAMES) == set(get_args(CycleSource))
    assert set(SEEN_BY_NAMES.values()) < README
    assert set(COUNT_NAMES) == set(get_args(Evidence))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ([], "none"),
        ([b.attached("slots", "polled")], "polled, nothing seen yet"),
        ([b.attached("log", "log")], "totals, nothing seen yet"),
        (CYCLE, "cycles, not yet compared"),
        ([*CYCLE, b.attached("trace", "trace")], "trace, not yet compared"),
        ([*CYCLE, b.released(), b.logged(generated=7, drafted=15, accepted=5)], "cycles, exact"),
        ([*CYCLE, b.released(), b.logged(generated=7, drafted=15, accepted=4)], "cycles, PARTED"),
        ([*CYCLE, b.lost("log")], "cycles, some missed"),
    ],
    ids=["nothing", "polled", "log alone", "cycles", "trace", "exact", "parted", "gone"],
)
def test_tier_and_comparison(facts: list[ev.Event], words: str) -> None:
    assert evidence_words(b.seen(b.found(), *facts)) == words


def test_a_server_that_is_gone_keeps_the_evidence_of_its_cycles() -> None:
    assert tier_of(b.seen(b.found(), b.lost("log"))) == "none"
    assert tier_of(b.seen(b.found(), *CYCLE, b.lost("log"))) == "cycles"
