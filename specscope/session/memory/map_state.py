"""Where a server's memory is, as the frozen state has it: the parts, their evidence, and what is left to explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

PartName: TypeAlias = Literal[
    "target weights",
    "drafter weights",
    "projector",
    "target KV",
    "drafter KV",
    "recurrent state",
    "compute buffers",
    "output buffers",
    "CUDA context",
    "unexplained",
    "other processes",
    "driver reserve",
    "free",
]

PartSource: TypeAlias = Literal["log", "computed", "driver", "rest"]
"""How a part is known, best first: a line of the server's own log; arithmetic on the model file's header and the
server's flags; the driver's reading; what is left when the others are taken from the whole."""


@dataclass(frozen=True, eq=False, slots=True)
class MapPart:
    """One part of the map.

    Attributes:
        bytes: its size; an unexplained part below nothing says that the others were told too large.
        basis: in words, what the figure rests on.
        filled_bytes: of a KV cache, how much of it holds tokens at this moment; None: not a cache, or not known.
    """

    name: PartName
    bytes: int
    source: PartSource
    basis: str = ""
    filled_bytes: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class MemoryMap:
    """The memory of one place: of the devices that a server uses, all together, or of the host.

    Attributes:
        parts: the server's own, then what is unexplained of its process, other processes, the driver's reserve, free.
        missing: parts that the server has and whose size nothing tells; they lie within ``unexplained``.
        total_bytes: of the place; process_bytes: the server's process; both None where not told.
        explained: share of ``process_bytes`` that the server's own parts make up; above 1 they are told too large.
    """

    place: Literal["device", "host"]
    parts: tuple[MapPart, ...]
    missing: tuple[PartName, ...] = ()
    total_bytes: int | None = None
    used_bytes: int | None = None
    free_bytes: int | None = None
    process_bytes: int | None = None
    explained: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class KvFill:
    """The KV cache of the target and the drafter together, and how full it is.

    Attributes:
        bytes_per_token: what one more resident token takes; None with ``unknown_why`` in words.
        reserved_bytes: allocated for ``cells`` cells; filled_bytes: of it what holds tokens now.
        fill_tokens: resident tokens of all slots now; fill_max_tokens: the most so far of all slots together.
        context_tokens: what all slots can hold together.
    """

    bytes_per_token: float | None = None
    unknown_why: str = ""
    reserved_bytes: int | None = None
    filled_bytes: int | None = None
    cells: int | None = None
    fill_tokens: int | None = None
    fill_max_tokens: int | None = None
    context_tokens: int | None = None


class MemorySample(NamedTuple):
    """The server's memory on its devices (of all processes, where the driver does not tell them apart), and fill."""

    at: float
    bytes: int
    fill_tokens: int | None


@dataclass(frozen=True, eq=False, slots=True)
class Growth:
    """How device memory moved while the context filled.

    Attributes:
        samples: over the whole watch, oldest first, thinned out.
        first, latest, most: the first, the latest and the largest of all samples, thinned-out ones included.
        requests: requests that ended meanwhile.
        own: the figures are of the server's own process; False: of all processes on its devices.
    """

    samples: tuple[MemorySample, ...]
    first: MemorySample
    latest: MemorySample
    most: MemorySample
    requests: int
    own: bool

    @property
    def bytes(self) -> int:
        """Growth since the first sample."""
        return self.latest.bytes - self.first.bytes


@dataclass(frozen=True, eq=False, slots=True)
class AtFull:
    """What the server would take with every slot's context full: an estimate, with its basis in words."""

    bytes: int
    basis: str
    fits: bool | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Memory:
    """All that is known of a server's memory. ``device`` is None for a server without one, or where nothing tells."""

    device: MemoryMap | None = None
    host: MemoryMap | None = None
    kv: KvFill = KvFill()
    growth: Growth | None = None
    at_full: AtFull | None = None
