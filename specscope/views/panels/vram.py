"""The memory of a server's devices in a few rows: what is in it, and how full the context is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.views.gpu_words import devices_of
from specscope.views.machine_keys import devices_key, fill_key, map_key
from specscope.views.memory_parts import Portion, groups_of
from specscope.views.memory_words import context_words, gib, used_words
from specscope.views.widgets.flow import flow
from specscope.views.widgets.memory_bar import memory_bar, memory_phrase
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

ROWS: Final = 5
"""A title, the bar, two rows of its figures, and how full the context is."""


class Vram(Panel):
    """A title, a bar, its figures, and the context."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The map, how full the caches are, and the devices where there is no map."""
        target = frame.target
        if target is None:
            return None
        known = map_key(target.memory.device)
        return known, fill_key(target.memory), known or devices_key(frame)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """As much as there is room for; the context has the last row."""
        target = frame.target
        if target is None:
            return []
        portions, said, rest = _portions(frame, target)
        gpus = len(devices_of(frame))
        name = f"memory of {gpus} GPUs" if gpus > 1 else "memory"
        kv = target.memory.kv
        foot = [ink.line().add(f" {context_words(kv)}", ink.text)] if kv.fill_tokens is not None else []
        if not portions:
            return [ink.rule(name, width, rest), *foot]
        phrases = [
            memory_phrase(p, gib(p.bytes), ink, gib(p.filled_bytes) if p.filled_bytes is not None else "")
            for p in portions
            if p.letter
        ]
        legend = flow(phrases, ink, width)[: max(1, height - 2 - len(foot))]
        if rest:
            legend.append(ink.line().add(f" {rest}", ink.muted))
        bar = ink.line().add(" ", ink.text).append(memory_bar(portions, ink, width - 2))
        return [ink.rule(name, width, said), bar, *legend, *foot]


def is_told(frame: Frame) -> bool:
    """Whether anything is known of the devices' memory, or of the context."""
    target = frame.target
    if target is None or not (devices := devices_of(frame)):
        return False
    return target.memory.device is not None or any(d.gpu.memory is not None for d in devices)


def _portions(frame: Frame, target: Target) -> tuple[list[Portion], str, str]:
    """The portions of the bar, what is used in all, and what is not known."""
    known = target.memory.device
    if known is not None:
        return groups_of(known), _used(known.used_bytes, known.total_bytes, known.free_bytes), ""
    read = [device.gpu.memory for device in devices_of(frame)]
    used = [m.used_bytes if m is not None else None for m in read]
    free = [m.free_bytes if m is not None else None for m in read]
    if not read or any(u is None for u in used) or any(f is None for f in free):
        return [], "", "the driver does not tell what is in use"
    held, left = sum(u for u in used if u is not None), sum(f for f in free if f is not None)
    whole = max(1, held + left)
    portions = [Portion("O", "in use", 5, held, held / whole), Portion("", "free", 5, left, left / whole)]
    return portions, _used(held, whole, left), "what of it is the server's, and what for, is not known"


def _used(used: int | None, total: int | None, free: int | None) -> str:
    """``11.8 of 140.4 GiB in use, 128.0 free``; empty where use is not told."""
    if used is None:
        return ""
    return f"{used_words(used, total)} in use" + (f", {gib(free)} free" if free is not None else "")
