"""Pictures of the Config screen at three sizes, where less is known, and on poor terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import configured
import pytest
from configured import AdvisedFeed

from specscope.settings import Settings
from specscope.views.app import SpecscopeApp

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = [(80, 24), (120, 40), (200, 60)]
LESS: dict[str, Callable[[], AdvisedFeed]] = {
    "alike": lambda: AdvisedFeed(configured.alike()),
    "hidden": lambda: AdvisedFeed(configured.hidden()),
}


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_config(size: tuple[int, int], snap_compare: Any) -> None:  # noqa: ANN401
    app = SpecscopeApp(configured.many_ways(), Settings())
    assert snap_compare(app, press=["5", "j"], terminal_size=size)


@pytest.mark.parametrize("scene", LESS)
def test_less(scene: str, snap_compare: Any) -> None:  # noqa: ANN401
    assert snap_compare(SpecscopeApp(LESS[scene](), Settings()), press=["5", "j"], terminal_size=(120, 40))


@pytest.mark.parametrize(
    "settings",
    [Settings(ascii=True), Settings(no_color=True), Settings(theme="specscope-light")],
    ids=["ascii", "no_color", "light"],
)
def test_poor_terminals(settings: Settings, snap_compare: Any) -> None:  # noqa: ANN401
    app = SpecscopeApp(configured.many_ways(), settings)
    assert snap_compare(app, press=["5", "j"], terminal_size=(120, 40))
