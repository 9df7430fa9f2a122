"""The machine's GPUs, each beside the most it can."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from specscope.views import gpu_words as words
from specscope.views.figures import UNKNOWN, data_size
from specscope.views.gpu_words import Device, devices_of
from specscope.views.machine_keys import devices_key, gpu_key
from specscope.views.memory_words import used_words
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.table import TableColumn, heading, natural, row, snug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.strip import Strip

    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line


class Devices(Panel):
    """A row per device, those that the server uses first."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The devices."""
        return devices_key(frame), tuple(gpu_key(gpu) for gpu in frame.session.machine.gpus)

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """Headings and the rows; a lost device has its reason in the place of figures."""
        devices = all_devices(frame)
        room = max(1, height - 1)
        shown = sorted(devices, key=lambda d: (d.gpu.lost is None, d.use is None))[:room]
        columns = _columns(shown, width)
        name = "GPUs" if len(shown) == len(devices) else f"GPUs, {len(devices) - len(shown)} more"
        rows: list[Line | Strip] = [heading(name, columns, ink, width)]
        for device in sorted(shown, key=lambda d: d.gpu.index):
            if device.gpu.lost is not None:
                line = ink.line().left(*_name(device, ink)[:1], columns[0].width, ink.text).add(" ", ink.text)
                rows.append(line.add(f" {words.lost_words(frame, device.gpu)} ", ink.alarm))
            else:
                rows.append(row(device, columns, ink, width))
        return rows


def _columns(devices: Sequence[Device], width: int) -> list[TableColumn[Device]]:
    """The columns that fit; where all do, names have what room they need."""
    columns = snug(COLUMNS, width)
    longest = max((len(words.name_of(device.gpu)) + 4 for device in devices), default=0)
    more = max(0, min(longest - columns[0].width, width - natural(COLUMNS)))
    return [replace(columns[0], width=columns[0].width + more), *columns[1:]]


def all_devices(frame: Frame) -> list[Device]:
    """The devices that the server uses, and all others of the machine."""
    used, target = devices_of(frame), frame.target
    known = {device.gpu.index for device in used}
    others = (gpu for gpu in frame.session.machine.gpus if gpu.index not in known)
    return used + [Device(gpu, None, target is not None and words.is_unheld(target, gpu)) for gpu in others]


def _name(d: Device, ink: Ink) -> tuple[str, Style]:
    return f" {d.gpu.index} {words.name_of(d.gpu) or UNKNOWN}", ink.strong if d.use is not None else ink.text


def _used(d: Device, ink: Ink) -> tuple[str, Style]:
    if d.use is not None:
        return "yes", ink.text
    return "no" if d.unheld else UNKNOWN, ink.muted


def _power(d: Device, ink: Ink) -> tuple[str, Style]:
    return words.power_words(d.gpu).removesuffix(" W"), ink.text


def _sm(d: Device, ink: Ink) -> tuple[str, Style]:
    return words.sm_clock_words(d.gpu).removesuffix(" MHz"), ink.text


def _memory_clock(d: Device, ink: Ink) -> tuple[str, Style]:
    read = d.gpu.memory.memory_clock_mhz if d.gpu.memory is not None else None
    return words.clock_words(read, d.gpu.found.memory_clock_max_mhz).removesuffix(" MHz"), ink.text


def _memory(d: Device, ink: Ink) -> tuple[str, Style]:
    read = d.gpu.memory.used_bytes if d.gpu.memory is not None else None
    return used_words(read, d.gpu.found.memory_bytes).removesuffix(" GiB"), ink.text


def _busy(d: Device, ink: Ink) -> tuple[str, Style]:
    return words.busy_words(d.gpu).removesuffix(" busy"), ink.text


def _temperature(d: Device, ink: Ink) -> tuple[str, Style]:
    """Now, and where software begins to cut the clocks, else where hardware does."""
    found = d.gpu.found
    edge = found.max_c if found.max_c is not None else found.slowdown_c
    read = d.gpu.memory.temperature_c if d.gpu.memory is not None else None
    hot = read is not None and edge is not None and read >= edge - 3
    text = UNKNOWN if read is None else str(read)
    return (text if edge is None else f"{text} of {edge}"), ink.warn if hot else ink.text


def _link(d: Device, ink: Ink) -> tuple[str, Style]:
    link, found = d.gpu.link, d.gpu.found
    now = _lanes(link.link_gen, link.link_width) if link is not None else UNKNOWN
    most = _lanes(found.link_gen_max, found.link_width_max)
    if most in (now, UNKNOWN):
        return now, ink.text
    return f"{now} of {most}", ink.text


def _lanes(gen: int | None, width: int | None) -> str:
    if gen is None and width is None:
        return UNKNOWN
    return f"{UNKNOWN if gen is None else gen} x{UNKNOWN if width is None else width}"


def _to_host(d: Device, ink: Ink) -> tuple[str, Style]:
    return _rate(d.gpu.link.to_host_bytes_per_s if d.gpu.link is not None else None), ink.text


def _to_device(d: Device, ink: Ink) -> tuple[str, Style]:
    return _rate(d.gpu.link.to_device_bytes_per_s if d.gpu.link is not None else None), ink.text


def _rate(per_s: int | None) -> str:
    return UNKNOWN if per_s is None else f"{data_size(per_s)}/s"


def _notes(d: Device, ink: Ink) -> tuple[str, Style]:
    """How the use is known, and what makes the figures differ from those of a bare device."""
    found, now = d.gpu.found, d.gpu.now
    said = [words.HOW[d.use.how] if d.use is not None else "", words.kind_words(d.gpu)]
    said.append("power is a mean of one second" if now is not None and now.instant is False else "")
    said.append(f"driver {found.driver}" if found.driver else "")
    return "; ".join(text for text in said if text), ink.muted


COLUMNS: Final[tuple[TableColumn[Device], ...]] = (
    TableColumn("name", 19, _name, left=True),
    TableColumn("used", 4, _used, rank=1),
    TableColumn("W of limit", 12, _power),
    TableColumn("SM MHz of most", 15, _sm),
    TableColumn("memory MHz", 17, _memory_clock, rank=7),
    TableColumn("GiB in use", 14, _memory, rank=5),
    TableColumn("busy", 5, _busy, rank=2),
    TableColumn("C of most", 9, _temperature),
    TableColumn("PCIe gen, lanes", 15, _link, rank=4),
    TableColumn("to host", 9, _to_host, rank=3),
    TableColumn("to device", 9, _to_device, rank=6),
    TableColumn("what is known of it", 24, _notes, rank=8, left=True),
)
