"""What is known of a server's memory: frozen results of the arithmetic, and of the buffers its log told.

Bytes are those of the tensors. A buffer may be larger by the alignment of its backend: a few bytes for each tensor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Role: TypeAlias = Literal["target", "drafter"]
PartKind: TypeAlias = Literal["attention", "window", "indexer", "recurrent"]
"""``attention``: a cell for each token of the context. ``window``: sliding-window layers, with fewer cells.
``indexer``: keys of a sparse attention's indexer. ``recurrent``: a state of fixed size for each sequence."""
BufferKind: TypeAlias = Literal["model", "KV", "RS", "compute", "output"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A figure that cannot be told, and why, in words."""

    reason: str


@dataclass(frozen=True, slots=True)
class Served:
    """What the running server says of itself, which outranks its flags. None: not told.

    Attributes:
        n_ctx_slot: tokens of one slot (``n_ctx`` of /slots and /props, ``n_ctx_slot`` of the log).
        slots: number of slots.
        unified: all slots share one cache.
        cells: of one stream of the target's cache, as the log prints them: the context, already padded.
        types: drafting methods in force, by the server's names.
    """

    n_ctx_slot: int | None = None
    slots: int | None = None
    unified: bool | None = None
    cells: int | None = None
    types: tuple[str, ...] | None = None


class LayerCell(NamedTuple):
    """What one layer stores in one cell: keys and values, or of a recurrent layer its two states (R and S)."""

    layer: int
    k_bytes: int
    v_bytes: int


@dataclass(frozen=True, slots=True)
class KvPart:
    """One cache. ``cells`` of each of ``streams``; of a recurrent part, rows of state (snapshots included)."""

    kind: PartKind
    cells: int
    streams: int
    layers: tuple[LayerCell, ...]

    @property
    def cell_bytes(self) -> int:
        """Bytes of one cell over all layers."""
        return sum(layer.k_bytes + layer.v_bytes for layer in self.layers)

    @property
    def reserved_bytes(self) -> int:
        """Bytes that the server allocates for it."""
        return self.reserved_from(0)

    def reserved_from(self, first_layer: int) -> int:
        """Bytes of the layers from ``first_layer`` on, which are the ones on a device when layers are offloaded."""
        cell = sum(layer.k_bytes + layer.v_bytes for layer in self.layers if layer.layer >= first_layer)
        return cell * self.cells * self.streams

    def filled_bytes(self, tokens: Sequence[int]) -> int:
        """Bytes that hold something, with so many tokens in each slot. A window keeps its last tokens only."""
        if self.streams == 1:
            return min(sum(tokens), self.cells) * self.cell_bytes
        return sum(min(count, self.cells) for count in tokens) * self.cell_bytes


@dataclass(frozen=True, slots=True)
class KvLayout:
    """The caches of one context.

    Attributes:
        role: whose context.
        parts: its caches; none for a model without any (an encoder), or one that uses the target's.
        n_ctx_seq: cells of each stream, padded: what a sequence can hold.
        slots, streams: sequences, and caches they are spread over (1 when unified).
        type_k, type_v: the types keys and values are stored in, by the server's names.
        basis: where the sizes were taken from, in words.
        proven: the architecture's rule was compared with a running server; else it was read in the source only.
    """

    role: Role
    parts: tuple[KvPart, ...]
    n_ctx_seq: int
    slots: int
    streams: int
    type_k: str
    type_v: str
    basis: str = ""
    proven: bool = False

    @property
    def growing(self) -> tuple[KvPart, ...]:
        """The parts that fill with tokens."""
        return tuple(part for part in self.parts if part.kind != "recurrent")

    @property
    def reserved_bytes(self) -> int:
        """Bytes that the server allocates for all parts, at load and whatever is stored."""
        return sum(part.reserved_bytes for part in self.parts)

    @property
    def fixed_bytes(self) -> int:
        """Bytes of recurrent states: their size does not depend on the context."""
        return sum(part.reserved_bytes for part in self.parts if part.kind == "recurrent")

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one more token fills, until windows are full. Recurrent states not counted."""
        return sum(part.cell_bytes for part in self.growing)

    def reserved_from(self, first_layer: int) -> int:
        """Bytes of the layers from ``first_layer`` on: those on a device when layers are offloaded from there."""
        return sum(part.reserved_from(first_layer) for part in self.parts)

    def filled_bytes(self, tokens: Sequence[int]) -> int:
        """Bytes that hold tokens, with so many in each slot. Recurrent states (``fixed_bytes``) not counted."""
        return sum(part.filled_bytes(tokens) for part in self.growing)


@dataclass(frozen=True, slots=True)
class WeightsSplit:
    """Where a model's weights lie.

    Attributes:
        device_bytes, host_bytes: on devices, all together, and on the host (mapped from the file or loaded).
        first_device_layer: the first repeating layer on a device; caches of earlier layers are on the host too.
        device_layers: repeating layers on devices. ``output_on_device``: whether the output layer is as well.
        certain: the split follows from what was told; else from a default that the server may have departed from.
        basis: what it follows from, in words.
    """

    device_bytes: int
    host_bytes: int
    first_device_layer: int
    device_layers: int
    output_on_device: bool
    certain: bool
    basis: str


class BufferRow(NamedTuple):
    """What one model's buffers of one kind take on one device. ``device`` is ggml's name of the buffer."""

    model: Role | None
    device: str
    kind: BufferKind
    bytes: int

    @property
    def on_host(self) -> bool:
        """Whether it is host memory: the CPU's, or pinned for a device."""
        return is_host(self.device)


def is_host(device: str) -> bool:
    """Whether ggml's name of a buffer means host memory: CPU, CPU_Mapped, CPU_REPACK, CUDA_Host, Vulkan_Host, BLAS."""
    return device.startswith(("CPU", "BLAS", "AMX")) or device.endswith("_Host")


@dataclass(frozen=True, slots=True)
class Buffers:
    """All buffers that the log told since the models were last loaded, largest first.

    ``unplaced``: later reservations of compute buffers of which nothing said whose they are; they are not in ``rows``.
    """

    rows: tuple[BufferRow, ...] = field(default=())
    unplaced: int = 0

    def bytes_of(
        self, *kinds: BufferKind, model: Role | None = None, device: str | None = None, host: bool | None = None
    ) -> int | None:
        """The sum of the rows that fit; None where none does.

        Args:
            kinds: which kinds; none: all.
            model: of which model only.
            device: on which device only.
            host: only on the host, or only on devices.
        """
        fitting = [
            row.bytes
            for row in self.rows
            if (not kinds or row.kind in kinds)
            and (model is None or row.model == model)
            and (device is None or row.device == device)
            and (host is None or row.on_host == host)
        ]
        return sum(fitting) if fitting else None
