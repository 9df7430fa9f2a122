"""Facts that are pumped while the rules look along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from replayed import recording, replayed

from specscope.cli.feeds import ReplayFeed
from specscope.cli.pump import Pump, last_state, played
from specscope.settings import Profile, Settings

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.findings.rule import Finding

CARD = Settings(profile={"card": Profile(match="", sampling={"min_p": 0.0}, source="the model card")})
SET, UNSET = ({"min_p": value} for value in (0.0, 0.05))
START = [b.found(), b.process("-m m.gguf"), b.props(defaults={"min_p": 0.05})]


def request(at: float, params: dict[str, float]) -> list[ev.Event]:
    """A request of a second, with facts along it."""
    return [b.busy(at, task=int(at) + 1, params=params), b.mark("x", at + 0.5), b.idle(at + 0.9, task=int(at) + 1)]


def pumped(*params: dict[str, float]) -> Pump:
    """A watch of one request a second."""
    pump = Pump(CARD, None)
    pump.look_along()
    for fact in (*START, *(fact for i, p in enumerate(params) for fact in request(10.0 + i, p))):
        pump.emit(fact)
    return pump


def found(pump: Pump, *, final: bool = False) -> list[Finding]:
    """What is said of min_p; that the requests differ is another rule's."""
    return [f for f in pump.diagnosis(final=final).findings if f.name == "hidden_min_p"]


def names(pump: Pump, *, final: bool = False) -> list[str]:
    return [f.name for f in found(pump, final=final)]


def test_looking_along_tells_since_when() -> None:
    pump = pumped(*[SET] * 8, *[UNSET] * 8)
    (finding,) = found(pump, final=True)
    assert finding.since == pytest.approx(b.T0 + 18, abs=1.0)


def test_one_look_at_the_end_finds_the_same_without_knowing_since_when() -> None:
    pump = Pump(CARD, None)
    for fact in (*START, *request(10.0, UNSET)):
        pump.emit(fact)
    assert names(pump) == []
    (finding,) = found(pump, final=True)
    assert finding.since == b.T0 + 10.9


def test_what_lasts_for_a_moment_is_shown_by_no_screen() -> None:
    assert names(pumped(*[SET] * 8, UNSET, *[SET] * 4)) == []


def test_what_was_wrong_for_long_is_cleared_after_a_while() -> None:
    assert names(pumped(*[UNSET] * 8, *[SET] * 3)) == ["hidden_min_p"]
    assert names(pumped(*[UNSET] * 8, *[SET] * 12)) == []


@pytest.mark.parametrize("name", ["dflash", "h200_top_k_0", "two_slots", "restart"])
def test_looking_along_changes_nothing_of_the_state(name: str) -> None:
    along, plain = played(recording(name), Settings()).session(), last_state(recording(name))
    assert plain.at == replayed(name).at
    for one, other in zip(along.targets, plain.targets, strict=True):
        assert (one.evidence, one.tier, one.epoch) == (other.evidence, other.tier, other.epoch)
        assert [r.cycles for r in one.requests] == [r.cycles for r in other.requests]
        assert [c.accepted for c in one.cycles] == [c.accepted for c in other.cycles]
        assert (one.rates.tok_s, one.totals.tau) == (other.rates.tok_s, other.totals.tau)


async def test_a_replay_at_its_end_shows_what_check_finds() -> None:
    feed = ReplayFeed(recording("h200_top_k_0"), Settings(), 0.0)
    await feed.run()
    feed.session()
    shown = feed.diagnosis().findings
    assert shown == played(recording("h200_top_k_0"), Settings()).diagnosis(final=True).findings
    assert len(shown) == 3
