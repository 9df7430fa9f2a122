"""What each step took, by draft width, slots at work and KV depth: constant memory, a few microseconds a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from specscope.session.depth import BAND_TOKENS
from specscope.session.economics.batches import Batches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.session.request import Request
    from specscope.session.window import Gain

    _Alike: TypeAlias = tuple[Request, int | None, int]

PLAIN: Final = 0
"""The width of a step without a draft."""

UNSEEN: Final = -1
"""The width of a cycle whose draft was not seen (polling)."""

CELLS: Final = 640
"""Cells kept, the longest unused one making room: 15 widths at a few depths and numbers of slots are some 100, the 64
widths of n-gram tables at ten depths 640."""

MANY: Final = 1024
"""Steps of one width after which only every eighth is taken: its mean is then known to a thirtieth of the scatter of a
step, and a steady server makes hundreds of thousands of them."""

EVERY: Final = 8

LENGTHS: Final = 32
"""Accepted lengths put together at once: they need no median, for none of them is an outlier."""

LATEST: Final = 4096
"""Steps over which a cell's mean depth runs."""

AT_WORK: Final = 2.0
"""Of a step's time: another slot that stepped within it decodes at the same time. Slots share turns, and all of them
step once a turn."""

SET_BACK_S: Final = 5.0
"""A step that ended so long before a prompt seen earlier did: the clock was set back, for no source is as late."""

CAPTURED: Final = 2
"""Which of several like cycles in a row a CUDA device captures as a graph (ggml-cuda, llama.cpp b11434: the first runs
launch by launch, the second is captured, from the third on the graph is launched whole). On an H200 the second cycle of
each request took 15.4 ms where the others took 10.6 (n_max 15), 10.9 and 7.7 (7), 9.2 and 5.5 (3)."""

STAMP_S: Final = 1e-4
"""Rounding of a time since the epoch and of the log's stamps."""


def band_of(depth: float | None) -> int | None:
    """The band of depth, as speed by depth has them; None: not seen."""
    return None if depth is None else (int(depth) // BAND_TOKENS).bit_length()


class Key(NamedTuple):
    """Steps that are alike: their draft's width, slots that decode at once, band of the KV depth (None: unseen)."""

    width: int
    slots: int
    band: int | None


@dataclass(eq=False)
class Cell:
    """The steps of one key: times, how many, mean depth, and when one was last added (in steps of the book)."""

    times: Batches = field(default_factory=Batches)
    steps: int = 0
    depth: float = 0.0
    used: int = 0

    def take(self, took_ms: float, depth: float | None) -> None:
        """Take in one step."""
        self.steps += 1
        self.times.add(took_ms)
        if depth is not None:
            self.depth += (depth - self.depth) / min(self.steps, LATEST)


def taken_as(width: int, cells: Mapping[Key, Cell]) -> dict[Key, Cell]:
    """The cells with those whose width was not seen as of this one."""
    return {key._replace(width=width) if key.width == UNSEEN else key: cell for key, cell in cells.items()}


@dataclass(eq=False)
class Kept:
    """How many steps of a kind were taken, and how many more are to pass before the next."""

    taken: int = 0
    _wait: int = EVERY

    def due(self) -> bool:
        """Whether the next one is to be taken; asked once for each."""
        if self.taken < MANY:
            return True
        self._wait -= 1
        if self._wait:
            return False
        self._wait = EVERY
        return True


@dataclass(eq=False)
class CostBook:
    """The timed steps of one server; of a width that is seen all the time, every eighth.

    Not taken: a request's first step and first cycle (the time is the prompt's, or began when a poll saw it), replays
    (two forwards), polled steps that may hold two cycles, steps during which another slot computed a prompt, and those
    whose time is no time. On a server that drafts only now and then, the time between two lines of its log holds plain
    steps too: ``sparse`` leaves it out, and the turns of a trace tell it (turn_times.py).

    The second of like cycles in a row is kept apart: it may take half as long again.

    Attributes:
        cells: by key; captured: the second ones.
        accepted: accepted lengths in their order, for how much they depend on each other.
        depth: running mean of the depth of the steps taken; steps: how many were taken.
        mixed: steps left out because a prompt was computed meanwhile.
        plain_steps: all that were told, timed or not; turns: of them those that a trace timed.
    """

    cells: dict[Key, Cell] = field(default_factory=dict["Key", "Cell"])
    captured: dict[Key, Cell] = field(default_factory=dict["Key", "Cell"])
    accepted: Batches = field(default_factory=lambda: Batches(robust=False, lot=LENGTHS))
    sparse: bool = False
    depth: float | None = None
    steps: int = 0
    mixed: int = 0
    plain_steps: int = 0
    turns: int = 0
    _lengths: list[int] = field(default_factory=list[int])
    _prompt_until: float = 0.0
    _alike: dict[int, _Alike] = field(default_factory=dict[int, "_Alike"])
    _kept: dict[int | None, Kept] = field(default_factory=dict["int | None", "Kept"])

    def cycle(self, gain: Gain, running: Mapping[int, Request]) -> None:
        """One cycle that was no replay; ``running`` are all requests at work, by slot.

        Written out, because there can be hundreds of cycles a second and hundreds of thousands in a recording.
        """
        lengths = self._lengths
        lengths.append(gain.tokens - 1)
        if len(lengths) == LENGTHS:
            self.accepted.take(lengths)
        width, gap_ms = gain.drafted, gain.gap_ms
        captured = self._in_a_row(gain) == CAPTURED
        if gap_ms is None:
            self._prompt_until = max(self._prompt_until, gain.at)
            return
        if not captured and not self.due(width):
            return
        if width is not None and width != PLAIN and not self.sparse and gain.request.cycle_tokens != gain.tokens:
            place = self._place(gain, running, gap_ms)
            if place is None:
                return
            self._take(self.captured if captured else self.cells, width, *place, gap_ms)

    def _in_a_row(self, gain: Gain) -> int:
        """Which of its request's cycles of one width, without another step between them, this is."""
        request, width = gain.request, gain.drafted
        before = self._alike.get(request.slot)
        number = before[2] + 1 if before is not None and before[0] is request and before[1] == width else 1
        self._alike[request.slot] = (request, width, number)
        return number

    def plain(self, gain: Gain, running: Mapping[int, Request], *, first: bool) -> None:
        """Steps without a draft, all together; ``first``: up to the first token seen.

        Steps between cycles of which only their number is known have no time of their own; a single one at the end
        of a request, where nothing is left to draft, has.
        """
        if first:
            self._prompt_until = max(self._prompt_until, gain.at)
            return
        self._alike.pop(gain.request.slot, None)
        self.plain_steps += gain.steps
        alone = not gain.request.cycle_tokens or (gain.steps == 1 and not self.sparse)
        if gain.gap_ms is None or not alone or self.turns:
            return
        if self.due(PLAIN):
            place = self._place(gain, running, gain.gap_ms)
            if place is not None:
                self.add(PLAIN, *place, gain.gap_ms / gain.steps)

    def due(self, width: int | None) -> bool:
        """Whether the next step of a width is to be taken; asked once for each."""
        kept = self._kept.get(width)
        return kept is None or kept.due()

    def _place(self, gain: Gain, running: Mapping[int, Request], gap_ms: float) -> tuple[int, float | None] | None:
        """(slots at work, depth) of a step whose time tells what it takes; None where something else is in it."""
        request, at = gain.request, gain.at
        begin = at - gap_ms / 1000
        slots, several = 1, False
        for other in running.values():
            if other is request:
                continue
            several = True
            last = other.last_step_at
            if last is None and not other.decoded:
                self.mixed += 1
                return None  # its prompt is being computed
            if last is not None and last > at - AT_WORK * gap_ms / 1000:
                slots += 1
        if at < self._prompt_until - SET_BACK_S:
            self._prompt_until = 0.0
        if gap_ms <= 0 or (several and begin < self._prompt_until - STAMP_S):
            self.mixed += 1
            return None
        base = request.resident_before()
        return slots, None if base is None else base + (request.tokens() or 0) - gain.tokens / 2

    def add(self, width: int, slots: int, depth: float | None, took_ms: float) -> None:
        """Take in one step of known width."""
        self._take(self.cells, width, slots, depth, took_ms)

    def _take(self, cells: dict[Key, Cell], width: int, slots: int, depth: float | None, took_ms: float) -> None:
        self.steps += 1
        kept = self._kept.get(width)
        if kept is None:
            kept = self._kept[width] = Kept()
        kept.taken += 1
        key = Key(width, slots, band_of(depth))
        cell = cells.get(key)
        if cell is None:
            if len(cells) >= CELLS:
                del cells[min(cells, key=lambda k: cells[k].used)]
            cell = cells[key] = Cell()
        cell.used = self.steps
        cell.take(took_ms, depth)
        if depth is not None:
            self.depth = depth if self.depth is None else self.depth + (depth - self.depth) / min(self.steps, LATEST)
