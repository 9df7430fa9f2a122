"""Pictures of Live and Time with a trace at three sizes, and of Time where less is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import traced
from feeds import HIDDEN_MIN_P
from screens import painted

from specscope.settings import Settings
from specscope.views.app import SpecscopeApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from feeds import TracedFeed
    from textual.pilot import Pilot

SIZES = [(80, 24), (120, 40), (200, 60)]
LESS = [traced.estimated, traced.untraced, traced.by_cpu, traced.cheap, traced.plain]


def whole() -> TracedFeed:
    """All that a trace tells, with a finding and Python stacks."""
    return traced.traced([HIDDEN_MIN_P], stacks=traced.STACKS)


async def third(pilot: Pilot[None]) -> None:
    """Show the Time screen."""
    await pilot.press("3")
    await painted(pilot)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_live(size: tuple[int, int], snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(whole(), Settings()), terminal_size=size, run_before=painted)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_time(size: tuple[int, int], snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(whole(), Settings()), terminal_size=size, run_before=third)


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("feed", LESS, ids=lambda f: f.__name__)
def test_less(feed: Callable[[], TracedFeed], size: tuple[int, int], snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(feed(), Settings()), terminal_size=size, run_before=third)


@pytest.mark.parametrize(
    "settings",
    [Settings(ascii=True), Settings(no_color=True), Settings(theme="specscope-light")],
    ids=["ascii", "no_color", "light"],
)
def test_poor_terminals(settings: Settings, snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(whole(), settings), terminal_size=(120, 40), run_before=third)


def test_no_colour_live(snap_compare: Any) -> None:  # noqa: ANN401
    app = SpecscopeApp(whole(), Settings(ascii=True, no_color=True))
    assert snap_compare(app, terminal_size=(120, 40), run_before=painted)
