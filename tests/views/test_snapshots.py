"""Pictures of the screens at three sizes, from lists of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import facts
import pytest
from feeds import CLAMPED, HIDDEN_MIN_P, StillFeed

from specscope.settings import Settings
from specscope.views.app import SpecscopeApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.events import Event
    from specscope.findings.rule import Finding

SIZES = [(80, 24), (120, 40), (200, 60)]
SCENES: dict[str, tuple[Callable[[], list[Event]], tuple[Finding, ...]]] = {
    "exact": (facts.exact, (HIDDEN_MIN_P, CLAMPED)),
    "parted": (facts.parted, ()),
    "polled": (facts.polled, (HIDDEN_MIN_P,)),
    "two_slots": (facts.two_slots, ()),
    "plain": (facts.plain, ()),
    "down": (facts.down, ()),
    "restarted": (facts.restarted, ()),
}


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("scene", SCENES)
def test_live(scene: str, size: tuple[int, int], snap_compare: Any) -> None:  # noqa: ANN401
    events, findings = SCENES[scene]
    assert snap_compare(SpecscopeApp(StillFeed(events(), findings), Settings()), terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_cycles(size: tuple[int, int], snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(StillFeed(facts.exact()), Settings()), press=["2", "_"], terminal_size=size)


def test_light(snap_compare: Any) -> None:  # noqa: ANN401
    app = SpecscopeApp(StillFeed(facts.exact()), Settings(theme="specscope-light"))
    assert snap_compare(app, terminal_size=(120, 40))


@pytest.mark.parametrize("settings", [Settings(ascii=True), Settings(no_color=True)], ids=["ascii", "no_color"])
def test_poor_terminals(settings: Settings, snap_compare: Any) -> None:  # noqa: ANN401
    app = SpecscopeApp(StillFeed(facts.exact(), (HIDDEN_MIN_P,)), settings)
    assert snap_compare(app, terminal_size=(120, 40))


def test_help(snap_compare: Any) -> None:  # noqa: ANN401
    app = SpecscopeApp(StillFeed(facts.exact()), Settings())
    assert snap_compare(app, press=["question_mark"], terminal_size=(120, 44))
