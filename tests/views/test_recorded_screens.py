"""The screens at the end of real sessions, recorded from the lab's servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from feeds import StillFeed
from replayed import recording
from screens import painted

from specscope.settings import Settings
from specscope.views.app import SpecscopeApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

SIZES = ((80, 24), (120, 40), (200, 60))
AT_EVERY_SIZE = ("dflash", "polled", "two_slots")
AT_ONE = ("ngram", "replay", "none", "speculation_off", "restart")


def _app(name: str) -> SpecscopeApp:
    return SpecscopeApp(StillFeed(list(recording(name).events())), Settings())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", AT_EVERY_SIZE)
def test_live(name: str, size: tuple[int, int], snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(_app(name), terminal_size=size, run_before=painted)


@pytest.mark.parametrize("name", AT_ONE)
def test_other_servers(name: str, snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(_app(name), terminal_size=(120, 40), run_before=painted)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_cycles(size: tuple[int, int], snap_compare: Callable[..., bool]) -> None:
    async def second_screen(pilot: Pilot[None]) -> None:
        await pilot.press("2")
        await painted(pilot)

    assert snap_compare(_app("two_slots"), terminal_size=size, run_before=second_screen)
