"""What each drafting method did, as a trace tells it: its cycles, their times, and what drafting took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from specscope.session.economics.batches import Batches
from specscope.session.economics.cost_book import LENGTHS, Cell, Kept, Key, band_of
from specscope.session.tally import Tally

TOGETHER: Final = 1
"""The width under which the times of a method's cycles of all widths are kept together: tables draft up to 64 tokens,
and most of their widths come too seldom to have a time of their own."""


TABLE: Final = "ngram"
"""What the names of methods that look drafts up begin with."""


@dataclass(eq=False)
class MethodCount:
    """The cycles of one method.

    Attributes:
        table: it looks drafts up.
        tally: by width and accepted length. lengths: accepted lengths in their order.
        cells: times of its cycles, whatever their width, by slots at work and depth.
        kept: how many times were taken; of a method that drafts all the time, every eighth is.
        draft_us: in which the server drafted, of the turns whose cycles were all of this method; drafts: made in them.
    """

    table: bool = False
    tally: Tally = field(default_factory=Tally)
    lengths: Batches = field(default_factory=lambda: Batches(robust=False, lot=LENGTHS))
    cells: dict[Key, Cell] = field(default_factory=dict["Key", "Cell"])
    kept: Kept = field(default_factory=Kept)
    draft_us: int = 0
    drafts: int = 0
    _fresh: list[int] = field(default_factory=list[int])

    def cycle(self, drafted: int, accepted: int) -> None:
        """Count a cycle."""
        self.tally.count((drafted, accepted), accepted + 1)
        fresh = self._fresh
        fresh.append(accepted)
        if len(fresh) == LENGTHS:
            self.lengths.take(fresh)

    def timed(self, slots: int, depth: float | None, took_ms: float) -> None:
        """Take in a cycle's time, with so many slots at work."""
        self.kept.taken += 1
        key = Key(TOGETHER, slots, band_of(depth))
        cell = self.cells.get(key)
        if cell is None:
            cell = self.cells[key] = Cell()
        cell.take(took_ms, depth)


@dataclass(eq=False)
class MethodBook:
    """The methods by the names that the trace gave them."""

    counts: dict[str, MethodCount] = field(default_factory=dict["str", MethodCount])

    def of(self, method: str) -> MethodCount:
        """The count of a method, begun if there is none."""
        count = self.counts.get(method)
        if count is None:
            count = self.counts[method] = MethodCount(method.startswith(TABLE))
        return count
