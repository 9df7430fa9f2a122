"""The GPU source at work in a test."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, TypeVar

from specscope.events import GpuFound, SourceAttached, SourceLost
from specscope.sources.nvml.source import NvmlSource
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from specscope.events import Event

    F = TypeVar("F", bound=Event)


@contextlib.asynccontextmanager
async def watching_gpus(*, devices: frozenset[int] | None = None) -> AsyncGenerator[list[Event]]:
    """The facts of a source that runs inside the block; afterwards its threads have ended and told nothing more."""
    facts: list[Event] = []
    task = asyncio.create_task(NvmlSource(Clock(), devices=devices).run(facts.append))
    try:
        yield facts
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        told = len(facts)
        await until(lambda: not threads())
        await asyncio.sleep(0)
        assert len(facts) == told


def threads() -> list[str]:
    """The source's threads that run."""
    return [t.name for t in threading.enumerate() if t.name.startswith("specscope-nvml")]


async def until(holds: Callable[[], object]) -> None:
    """Wait until something holds; a test in which it never does fails."""
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110  the facts of a source are all there is to wait for
            await asyncio.sleep(0.01)


def of(facts: list[Event], kind: type[F]) -> list[F]:
    """The facts of a kind."""
    return [f for f in facts if isinstance(f, kind)]


def told(facts: list[Event]) -> list[str]:
    """What the source said of itself: details and reasons."""
    return [
        f.detail if isinstance(f, SourceAttached) else f.reason
        for f in facts
        if isinstance(f, SourceAttached | SourceLost)
    ]


async def first(facts: list[Event], kind: type[F], index: int = 0) -> F:
    """The first fact of a kind about a device."""
    mine: list[F] = []
    while not mine:
        seen = len(facts)
        mine = [f for f in of(facts, kind) if getattr(f, "index", index) == index]
        if not mine:
            await until(lambda seen=seen: len(facts) > seen)
    return mine[0]


async def newest(facts: list[Event], kind: type[F], holds: Callable[[F], object], *, after: Event | None = None) -> F:
    """The first fact of a kind, after another one or from now on, of which something holds."""
    start = len(facts) if after is None else facts.index(after) + 1
    found: list[F] = []

    def look() -> bool:
        found[:] = [f for f in facts[start:] if isinstance(f, kind) and holds(f)]
        return bool(found)

    await until(look)
    return found[0]


async def found(facts: list[Event], index: int = 0) -> GpuFound:
    """A device, as first told."""
    return await first(facts, GpuFound, index)
