"""The parts of a memory map as they are drawn: letters, places among the ink's styles, groups for a small map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from specscope.session.unknowns import sum_if_known
from specscope.views.figures import MARKS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.session.memory.map_state import MapPart, MemoryMap, PartName, PartSource
    from specscope.session.state import Evidence

EVIDENCE: Final[dict[PartSource, Evidence]] = {
    "log": "counted",
    "computed": "estimated",
    "driver": "counted",
    "rest": "estimated",
}
"""The mark of a part: what the server's log or the driver tells is counted, the rest is worked out."""

DRAFTER, PLAIN, TARGET, CACHE, WORK, REST = range(6)
"""Places among the ink's parts: the target and the drafter have the colours of their parts of a turn."""

_DRAWN: Final[dict[PartName, tuple[str, int]]] = {
    "target weights": ("W", TARGET),
    "drafter weights": ("D", DRAFTER),
    "projector": ("P", PLAIN),
    "target KV": ("K", CACHE),
    "drafter KV": ("k", CACHE),
    "recurrent state": ("R", PLAIN),
    "compute buffers": ("B", WORK),
    "output buffers": ("U", PLAIN),
    "CUDA context": ("C", WORK),
    "unexplained": ("?", REST),
    "other processes": ("O", PLAIN),
    "driver reserve": ("V", REST),
}
"""Letter and place of each part but what is free, which is no part of anything."""

_GROUPS: Final[tuple[tuple[str, str, int, tuple[PartName, ...]], ...]] = (
    ("W", "weights", TARGET, ("target weights", "projector")),
    ("D", "drafter", DRAFTER, ("drafter weights",)),
    ("K", "KV", CACHE, ("target KV", "drafter KV")),
    ("R", "state", PLAIN, ("recurrent state",)),
    ("B", "buffers", WORK, ("compute buffers", "output buffers", "CUDA context")),
    ("?", "unexplained", REST, ("unexplained",)),
    ("O", "others", PLAIN, ("other processes", "driver reserve")),
    ("", "free", REST, ("free",)),
)
"""Letter, name and place of each group of a small map, and what it is made of."""

OWN_NOT: Final[frozenset[PartName]] = frozenset({"unexplained", "other processes", "driver reserve", "free"})
"""What of a map is no part of the server that is known by name."""


@dataclass(frozen=True, slots=True)
class Portion:
    """One stretch of a bar.

    Attributes:
        letter: what stands for it; empty for what is free.
        name: what it is called.
        place: among the ink's parts.
        bytes: its size.
        share: of the whole bar, 0..1.
        evidence: how the size is known.
        filled_bytes: of a KV cache; None: not a cache, or not known.
    """

    letter: str
    name: str
    place: int
    bytes: int
    share: float
    evidence: Evidence = "counted"
    filled_bytes: int | None = None

    @property
    def mark(self) -> str:
        """The mark behind its size."""
        return MARKS[self.evidence]


def whole_of(known: MemoryMap) -> int:
    """What the bar stands for: all that is there, what is free included where that is told."""
    return max(1, sum(part.bytes for part in known.parts if part.bytes > 0))


def portions_of(known: MemoryMap) -> list[Portion]:
    """Each part a stretch; what is not there, or was told too large, has none."""
    whole, found = whole_of(known), list[Portion]()
    for part in known.parts:
        letter, place = letter_of(part.name)
        if part.bytes > 0:
            evidence = EVIDENCE[part.source]
            share = part.bytes / whole
            found.append(Portion(letter, part.name, place, part.bytes, share, evidence, part.filled_bytes))
    return found


def groups_of(known: MemoryMap) -> list[Portion]:
    """The groups of a small map, each as well known as the least known of its parts."""
    whole, found = whole_of(known), list[Portion]()
    for letter, name, place, names in _GROUPS:
        parts = [part for part in known.parts if part.name in names and part.bytes > 0]
        if parts:
            size = sum(part.bytes for part in parts)
            guessed = any(EVIDENCE[part.source] == "estimated" for part in parts)
            evidence: Evidence = "estimated" if guessed else "counted"
            found.append(
                Portion(
                    letter,
                    name,
                    place,
                    size,
                    size / whole,
                    evidence,
                    sum_if_known([part.filled_bytes for part in parts]),
                )
            )
    return found


def own_bytes(parts: Iterable[MapPart]) -> int:
    """What the server's own parts make up."""
    return sum(part.bytes for part in parts if part.name not in OWN_NOT)


def letter_of(name: PartName) -> tuple[str, int]:
    """The letter and the place of a part; what is free has no letter."""
    return _DRAWN.get(name, ("", REST))
