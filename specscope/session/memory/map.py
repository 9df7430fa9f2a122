"""The memory map: each part by its best evidence, the sum set against what the driver says of the process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from specscope.session.memory.map_state import MapPart, MemoryMap
from specscope.session.memory.state import KvLayout, WeightsSplit
from specscope.session.unknowns import sum_if_known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specscope.session.gpu_state import GpuUse
    from specscope.session.memory.map_state import PartName
    from specscope.session.memory.state import Buffers, Role, Unknown

ROLES: Final[tuple[Role, ...]] = ("target", "drafter")

LOG: Final = "the server's log"
ODDS: Final = 0.01
"""From this share on it is said that the log and the arithmetic differ; buffers are padded by far less."""

SLACK: Final = 1.02
"""What a process has beyond its parts; with the context they must not make up more than this of it."""


@dataclass(frozen=True, slots=True)
class Told:
    """All that tells of a server's memory.

    Attributes:
        roles: whose caches it has; weights and layouts: of each, by arithmetic.
        own_weights: roles with a model of their own; prediction layers that draft are the target's.
        buffers: what its log told.
        projector_bytes: size of the projector's file; None: there is none.
        context_bytes: what CUDA took before anything was loaded; None: not told.
        uses: its devices. ``rss_bytes``: its resident host memory.
        fills: resident tokens of each slot; None: not told.
        kv_on_host: caches are kept off the devices (``--no-kv-offload``).
    """

    roles: tuple[Role, ...]
    weights: Mapping[Role, WeightsSplit | Unknown]
    layouts: Mapping[Role, KvLayout | Unknown]
    buffers: Buffers
    own_weights: frozenset[Role] = frozenset(ROLES)
    projector_bytes: int | None = None
    context_bytes: int | None = None
    uses: tuple[GpuUse, ...] = ()
    rss_bytes: int | None = None
    fills: Sequence[int] | None = None
    kv_on_host: bool = False

    @property
    def on_devices(self) -> bool:
        """Whether anything of the server lies on a device, the driver's figures known or not."""
        splits = [split for split in self.weights.values() if isinstance(split, WeightsSplit)]
        computed = any(split.certain and split.device_bytes for split in splits)
        return bool(self.uses) or bool(self.buffers.bytes_of(host=False)) or computed


def device_map(told: Told) -> MemoryMap | None:
    """The map of a server's devices, all together; None for a server without any."""
    if not told.on_devices:
        return None
    parts, missing = _own_parts(told, host=False)
    process = sum_if_known([use.process_bytes for use in told.uses])
    context = told.context_bytes
    if context is not None and (process is None or sum(p.bytes for p in parts) + context <= SLACK * process):
        parts.append(MapPart("CUDA context", context, "log", "taken before anything was loaded"))
    else:  # not told; or more than there is room for: another process, since ended, held memory at the start
        missing.append("CUDA context")
    memories = [use.gpu.memory for use in told.uses]
    used = sum_if_known([m.used_bytes if m is not None else None for m in memories])
    free = sum_if_known([m.free_bytes if m is not None else None for m in memories])
    others = _others(told.uses) if process is not None else None  # else the server's own is among the listed ones
    explained = sum(part.bytes for part in parts)
    if process is not None:
        basis = "the process's memory, less the parts above" + (f"; in it: {', '.join(missing)}" if missing else "")
        parts.append(MapPart("unexplained", process - explained, "rest", basis))
    elif used is not None:
        basis = "the devices' used memory, less the parts above; with other processes', which are not told apart"
        parts.append(MapPart("unexplained", used - explained, "rest", basis))
    if others:
        parts.append(MapPart("other processes", others, "driver", "as the driver lists them"))
    if process is not None and used is not None and used > process + (others or 0):
        parts.append(MapPart("driver reserve", used - process - (others or 0), "rest", "used by no listed process"))
    if free is not None:
        parts.append(MapPart("free", free, "driver"))
    return MemoryMap(
        place="device",
        parts=tuple(parts),
        missing=tuple(missing),
        total_bytes=sum_if_known([use.gpu.found.memory_bytes for use in told.uses]),
        used_bytes=used,
        free_bytes=free,
        process_bytes=process,
        explained=explained / process if process else None,
    )


def host_map(told: Told) -> MemoryMap | None:
    """The map of the server's host memory; None where nothing of it is known."""
    parts, missing = _own_parts(told, host=True)
    if not parts:
        return None
    explained = sum(part.bytes for part in parts)
    if told.rss_bytes is not None:
        rest = told.rss_bytes - explained
        basis = "resident memory, less the parts above"
        basis += "; weights that are mapped from the file count once they were read" if rest < 0 else ""
        parts.append(MapPart("unexplained", rest, "rest", basis))
    return MemoryMap(
        place="host",
        parts=tuple(parts),
        missing=tuple(missing),
        process_bytes=told.rss_bytes,
        explained=explained / told.rss_bytes if told.rss_bytes else None,
    )


def _others(uses: Sequence[GpuUse]) -> int | None:
    """Memory of other processes on the devices; None where the driver does not tell any of it."""
    listed = [
        held
        for use in uses
        if use.gpu.memory is not None
        for _, held in use.gpu.memory.processes or []
        if held is not None
    ]
    own = sum(use.process_bytes or 0 for use in uses)
    return sum(listed) - own if listed else None


def _own_parts(told: Told, *, host: bool) -> tuple[list[MapPart], list[PartName]]:
    """The server's own parts in one place, and those of unknown size."""
    parts: list[MapPart] = []
    missing: list[PartName] = []
    for role in told.roles:
        if role in told.own_weights:
            _add(parts, missing, _weights(told, role, host=host))
    if told.projector_bytes is not None and host is (not told.on_devices):
        parts.append(MapPart("projector", told.projector_bytes, "computed", "size of its file"))
    for role in told.roles:
        _add(parts, missing, _cache(told, role, host=host))
    recurrent = told.buffers.bytes_of("RS", host=host)
    if recurrent:
        parts.append(MapPart("recurrent state", recurrent, "log", LOG))
    elif told.buffers.bytes_of("KV", "RS") is None:
        parts += _states(told, host=host)
    compute = told.buffers.bytes_of("compute", host=host)
    if compute is not None:
        words = f"{LOG}; {told.buffers.unplaced} later reservations are not in it" if told.buffers.unplaced else LOG
        parts.append(MapPart("compute buffers", compute, "log", words))
    elif not told.buffers.rows:
        missing.append("compute buffers")
    output = told.buffers.bytes_of("output", host=host)
    if output:
        parts.append(MapPart("output buffers", output, "log", LOG))
    return parts, missing


def _add(parts: list[MapPart], missing: list[PartName], found: MapPart | PartName | None) -> None:
    if isinstance(found, MapPart):
        if found.bytes:
            parts.append(found)
    elif found is not None:
        missing.append(found)


def _weights(told: Told, role: Role, *, host: bool) -> MapPart | PartName | None:
    name: PartName = "target weights" if role == "target" else "drafter weights"
    split = told.weights.get(role)
    computed = None
    if isinstance(split, WeightsSplit):
        computed = split.host_bytes if host else split.device_bytes
    logged = told.buffers.bytes_of("model", model=role, host=host)
    if logged is None and told.buffers.bytes_of("model", model=role) is not None:
        return None  # the log told all of this model's buffers, and none of them is here
    if logged is not None:
        return MapPart(name, logged, "log", LOG + _odds(logged, computed))
    if computed is None:
        return name
    return MapPart(name, computed, "computed", split.basis if isinstance(split, WeightsSplit) else "")


def _cache(told: Told, role: Role, *, host: bool) -> MapPart | PartName | None:
    name: PartName = "target KV" if role == "target" else "drafter KV"
    layout = told.layouts.get(role)
    split = told.weights.get(role if role in told.own_weights else "target")
    logged, everywhere = (told.buffers.bytes_of("KV", model=role, host=place) for place in (host, None))
    computed = None
    if isinstance(layout, KvLayout):
        computed = _here(layout, split, told, host=host)
    if logged is None and told.buffers.bytes_of("KV", "RS", model=role) is not None:
        return None
    if logged is not None and everywhere:
        without_states = None
        if isinstance(layout, KvLayout) and computed is not None:
            without_states = computed - layout.fixed_bytes
        filled = _filled(layout, told, logged / everywhere)
        return MapPart(name, logged, "log", LOG + _odds(logged, without_states), filled)
    if computed is None or not isinstance(layout, KvLayout):
        return name
    whole = layout.reserved_bytes
    share = computed / whole if whole else 0.0
    cache = computed - round(layout.fixed_bytes * share)
    return MapPart(name, cache, "computed", layout.basis, _filled(layout, told, share))


def _states(told: Told, *, host: bool) -> list[MapPart]:
    """Recurrent states by arithmetic."""
    total = 0.0
    for role in told.roles:
        layout, split = told.layouts.get(role), told.weights.get(role if role in told.own_weights else "target")
        if isinstance(layout, KvLayout) and layout.fixed_bytes:
            here = _here(layout, split, told, host=host)
            total += layout.fixed_bytes * (here or 0) / layout.reserved_bytes
    return [MapPart("recurrent state", round(total), "computed", "of a fixed size, whatever is read")] if total else []


def _filled(layout: KvLayout | Unknown | None, told: Told, share: float) -> int | None:
    """What of a cache holds tokens, of the share of it that lies in one place."""
    if told.fills is None or not isinstance(layout, KvLayout):
        return None
    return round(layout.filled_bytes(told.fills) * share)


def _here(layout: KvLayout, split: WeightsSplit | Unknown | None, told: Told, *, host: bool) -> int | None:
    """Bytes of a cache in one place: a layer's cells lie where the layer does, unless caches are kept on the host."""
    if not told.on_devices or told.kv_on_host:
        return layout.reserved_bytes if host else 0
    if not isinstance(split, WeightsSplit):
        return None
    on_device = layout.reserved_from(split.first_device_layer)
    return layout.reserved_bytes - on_device if host else on_device


def _odds(logged: int, computed: int | None) -> str:
    """A word where the log and the arithmetic part: one of the two is about something else."""
    if computed is None or not logged or abs(logged - computed) <= ODDS * logged:
        return ""
    return f"; by header and flags it would be {computed / (1 << 20):,.0f} MiB"
