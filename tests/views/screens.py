"""Running the screens and reading what is on them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from specscope.settings import Settings
from specscope.views.app import SpecscopeApp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from feeds import StillFeed
    from textual.pilot import Pilot


@asynccontextmanager
async def running(feed: StillFeed, size: tuple[int, int] = (120, 40), **settings: Any) -> AsyncIterator[Pilot[None]]:  # noqa: ANN401
    """The application over a feed, painted once."""
    app = SpecscopeApp(feed, Settings(**settings))
    async with app.run_test(size=size) as pilot:
        await painted(pilot)
        yield pilot


async def painted(pilot: Pilot[None]) -> None:
    """Paint the present and wait until it is on the screen."""
    await pilot.pause()
    pilot.app.paint()
    await pilot.pause()


def rows(pilot: Pilot[None]) -> list[str]:
    """The rows on the screen."""
    return [strip.text for strip in pilot.app.screen._compositor.render_strips()]


def text(pilot: Pilot[None]) -> str:
    """All that is written on the screen."""
    return "\n".join(rows(pilot))
