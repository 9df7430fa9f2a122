"""What the GPU source tells of a device of the compiled NVML stand-in, and a server at work on it for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import builders as b
from msgspec.structs import replace
from nvml_watch import first, watching_gpus

from specscope.events import MACHINE, GpuFound, GpuLinkRead, GpuMemoryRead, GpuSampled

if TYPE_CHECKING:
    from nvml_standin import Gpus

    from specscope import events as ev

PID = 4242
"""The server's process, as the builders have it."""

EACH_S = 0.1
"""A device in use is sampled so often."""


@dataclass(frozen=True)
class Driver:
    """One reading of each kind."""

    found: GpuFound
    now: GpuSampled
    memory: GpuMemoryRead
    link: GpuLinkRead


async def reading(gpus: Gpus, index: int = 0) -> Driver:
    """What the source reads of a device now."""
    async with watching_gpus() as facts:
        return Driver(
            await first(facts, GpuFound, index),
            await first(facts, GpuSampled, index),
            await first(facts, GpuMemoryRead, index),
            await first(facts, GpuLinkRead, index),
        )


def served(*stretches: tuple[Driver, float], decoding: bool = True) -> list[ev.Event]:
    """A server at work on the device of the readings, each standing for so many seconds, from second 1 on."""
    facts: list[ev.Event] = [b.found(pid=PID), b.server("ready")]
    facts += [_at(0.0, of.found) for of, _ in stretches[:1]]
    facts += [_at(0.5, of.memory) for of, _ in stretches[:1]]
    facts.append(b.busy(1.0, decoded=1 if decoding else 0))
    at = 1.0
    for of, seconds in stretches:
        for i in range(round(seconds / EACH_S)):
            facts.append(_at(at, of.now))
            if i % 10 == 0:
                facts += [_at(at, of.memory), _at(at, of.link)]
            at += EACH_S
    return facts


def _at(at: float, fact: GpuFound | GpuSampled | GpuMemoryRead | GpuLinkRead) -> ev.Event:
    return replace(fact, at=b.T0 + at, target=MACHINE)
