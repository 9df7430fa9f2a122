"""The Live screen: all panels at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.views.panels.anatomy import Anatomy
from specscope.views.panels.findings import Findings
from specscope.views.panels.gpu import Gpu
from specscope.views.panels.header import Header
from specscope.views.panels.keys import Keys, keys_of_screen
from specscope.views.panels.lengths import Lengths
from specscope.views.panels.positions import Positions
from specscope.views.panels.prefill import PrefillPanel
from specscope.views.panels.regimes import Regimes
from specscope.views.panels.requests import Requests
from specscope.views.panels.slots import Slots
from specscope.views.panels.sources import Sources
from specscope.views.panels.tape import Tape
from specscope.views.panels.verdict import Verdict
from specscope.views.panels.vram import Vram
from specscope.views.panels.widths import Widths
from specscope.views.screens.live_plan import plan
from specscope.views.screens.planned import PlannedScreen

if TYPE_CHECKING:
    from textual.geometry import Region

    from specscope.views.frame import Frame


class LiveScreen(PlannedScreen):
    """A panel more is a line here and one in the plan."""

    def __init__(self) -> None:
        super().__init__(
            {
                "header": Header(),
                "verdict": Verdict(),
                "tape": Tape(),
                "anatomy": Anatomy(),
                "gpu": Gpu(),
                "vram": Vram(),
                "positions": Positions(),
                "lengths": Lengths(),
                "widths": Widths(),
                "regimes": Regimes(),
                "prefill": PrefillPanel(),
                "slots": Slots(),
                "requests": Requests(),
                "sources": Sources(),
                "findings": Findings(),
                "keys": Keys(keys_of_screen("1")),
            }
        )

    def plan(self, width: int, height: int, frame: Frame) -> dict[str, Region]:
        """As :func:`~specscope.views.screens.live_plan.plan` says."""
        return plan(width, height, frame)
