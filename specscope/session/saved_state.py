"""A slot's state on its way to the host's memory, by the sizes of its copies.

Before a slot takes an unlike prompt, the server saves what it holds to its prompt cache (``--cache-ram``, on by
default), and restores it when the prompt comes back; ``POST /slots/N?action=save`` writes the same to a file, and
checkpoints keep windows and recurrent states alone. Of each layer the keys and then the values of all cells are copied
at once (``state_write_data`` of src/llama-kv-cache.cpp, b11434): cells x the bytes of a row. Without flash attention
values lie transposed and are copied one by one, in sizes that are not told here. A recurrent layer has two states for
a sequence (src/llama-memory-recurrent.cpp). None of it belongs to a turn.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specscope.session.memory.state import KvLayout, KvPart, Role

WAYS_MOST: Final = 2
"""A size with more readings than these is told as slot state, and not of what."""


class StateReading(NamedTuple):
    """What a size can be of a slot's state: ``what`` (K, V or a recurrent state) of so many cells of a cache."""

    role: Role
    what: str
    cells: int
    checkpoints: bool
    """Checkpoints keep such a cache as well."""


def state_readings(size: int, layouts: Sequence[KvLayout]) -> tuple[StateReading, ...]:
    """All that a copy of ``size`` bytes can be of a slot's state, by the caches of the models."""
    found = [r for layout in layouts for part in layout.parts for r in _of_part(size, layout, part)]
    return tuple(dict.fromkeys(found))


def _of_part(size: int, layout: KvLayout, part: KvPart) -> Iterator[StateReading]:
    recurrent = part.kind == "recurrent"
    for name, rows in (("K", {la.k_bytes for la in part.layers}), ("V", {la.v_bytes for la in part.layers})):
        for row in sorted(rows - {0}):
            cells, rest = divmod(size, row)
            if cells and not rest and cells <= part.cells:
                yield StateReading(layout.role, "" if recurrent else name, cells, part.kind in ("window", "recurrent"))


def state_meaning(found: Sequence[StateReading], *, cached: bool | None = None) -> str:
    """The readings in words; empty when there is none.

    Args:
        found: what the size can be.
        cached: whether the server has a prompt cache; None: not told, and it has one by default.
    """
    if not found:
        return ""
    if cached is False:
        place = "saved to a checkpoint" if all(r.checkpoints for r in found) else "saved"
    else:
        place = "saved to the prompt cache" + (" or a checkpoint" if any(r.checkpoints for r in found) else "")
    what: defaultdict[tuple[int, bool], list[str]] = defaultdict(list)
    for reading in found:
        names = what[reading.cells, reading.what == ""]
        names += [reading.what] if reading.what not in names else []
    ways = ["recurrent" if of_state else f"{' or '.join(n)} of {_cells(c)}" for (c, of_state), n in what.items()]
    ways = list(dict.fromkeys(ways))
    told = f" ({' or '.join(ways)})" if len(ways) <= WAYS_MOST else ""
    return f"slot state{told}, {place}"


def _cells(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells:,} cells"
