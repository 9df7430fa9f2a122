"""Pictures of the verdict, the widths, regimes and prompts: on Live and on their page, at three sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gains
import pytest
from screens import painted

from specscope.settings import Settings
from specscope.views.app import SpecscopeApp

if TYPE_CHECKING:
    from collections.abc import Callable

    from feeds import StillFeed
    from textual.pilot import Pilot

SIZES = [(80, 24), (120, 40), (200, 60)]


async def page(pilot: Pilot[None]) -> None:
    """Show the page of the widths."""
    await pilot.press("w")
    await painted(pilot)


async def prompt(pilot: Pilot[None]) -> None:
    """Ask for a mark, and go to the second of the usual labels."""
    await pilot.press("m")
    await painted(pilot)
    await pilot.press("down", "down")
    await painted(pilot)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("scene", [gains.narrower_is_better, gains.labelled], ids=lambda s: s.__name__)
def test_live(scene: Callable[[], StillFeed], size: tuple[int, int], snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(scene(), Settings()), terminal_size=size, run_before=painted)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("scene", [gains.narrower_is_better, gains.labelled], ids=lambda s: s.__name__)
def test_page(scene: Callable[[], StillFeed], size: tuple[int, int], snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(scene(), Settings()), terminal_size=size, run_before=page)


@pytest.mark.parametrize(
    "scene",
    [gains.open_still, gains.slower, gains.unknown, gains.collecting, gains.many_widths, gains.hopeless],
    ids=lambda s: s.__name__,
)
def test_less_or_other(scene: Callable[[], StillFeed], snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(scene(), Settings()), terminal_size=(120, 40), run_before=page)


@pytest.mark.parametrize("run_before", [painted, page], ids=["live", "page"])
def test_without_colour_and_in_ascii(run_before: Any, snap_compare: Any) -> None:  # noqa: ANN401
    app = SpecscopeApp(gains.open_still(), Settings(ascii=True, no_color=True))
    assert snap_compare(app, terminal_size=(120, 40), run_before=run_before)


def test_the_prompt(snap_compare: Any) -> None:  # noqa: ANN401
    app = SpecscopeApp(gains.labelled(), Settings())
    assert snap_compare(app, terminal_size=(80, 24), run_before=prompt)
