"""The screens at the end of real sessions, recorded from the lab's servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from feeds import StillFeed
from screens import painted

from specscope.recording import Recording
from specscope.settings import Settings
from specscope.views.app import SpecscopeApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

RECORDINGS = Path(__file__).parent.parent / "recordings"
SIZES = ((80, 24), (120, 40), (200, 60))
AT_EVERY_SIZE = ("dflash", "polled", "two_slots")
AT_ONE = ("ngram", "replay", "none", "speculation_off", "restart")


def _app(name: str) -> SpecscopeApp:
    recording = Recording(RECORDINGS / f"{name}.jsonl.gz")
    return SpecscopeApp(StillFeed(list(recording.events())), Settings())


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
