"""The devices of a server: power against its limit, what holds the clocks down, use, and what a token costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.views import energy_words as energy
from specscope.views import gpu_words as words
from specscope.views.machine_keys import devices_key, map_key
from specscope.views.memory_words import used_words
from specscope.views.widgets.flow import ranked
from specscope.views.widgets.line import shorten
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.gpu_words import Device
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

LABEL: Final = 8
"""Cells of what a row is about."""
DETAIL_ROWS: Final = 5
"""A title and what is said of a single device: now, what limits its clocks, energy, bus."""
LOST_ROWS: Final = 2
"""A title and why it is lost."""
NAME_LEAST: Final = 4
"""Cells below which a name is left out of the title."""
NAME: Final = 14
"""Cells of a device's name where they differ."""
WIDE: Final = 100
"""From this width on, what limits a device is said in full in its only row."""


class Gpu(Panel):
    """A single row; with more room, four rows of one device, or a row for each of several."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The devices, energy, and whether anything is decoded."""
        memory = map_key(frame.target.memory.device) if frame.target is not None else None
        return devices_key(frame), memory, frame.activity.stale

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """As much as there is room for, what limits the device first."""
        devices, target = words.devices_of(frame), frame.target
        if not devices or target is None:
            return []
        if height == 1:
            return [_only_row(frame, target, devices, ink, width)]
        if len(devices) == 1:
            title = _title(frame, devices[0], ink, width)
            return [title, *_details(frame, target, devices[0], ink, width)]
        return [_heads(devices, height - 2, ink, width), *_several(frame, target, devices, ink, (width, height - 2))]


def rows_wanted(frame: Frame) -> int:
    """How many rows show everything; it does not change with the figures."""
    devices = words.devices_of(frame)
    if len(devices) == 1:
        return LOST_ROWS if devices[0].gpu.lost is not None else DETAIL_ROWS
    return 2 + len(devices) if devices else 0


def _title(frame: Frame, device: Device, ink: Ink, width: int) -> Line:
    gpu = device.gpu
    age, doing = words.age_words(gpu, frame.now), words.PHASES.get(gpu.phase) if gpu.phase is not None else ""
    said = [(doing or "", ink.muted), (age, ink.warn)]
    said.append((words.NOT_KNOWN if device.use is None else "", ink.warn))
    others = words.others_on(device)
    said.append((f"{others} other process{'es' if others > 1 else ''} on it" if others else "", ink.warn))
    number = f"GPU {gpu.index}"
    room = width - 3 - len(number) - 1 - sum(len(text) + 3 for text, _ in said if text)
    name = f"{number} {shorten(words.name_of(gpu), room) if room >= NAME_LEAST else ''}".rstrip()
    line = ink.line().add("─ ", ink.faint).add(name, ink.title)
    for text, style in said:
        if text:
            line.add(" ─ ", ink.faint).add(text, style)
    return line.add(" ", ink.faint).fill(width, "─", ink.faint)


def _labelled(label: str, phrases: Sequence[tuple[int, Line]], ink: Ink, width: int) -> Line:
    line = ink.line().add(" ", ink.text).left(label, LABEL - 1, ink.muted)
    return line.append(ranked(phrases, ink, width - LABEL - 1, 2))


def _details(frame: Frame, target: Target, device: Device, ink: Ink, width: int) -> list[Line]:
    """Now, limits, energy, and what crosses the bus."""
    gpu, text = device.gpu, ink.text
    if gpu.lost is not None:
        return [ink.line().add(" ", text).add(f" {words.lost_words(frame, gpu)} ", ink.alarm)]
    said, spent = words.limits_of(gpu), target.energy
    limits = [(0, ink.line().add(said.text, ink.warn if said.loud else text)), (1, ink.line().add(said.others, text))]
    now = [(0, words.power_words(gpu)), (1, words.sm_clock_words(gpu)), (2, words.busy_words(gpu))]
    now.append((3, words.temperature_words(gpu)))
    cost = [(0, energy.per_token(spent)), (2, energy.live(spent, stale=frame.activity.stale))]
    cost += [(1, energy.per_accepted(spent)), (3, energy.counted_over(spent)), (4, energy.rejected(spent))]
    bus = [(0, energy.to_host(target, device)), (1, energy.per_turn(target)), (2, words.kind_words(gpu))]
    bus.append((3, words.mean_words(gpu)))

    def row(label: str, phrases: Sequence[tuple[int, str]]) -> Line:
        return _labelled(label, [(rank, ink.line().add(said, text)) for rank, said in phrases], ink, width)

    first = row("now", now)
    if words.tells_nothing(gpu):
        first = row("now", [(0, "the driver tells neither power, clocks nor use"), (1, words.temperature_words(gpu))])
    rows = [first]
    if gpu.judged_s or not words.tells_nothing(gpu):
        rows.append(_labelled("clocks", limits, ink, width))
    if device.use is not None:
        rows.append(row("energy", cost))
    return [*rows, row("bus" if bus[0][1] else "also", bus)] if any(said for _, said in bus) else rows


def _only_row(frame: Frame, target: Target, devices: Sequence[Device], ink: Ink, width: int) -> Line:
    """The worst device's limit beside the power and memory of all."""
    if len(devices) == 1:
        phrases = _short(frame, devices[0], ink, width, several=False)
        name = "GPU"
    else:
        worst = min(devices, key=_health)
        index = ink.line().add(f"GPU {worst.gpu.index}:", ink.muted)
        phrases = [(0, index), *_short(frame, worst, ink, width, several=True)]
        name = f"{len(devices)} GPUs"
    if any(device.use is not None for device in devices):
        phrases.append((2, ink.line().add(energy.per_token(target.energy), ink.text)))
    phrases.append((1, ink.line().add(_memory(target, devices), ink.text)))
    line = ink.line().add(" ", ink.text).add(f"{name} ", ink.title)
    if all(device.use is None for device in devices):
        line.add(f"{words.NOT_KNOWN_SHORT} ", ink.warn)
    return line.append(ranked(phrases, ink, width - line.cells, 2))


def _memory(target: Target, devices: Sequence[Device]) -> str:
    """Memory in use, of all devices together; empty where one of them does not tell."""
    known = target.memory.device
    if known is not None and known.used_bytes is not None and known.total_bytes is not None:
        return used_words(known.used_bytes, known.total_bytes)
    used = [device.gpu.memory.used_bytes if device.gpu.memory is not None else None for device in devices]
    most = [device.gpu.found.memory_bytes for device in devices]
    if any(u is None for u in used) or any(m is None for m in most):
        return ""
    return used_words(sum(u for u in used if u is not None), sum(m for m in most if m is not None))


def _health(device: Device) -> tuple[bool, float]:
    """The lower, the worse: lost devices first, then those whose limit holds longest."""
    gpu = device.gpu
    return gpu.lost is None, -(gpu.limits[0].share if gpu.limits else 0.0)


def _short(frame: Frame, device: Device, ink: Ink, width: int, *, several: bool) -> list[tuple[int, Line]]:
    """A device in a row: power, what limits it, clock, use and temperature."""
    gpu = device.gpu
    if gpu.lost is not None:
        return [(0, ink.line().add(f" {words.lost_words(frame, gpu)} ", ink.alarm))]
    age = words.age_words(gpu, frame.now)
    said = words.limits_of(gpu, several=several)
    text, style = said.text if width >= WIDE else said.short, ink.warn if said.loud else ink.text
    if words.tells_nothing(gpu):
        power, text, style = "", "power, clocks and use not told", ink.muted
    else:
        power = words.power_words(gpu)
    phrases = [(0, power, ink.text), (0, age, ink.warn), (0, text, style)]
    if not words.tells_nothing(gpu):
        clock = "" if width >= WIDE and said.loud else words.sm_clock_words(gpu)
        phrases += [(3, clock, ink.text), (4, words.busy_words(gpu), ink.text)]
    phrases.append((5, words.temperature_words(gpu), ink.text))
    return [(rank, ink.line().add(said, style)) for rank, said, style in phrases]


def _heads(devices: Sequence[Device], room: int, ink: Ink, width: int) -> Line:
    """The title over several devices."""
    title = ink.line().add("─ ", ink.faint).add(f"{len(devices)} GPUs ", ink.title)
    names = {words.name_of(device.gpu) for device in devices} - {""}
    unsure = all(device.use is None for device in devices)
    for text, style in (
        (next(iter(names)) if len(names) == 1 else "", ink.muted),
        (f"{len(devices) - room} more not shown" if len(devices) > room else "", ink.muted),
        (words.NOT_KNOWN.replace(" it", " them") if unsure else "", ink.warn),
    ):
        if text:
            title.add("─ ", ink.faint).add(f"{text} ", style)
    return title.fill(width, "─", ink.faint)


def _several(
    frame: Frame, target: Target, devices: Sequence[Device], ink: Ink, size: tuple[int, int]
) -> list[Line | Strip]:
    """A row for each device, the worst of them where not all fit, and what a token costs on all together."""
    width, room = size
    names = {words.name_of(device.gpu) for device in devices}
    rows: list[Line | Strip] = []
    shown = sorted(sorted(devices, key=_health)[: max(1, room)], key=lambda device: device.gpu.index)
    said = [_short(frame, device, ink, width, several=True) for device in shown]
    columns = max(len(phrases) for phrases in said)
    for place in range(columns):
        column = [phrases[place][1] for phrases in said if len(phrases) == columns]
        cells = max(phrase.cells for phrase in column)
        for phrase in column:
            phrase.fill(cells, " ", ink.text)
    for device, phrases in zip(shown, said, strict=True):
        line = ink.line().add(f" {device.gpu.index} ", ink.strong)
        if len(names) > 1:
            line.left(words.name_of(device.gpu), NAME, ink.muted).add(" ", ink.text)
        rows.append(line.append(ranked(phrases, ink, width - line.cells, 2)))
    cost = [(0, energy.per_token(target.energy)), (1, energy.per_accepted(target.energy))]
    cost.append((2, energy.live(target.energy, stale=frame.activity.stale)))
    return [*rows, _labelled("energy", [(rank, ink.line().add(said, ink.text)) for rank, said in cost], ink, width)]
