"""The life of the /slots poller on the event loop: its thread begins, is watched, fails, and begins again."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from specscope.sources.answers import ROUTER, Verdict, error_message, shorten
from specscope.sources.hand_over import HandOver
from specscope.sources.slot_poller import SlotPoller
from specscope.sources.slot_watch import SlotWatch

if TYPE_CHECKING:
    from specscope.events import Event, Tier
    from specscope.sources.answers import Answer
    from specscope.sources.llama_http import HttpSource

LOOK_S: Final = 0.1
HEALTH_S: Final = 1.0
"""Between looks at /health while /slots is not polled."""

FIRST_RETRY_S: Final = 0.5
LONGEST_RETRY_S: Final = 8.0
"""A /slots that stays broken is asked ever more rarely."""

SLOTS_HINT: Final = "start the server with --slots"
PAUSED: Final = "paused while idle, so that this server can fall asleep, until the log or the CPU shows a request"


class SlotPolling:
    """Keeps /slots polled while the server is ready."""

    def __init__(self, source: HttpSource) -> None:
        self._source = source
        self._watch = SlotWatch(source.target)
        self._sent_before = 0
        self._reconnects = 0
        self.poller: SlotPoller | None = None
        self.is_off = False

    @property
    def requests(self) -> int:
        """Requests that all pollers have sent."""
        return self._sent_before + (self.poller.requests if self.poller is not None else 0)

    def wake(self) -> None:
        """Look now."""
        if self.poller is not None:
            self.poller.wake()

    def relax(self, *, relaxed: bool) -> None:
        """Another source tells the cycles, or no longer does: the tier of what is polled changes with it."""
        poller = self.poller
        if poller is None or poller.pace.relaxed == relaxed:
            return
        poller.pace.relaxed = relaxed
        poller.look()
        if self._source.endpoints.delivers("slots"):
            self._attach(poller)

    async def run(self) -> None:
        """Poll until the server is no longer ready."""
        self._watch = SlotWatch(self._source.target, life=self._watch.life)
        self.is_off = False
        retry_s = FIRST_RETRY_S
        while True:
            attached, failure = await self._poll()
            if failure is None:
                return
            retry_s = FIRST_RETRY_S if attached else min(2 * retry_s, LONGEST_RETRY_S)
            if not await self._go_on(failure, retry_s):
                return

    async def _poll(self) -> tuple[bool, Answer | None]:
        """One poller's life: whether it ever read slots, and its failure (None: the server fell asleep)."""
        source, loop = self._source, asyncio.get_running_loop()
        ended = asyncio.Event()

        def tell(facts: list[Event]) -> None:
            if not poller.stopped:
                self._deliver(poller, facts)

        def body() -> None:
            poller.run()
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(ended.set)

        hand_over = HandOver(loop, tell)
        poller = SlotPoller(
            source.address, source.clock, hand_over.put, self._watch, pause_after_s=source.pause_after_s
        )
        poller.pace.relaxed = source.relaxed
        self.poller, self._reconnects = poller, 0
        threading.Thread(target=body, name="specscope-slots", daemon=True).start()
        try:
            while not ended.is_set():
                if await self._tend(poller):
                    return poller.attached, None
                try:
                    await asyncio.wait_for(ended.wait(), LOOK_S)
                except TimeoutError:
                    continue
            hand_over.drain()
        finally:
            poller.stop()
            self._sent_before += poller.requests
            self.poller = None
        return poller.attached, poller.failure

    async def _tend(self, poller: SlotPoller) -> bool:
        """What is due beside the polling itself. Returns whether the server must be met anew."""
        source = self._source
        poller.pause_after_s = source.pause_after_s
        poller.break_off_when_late()
        if poller.paused:
            return await self._while_paused()
        if poller.attached and source.endpoints.delivers("slots"):
            self._attach(poller)  # says nothing unless it was paused until now
        if poller.reconnects != self._reconnects:
            self._reconnects = poller.reconnects
            await source.meet_process()
            source.counters.renew()
        await source.counters.read_when_due(poller)
        return False

    async def _while_paused(self) -> bool:
        """Watch from afar a server that wants to fall asleep. Returns whether it did, or is gone."""
        source = self._source
        source.endpoints.attach("slots", self._tier, PAUSED)
        verdict, _ = await source.look()
        if verdict.state != "ready":
            source.say(verdict)
            return True
        await source.pause(HEALTH_S)
        return False

    @property
    def _tier(self) -> Tier:
        return "totals" if self._source.relaxed else "polled"

    def _attach(self, poller: SlotPoller) -> None:
        if not poller.paused:
            self._source.endpoints.attach(
                "slots", self._tier, "KV fill" if self._source.relaxed else "cycles by polling"
            )

    def _deliver(self, poller: SlotPoller, facts: list[Event]) -> None:
        """The facts of one reading, on the event loop."""
        self._source.slots_hang(hang=False)
        self._attach(poller)
        for fact in facts:
            self._source.endpoints.emit(fact)

    # --- when polling fails -------------------------------------------------------------------------------------

    async def _go_on(self, failure: Answer, retry_s: float) -> bool:
        """What the end of polling means. Returns whether the server is still there to be polled."""
        source = self._source
        match failure.status:
            case HTTPStatus.NOT_IMPLEMENTED | HTTPStatus.NOT_FOUND | HTTPStatus.FORBIDDEN as status:
                reason = error_message(failure.body) or f"/slots answered {failure.status}"
                source.endpoints.lose("slots", reason, "" if status == HTTPStatus.FORBIDDEN else SLOTS_HINT)
                self.is_off = True
                await self._without_slots(None)
                return False
            case HTTPStatus.UNAUTHORIZED:
                source.hold(Verdict("needs_key", failure.text or "/slots answered 401"))
                return False
            case HTTPStatus.BAD_REQUEST if b"model" in failure.body:
                source.hold(Verdict("router", ROUTER))
                return False
            case _:
                return await self._failed(failure, retry_s)

    async def _failed(self, failure: Answer, retry_s: float) -> bool:
        """The server is gone, or /slots is broken or stuck."""
        source = self._source
        refused = failure.status >= HTTPStatus.MULTIPLE_CHOICES
        reason = f"/slots answered {failure.status}: {shorten(failure.body)}" if refused else failure.text
        if not await self._ready():
            if source.endpoints.delivers("slots"):
                source.endpoints.lose("slots", reason)
            return False
        if failure.late:
            source.slots_hang(hang=True)
        source.endpoints.lose("slots", reason)
        return await self._without_slots(retry_s)

    async def _without_slots(self, seconds: float | None) -> bool:
        """Read the counters blindly, for so long or for ever. Returns whether the server is still there."""
        source = self._source
        deadline = None if seconds is None else source.clock.now() + seconds
        while deadline is None or source.clock.now() < deadline:
            if not await self._ready():
                return False
            if source.pause_after_s is None or source.counters.woken:
                await source.counters.read_blindly()
            left = HEALTH_S if deadline is None else deadline - source.clock.now()
            await source.pause(max(0.0, min(HEALTH_S, left)))
        return True

    async def _ready(self) -> bool:
        """Whether the server is still there and awake; says what it is otherwise."""
        verdict, _ = await self._source.look()
        if self._source.can_poll(verdict.state):
            return True
        self._source.say(verdict)
        return False
