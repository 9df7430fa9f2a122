"""A running HttpSource and the facts it reported: waits for conditions, never for times."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, TypeVar

from specscope import events as ev
from specscope.session.fold import Fold
from specscope.sources.llama_http import HttpSource
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from specscope.session.state import Target

PATIENCE_S = 20.0
"""How long a test waits for what must come. Nothing is asserted about how soon it does."""

Kind = TypeVar("Kind", bound=ev.Event)


class Watched:
    """The facts, the state folded from them, and the source."""

    def __init__(self, source: HttpSource) -> None:
        self.source = source
        self.facts: list[ev.Event] = []
        self.fold = Fold()
        self._news = asyncio.Event()

    def emit(self, fact: ev.Event) -> None:
        self.facts.append(fact)
        self.fold.apply(fact)
        self._news.set()

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until it holds, looking at each fact and now and then."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 0.02)

    async def until_state(self, state: str) -> None:
        await self.until(lambda: self.state == state)

    async def until_attached(self, *sources: str) -> None:
        await self.until(lambda: all(self.said(s) == "attached" for s in sources))

    async def until_lost(self, *sources: str) -> None:
        await self.until(lambda: all(self.said(s) == "lost" for s in sources))

    @property
    def target(self) -> Target:
        return self.fold.view().targets[0]

    @property
    def state(self) -> str:
        return self.fold.targets["t0"].server if self.fold.targets else "unknown"

    def said(self, source: str) -> str | None:
        """How a source fares."""
        target = self.fold.targets.get("t0")
        view = target.sources.get(source) if target else None
        return view.state if view else None

    def detail(self, source: str) -> str:
        return self.fold.targets["t0"].sources[source].detail

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [fact for fact in self.facts if isinstance(fact, kind)]


@contextlib.asynccontextmanager
async def watch(url: str, **options: object) -> AsyncGenerator[Watched]:
    """A source on a server; on leaving it is cancelled, and its thread must end."""
    source = HttpSource(url, Clock(), **options)  # type: ignore[arg-type]
    watched = Watched(source)
    task = asyncio.create_task(source.run(watched.emit))
    try:
        yield watched
        assert not task.done()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        async with asyncio.timeout(PATIENCE_S):
            while pollers():  # noqa: ASYNC110  what is waited for sets no event
                await asyncio.sleep(0.01)


def pollers() -> list[threading.Thread]:
    """The threads that poll."""
    return [thread for thread in threading.enumerate() if thread.name == "specscope-slots"]
