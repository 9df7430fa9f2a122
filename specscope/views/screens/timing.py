"""The Time screen: where milliseconds go and went, who waited for whom, and what was copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.views.panels.copies import Copies
from specscope.views.panels.header import Header
from specscope.views.panels.keys import Keys, keys_of_screen
from specscope.views.panels.paths import Paths
from specscope.views.panels.stacks import Stacks
from specscope.views.panels.stalls import Stalls
from specscope.views.panels.timeline import Timeline
from specscope.views.panels.untraced import Untraced
from specscope.views.panels.would_show import WouldShow
from specscope.views.screens.planned import PlannedScreen
from specscope.views.screens.timing_plan import plan

if TYPE_CHECKING:
    from textual.geometry import Region

    from specscope.views.frame import Frame


class TimingScreen(PlannedScreen):
    """A panel more is a line here and one in the plan."""

    def __init__(self) -> None:
        super().__init__(
            {
                "header": Header(),
                "untraced": Untraced(),
                "timeline": Timeline(),
                "stalls": Stalls(),
                "copies": Copies(),
                "paths": Paths(),
                "stacks": Stacks(),
                "would_show": WouldShow(),
                "keys": Keys(keys_of_screen("3")),
            }
        )

    def plan(self, width: int, height: int, frame: Frame) -> dict[str, Region]:
        """As :func:`~specscope.views.screens.timing_plan.plan` says."""
        return plan(width, height, frame)
