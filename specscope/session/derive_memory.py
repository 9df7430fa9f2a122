"""A server's memory, as part of its frozen view: the maps, the KV cache's fill, growth, a full context."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from specscope.session.memory.kv import drafter_kv, target_kv
from specscope.session.memory.map import ROLES, Told, device_map, host_map
from specscope.session.memory.map_state import AtFull, KvFill, Memory
from specscope.session.memory.state import KvLayout, Served, Unknown
from specscope.session.memory.weights import weights_split
from specscope.session.placement import has_device
from specscope.session.unknowns import number_said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.session.gpu_state import GpuUse
    from specscope.session.memory.map_state import Growth, MemoryMap
    from specscope.session.memory.state import Role, WeightsSplit
    from specscope.session.slot_book import SlotTrack
    from specscope.session.state import Config
    from specscope.session.target_fold import TargetFold

MIB: Final = 1 << 20

OFFLOADED: Final[dict[Role, str]] = {"target": "layers_offloaded", "drafter": "draft_layers_offloaded"}
"""The log's lines on how many layers are on devices, by their code (sources/log_memory.py)."""

LEAST_FILL: Final = 4096
"""Tokens that must have been resident at one time before growth is carried on to a full context: what a server takes
with its first requests are work buffers, graphs and the like, whatever they are filled with."""


@dataclass(eq=False)
class MemoryDeriver:
    """Makes the view; the arithmetic on headers and flags is done again only when one of them has changed."""

    _key: tuple[object, ...] = ()
    _layouts: dict[Role, KvLayout | Unknown] = field(default_factory=dict["Role", "KvLayout | Unknown"])
    _weights: dict[Role, WeightsSplit | Unknown] = field(default_factory=dict["Role", "WeightsSplit | Unknown"])

    @property
    def layouts(self) -> tuple[KvLayout, ...]:
        """The caches, as of the last view; none while the target's are unknown."""
        if not isinstance(self._layouts.get("target"), KvLayout):
            return ()
        return tuple(found for found in self._layouts.values() if isinstance(found, KvLayout))

    def view(self, fold: TargetFold, config: Config, uses: tuple[GpuUse, ...], growth: Growth | None) -> Memory:
        """What is known now."""
        self._compute(fold, _served(fold, config), uses)
        fills = [_resident(track) for _, track in sorted(fold.epoch.slots.slots.items())]
        known = [fill for fill in fills if fill is not None]
        projector, buffers = fold.models.get("projector"), fold.epoch.buffers.view()
        named = {*self._layouts, *fold.models, *(row.model for row in buffers.rows)}
        if fold.server == "sleeping":  # its models are unloaded until somebody asks for them
            named.clear()
        own = {"target", *fold.models, *(row.model for row in buffers.rows if row.kind == "model")}
        if fold.flags is not None and (fold.flags.draft_model or fold.flags.draft_repo):
            own.add("drafter")
        told = Told(
            roles=tuple(role for role in ROLES if role in named),
            own_weights=frozenset(role for role in ROLES if role in own),
            weights=self._weights,
            layouts=self._layouts,
            buffers=buffers,
            projector_bytes=projector.file_bytes if projector is not None else None,
            context_bytes=_cuda_context(fold, uses),
            uses=uses,
            rss_bytes=fold.usage.rss_bytes if fold.usage is not None else None,
            fills=known if known and len(known) == len(fills) else None,
            kv_on_host=fold.flags is not None and fold.flags.kv_offload is False,
        )
        devices = device_map(told)
        fill = self._fill(fold, told)
        return Memory(
            device=devices,
            host=host_map(told),
            kv=fill,
            growth=growth,
            at_full=_at_full(devices, fill, growth, len(uses)),
        )

    def _compute(self, fold: TargetFold, served: Served, uses: tuple[GpuUse, ...]) -> None:
        target, drafter = fold.models.get("target"), fold.models.get("drafter")
        said = fold.epoch.said
        offloaded = {role: number_said(said, code, "offloaded") for role, code in OFFLOADED.items()}
        device = True if uses else has_device(fold.usage, said)
        key = (target, drafter, fold.flags, served, *offloaded.values(), device)
        if key == self._key:
            return
        self._key, self._layouts, self._weights = key, {}, {}
        if target is None:
            return
        self._layouts["target"] = target_kv(target, fold.flags, served)
        predicts = "draft-mtp" in (served.types or ())
        self._weights["target"] = weights_split(
            target, fold.flags, offloaded=offloaded["target"], gpu=device, predicts=predicts
        )
        layout = drafter_kv(target, drafter, fold.flags, served)
        if layout is not None:
            self._layouts["drafter"] = layout
        if drafter is not None:
            self._weights["drafter"] = weights_split(
                drafter, fold.flags, role="drafter", offloaded=offloaded["drafter"], gpu=device, predicts=predicts
            )

    def _context(self, fold: TargetFold) -> int | None:
        """Tokens that all slots can hold together: where they share one cache, that is what one of them can."""
        contexts = [track.n_ctx for track in fold.epoch.slots.slots.values()]
        known = [n for n in contexts if n is not None]
        if not known or len(known) != len(contexts):
            return None
        target = self._layouts.get("target")
        told = fold.epoch.said.get("n_slots", {}).get("kv_unified")
        if isinstance(target, KvLayout):
            shared: bool | None = target.streams == 1
        elif told is not None:
            shared = told == "true"
        else:
            flags = fold.flags
            shared = None if flags is None else flags.parallel is None or bool(flags.kv_unified)
        if len(known) == 1 or shared:
            return max(known)
        return None if shared is None else sum(known)

    def _fill(self, fold: TargetFold, told: Told) -> KvFill:
        slots = fold.epoch.slots
        unknown = [f"{role}: {found.reason}" for role, found in self._layouts.items() if isinstance(found, Unknown)]
        layouts = [found for found in self._layouts.values() if isinstance(found, KvLayout)]
        known = KvFill(
            reserved_bytes=told.buffers.bytes_of("KV", "RS"),
            fill_tokens=slots.fill_tokens(),
            fill_max_tokens=slots.most_together,
            context_tokens=self._context(fold),
        )
        if unknown or not layouts:
            return replace(known, unknown_why="; ".join(unknown) or "no model file could be read")
        fills, cells = told.fills, layouts[0].n_ctx_seq * layouts[0].streams
        return replace(
            known,
            bytes_per_token=sum(layout.bytes_per_token for layout in layouts),
            reserved_bytes=known.reserved_bytes or sum(layout.reserved_bytes for layout in layouts),
            filled_bytes=None
            if fills is None
            else sum(layout.filled_bytes(fills) + layout.fixed_bytes for layout in layouts),
            cells=cells,
            context_tokens=cells if known.context_tokens is None else known.context_tokens,
        )


def _resident(track: SlotTrack) -> int | None:
    """Tokens in a slot. One that never had a task holds none, and /slots does not say so."""
    never = track.task is None and track.busy is False
    return 0 if track.fill_tokens is None and never else track.fill_tokens


def _served(fold: TargetFold, config: Config) -> Served:
    """What the running server says of its context."""
    slots = fold.epoch.slots.slots
    told = fold.epoch.said.get("n_slots", {})
    unified = told.get("kv_unified")
    per_slot = next((track.n_ctx for track in slots.values() if track.n_ctx), None)
    return Served(
        n_ctx_slot=per_slot or (fold.props.n_ctx if fold.props is not None else None),
        slots=(fold.props.total_slots if fold.props is not None else None) or len(slots) or None,
        unified=None if unified is None else unified == "true",
        cells=number_said(fold.epoch.said, "kv_cache", "cells"),
        types=config.types,
    )


def _cuda_context(fold: TargetFold, uses: tuple[GpuUse, ...]) -> int | None:
    """What CUDA took before anything was loaded: what the log, at its start, found used on the server's devices.

    Memory that other processes hold is taken off; that they held as much when the server started is an assumption.
    """
    used = _used_at_start(fold.epoch.said.get("device_total", {}))
    if used is None or not uses:
        return None
    others = sum(
        held or 0
        for use in uses
        for pid, held in (use.gpu.memory.processes if use.gpu.memory is not None else None) or []
        if pid != fold.pid
    )
    return used - others if used >= others else None


def _used_at_start(devices: Mapping[str, str]) -> int | None:
    """Of all CUDA devices that the log lists at its start, what was in use: ``NAME (total MiB, free MiB free)``."""
    names = {key.rpartition(".")[0] for key in devices if key.startswith("CUDA")}
    pairs = [(devices.get(f"{name}.total_mib", ""), devices.get(f"{name}.free_mib", "")) for name in names]
    if not pairs or not all(total.isdecimal() and free.isdecimal() for total, free in pairs):
        return None
    return sum(int(total) - int(free) for total, free in pairs) * MIB


def _at_full(devices: MemoryMap | None, fill: KvFill, growth: Growth | None, n_devices: int) -> AtFull | None:
    """Device memory with every slot's context full.

    Caches are reserved at load (src/llama-kv-cache.cpp), so that filling them takes no more; what grows with the
    context are work buffers, and of them only what was seen can be carried on.
    """
    if devices is None or growth is None or fill.context_tokens is None:
        return None
    latest, most = growth.latest, max(growth.samples, key=lambda s: s.fill_tokens or 0)
    filled = most.fill_tokens or 0
    half = next((s for s in growth.samples if (s.fill_tokens or 0) >= filled / 2), most)
    between = filled - (half.fill_tokens or 0)
    if filled < LEAST_FILL or not between:
        expected = latest.bytes
        basis = f"KV is reserved at load; how work buffers grow is not seen yet: {filled:,} tokens at most so far"
    else:
        grown = max(0, most.bytes - half.bytes)
        expected = max(latest.bytes, most.bytes + round(grown / between * max(0, fill.context_tokens - filled)))
        basis = (
            f"KV is reserved at load; from {half.fill_tokens:,} to {filled:,} tokens {grown / MIB:,.0f} MiB more were"
            f" taken, carried on to {fill.context_tokens:,}"
        )
    fits = None
    if devices.free_bytes is not None and (expected == latest.bytes or n_devices == 1):
        # Of several devices it is not known which of them will have to hold what is still to come.
        fits = expected <= latest.bytes + devices.free_bytes
    return AtFull(bytes=expected, basis=basis, fits=fits)
