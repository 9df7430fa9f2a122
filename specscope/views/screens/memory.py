"""The Memory screen: what is in memory, how it grew, what a deep context costs, and how the devices fare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.views.panels.depth import Depth
from specscope.views.panels.devices import Devices
from specscope.views.panels.growth import Growth
from specscope.views.panels.header import Header
from specscope.views.panels.keys import Keys, keys_of_screen
from specscope.views.panels.kv import Kv
from specscope.views.panels.memory_map import MemoryMapPanel
from specscope.views.panels.power import Power
from specscope.views.screens.memory_plan import plan
from specscope.views.screens.planned import PlannedScreen

if TYPE_CHECKING:
    from textual.geometry import Region

    from specscope.views.frame import Frame


class MemoryScreen(PlannedScreen):
    """A panel more is a line here and one in the plan."""

    def __init__(self) -> None:
        super().__init__(
            {
                "header": Header(),
                "device": MemoryMapPanel("device"),
                "host": MemoryMapPanel("host"),
                "kv": Kv(),
                "growth": Growth(),
                "power": Power(),
                "depth": Depth(),
                "devices": Devices(),
                "keys": Keys(keys_of_screen("4")),
            }
        )

    def plan(self, width: int, height: int, frame: Frame) -> dict[str, Region]:
        """As :func:`~specscope.views.screens.memory_plan.plan` says."""
        return plan(width, height, frame)
