"""Facts from a thread to the event loop."""

from __future__ import annotations

import asyncio
import threading

from specscope.events import EventsMissed
from specscope.sources.hand_over import HandOver

PATIENCE_S = 20.0


def fact(number: int) -> EventsMissed:
    return EventsMissed(at=float(number), source="slots", count=number, reason="")


class Loop:
    """The running loop; counts how often it is woken from another thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.wakes = 0
        self.call_later = self._loop.call_later

    def call_soon_threadsafe(self, what: object, *args: object) -> None:
        self.wakes += 1
        self._loop.call_soon_threadsafe(what, *args)  # type: ignore[arg-type]


async def test_everything_comes_in_order_and_on_the_loop_s_thread() -> None:
    seen: list[int] = []
    threads: set[int] = set()

    def take(facts: list[EventsMissed]) -> None:
        threads.add(threading.get_ident())
        seen.extend(f.count for f in facts)

    hand_over = HandOver(asyncio.get_running_loop(), take)  # type: ignore[arg-type]

    def work() -> None:
        for number in range(0, 3000, 2):
            hand_over.put([fact(number), fact(number + 1)])

    await asyncio.to_thread(work)
    async with asyncio.timeout(PATIENCE_S):
        while len(seen) < 3000:  # noqa: ASYNC110  what is waited for sets no event
            await asyncio.sleep(0.01)
    assert seen == list(range(3000))
    assert threads == {threading.get_ident()}


async def test_what_comes_together_wakes_the_loop_once() -> None:
    loop, seen = Loop(), []
    hand_over = HandOver(loop, seen.append)  # type: ignore[arg-type]
    for number in range(100):  # the loop cannot run meanwhile
        hand_over.put([fact(number)])
    async with asyncio.timeout(PATIENCE_S):
        while len(seen) < 100:  # noqa: ASYNC110  as above
            await asyncio.sleep(0)
    assert loop.wakes == 1


async def test_after_a_pause_it_wakes_again() -> None:
    loop, seen = Loop(), []
    hand_over = HandOver(loop, seen.append)  # type: ignore[arg-type]
    async with asyncio.timeout(PATIENCE_S):
        for number in range(3):
            hand_over.put([])
            while len(seen) <= number or hand_over._is_due:  # noqa: ASYNC110  as above
                await asyncio.sleep(0.01)
    assert loop.wakes == 3


async def test_drain_takes_what_waits_at_once() -> None:
    seen: list[object] = []
    hand_over = HandOver(asyncio.get_running_loop(), seen.append)
    hand_over.put([fact(1)])
    hand_over.put([fact(2)])
    hand_over.drain()
    assert len(seen) == 2


def test_nobody_listens_any_more() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    HandOver(loop, lambda _: None).put([fact(1)])
