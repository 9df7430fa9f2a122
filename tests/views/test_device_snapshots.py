"""Pictures of Live and Memory with GPUs at three sizes, and of Memory where less is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import devices
import pytest
from feeds import HIDDEN_MIN_P
from screens import painted

from specscope.settings import Settings
from specscope.views.app import SpecscopeApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from feeds import DeviceFeed
    from textual.pilot import Pilot

SIZES = [(80, 24), (120, 40), (200, 60)]
LESS: list[Callable[[], DeviceFeed]] = [devices.two, devices.lost, devices.unsure, devices.by_cpu, devices.jetson]


async def fourth(pilot: Pilot[None]) -> None:
    """Show the Memory screen."""
    await pilot.press("4")
    await painted(pilot)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("scene", [devices.h200, devices.small], ids=lambda s: s.__name__)
def test_live(scene: Callable[..., DeviceFeed], size: tuple[int, int], snap_compare: Any) -> None:  # noqa: ANN401
    app = SpecscopeApp(scene([HIDDEN_MIN_P]), Settings())
    assert snap_compare(app, terminal_size=size, run_before=painted)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("scene", [devices.h200, devices.small], ids=lambda s: s.__name__)
def test_memory(scene: Callable[..., DeviceFeed], size: tuple[int, int], snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(scene(), Settings()), terminal_size=size, run_before=fourth)


@pytest.mark.parametrize("run_before", [painted, fourth], ids=["live", "memory"])
@pytest.mark.parametrize("scene", LESS, ids=lambda s: s.__name__)
def test_less(scene: Callable[[], DeviceFeed], run_before: Any, snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(scene(), Settings()), terminal_size=(120, 40), run_before=run_before)


@pytest.mark.parametrize(
    "settings",
    [Settings(ascii=True), Settings(no_color=True), Settings(theme="specscope-light")],
    ids=["ascii", "no_color", "light"],
)
def test_poor_terminals(settings: Settings, snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(devices.small(), settings), terminal_size=(120, 40), run_before=fourth)


def test_colourless_live(snap_compare: Any) -> None:  # noqa: ANN401
    app = SpecscopeApp(devices.h200(), Settings(ascii=True, no_color=True))
    assert snap_compare(app, terminal_size=(120, 40), run_before=painted)
