"""When the counters of /metrics are read, and what a read says of the server's identity and of the counts.

Each read resets the server's rate gauges for everyone, so it happens at the start, when the slots have fallen idle
after work, and at the end.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from specscope.events import ServerStarted
from specscope.sources.answers import error_message, shorten
from specscope.sources.metrics_text import read_counters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from specscope.sources.answers import Answer
    from specscope.sources.endpoints import Endpoints
    from specscope.sources.slot_poller import SlotPoller
    from specscope.sources.source import Clock

IDLE_BEFORE_SCRAPE_S: Final = 0.4
"""The log source reads at intervals of up to 0.2 s: by then every line of the last request has been read."""

BUSY_SCRAPE_S: Final = 15.0
"""While slots never fall idle together, the counters are read at most this often, after a release."""

UNSETTLED_S: Final = 1.0
"""A read that met a busy slot settles nothing: once the slots are idle it is repeated, no more often than this."""

BLIND_SCRAPE_S: Final = 5.0
"""Without /slots nothing tells when a request ends, so the counters are read at this interval."""

LOOK_S: Final = 0.02
LOOK_WAIT_S: Final = 1.0
"""How long a read waits for the look at /slots that shows whether all slots stayed idle over it."""

KEY_HINT: Final = "give the key: --api-key-file FILE or LLAMA_API_KEY"
METRICS_HINT: Final = "start the server with --metrics for its own totals"


class Counters:
    """Reads the counters of one server.

    Args:
        get: asks the server.
        endpoints: told how /metrics fares.
        clock: the watch's clock.
        target: which target the facts are about.
        live_s: read at this interval even while busy; None: only when requests have ended.

    Attributes:
        woken: a request began, says another source, since the last read.
        reading: a read is under way.
    """

    def __init__(
        self,
        get: Callable[[str], Awaitable[Answer]],
        endpoints: Endpoints,
        clock: Clock,
        target: str,
        live_s: float | None,
    ) -> None:
        self._get = get
        self._endpoints = endpoints
        self._clock = clock
        self._target = target
        self._live_s = live_s
        self._read_at: float | None = None
        self._releases = 0
        self._token: str | None = None
        self._settled = True
        self._off = False
        self.woken = False
        self.reading = False

    def renew(self) -> None:
        """The server is there again, perhaps with other endpoints: read at the next chance."""
        self._off = False
        self._read_at = None
        self._releases = 0

    async def same_process(self) -> bool | None:
        """Whether the process answers that answered before; None when the server does not tell."""
        before = self._token
        if before is None:
            return None
        token = (await self._get("/metrics")).headers.get("process-start-time-unix")
        return None if token is None else token == before

    def worked(self, poller: SlotPoller) -> bool:
        """Whether the counters may have moved since the last read, and can be read."""
        read_at = self._read_at or 0.0
        busy_since = poller.last_busy is not None and poller.last_busy > read_at
        return not self._off and (self.woken or busy_since or not self._settled)

    async def read_when_due(self, poller: SlotPoller) -> None:
        """Read if this is a moment for it. Never while polling is paused: that server wants to fall asleep."""
        if self._off or poller.paused or not poller.attached:
            return
        now = self._clock.now()
        age = None if self._read_at is None else now - self._read_at
        idle = poller.idle_since is not None and now - poller.idle_since > IDLE_BEFORE_SCRAPE_S
        released = poller.watch.releases > self._releases
        live_due = age is not None and self._live_s is not None and age > self._live_s
        settle = idle and self.worked(poller) and (self._settled or age is None or age > UNSETTLED_S)
        if age is None or settle or (released and age > BUSY_SCRAPE_S) or live_due:
            self._releases = poller.watch.releases
            await self.read(poller)

    async def read_blindly(self) -> None:
        """Read now and then without knowing what the slots do."""
        every_s = min(BLIND_SCRAPE_S, self._live_s or BLIND_SCRAPE_S)
        if not self._off and (self._read_at is None or self._clock.now() - self._read_at > every_s):
            await self.read(None)

    async def read(self, poller: SlotPoller | None) -> None:
        """Read the counters, and note whether every slot was idle before and after.

        What another source tells of requests is read later than they happen: after one the slots must have been idle
        for a while, and none may be told of meanwhile that began and ended between two looks.
        """
        if self._off:
            return
        woken = self.woken
        self.reading, self.woken = True, False
        try:
            idle_since = self._idle_since(poller, woken=woken)
            answer = await self._get("/metrics")
            at = self._read_at = self._clock.now()
            if self._usable(answer):
                idle = idle_since is not None and poller is not None and await self._stayed_idle(poller, idle_since, at)
                self._settled = idle
                self._take(answer, at, idle=idle)
        finally:
            self.reading = False

    def _idle_since(self, poller: SlotPoller | None, *, woken: bool) -> float | None:
        since = poller.idle_since if poller is not None else None
        told = since is not None and (not woken or self._clock.now() - since > IDLE_BEFORE_SCRAPE_S)
        return since if told else None

    async def _stayed_idle(self, poller: SlotPoller, idle_since: float, read_at: float) -> bool:
        """Whether a look at /slots after the read finds that the slots have not been busy meanwhile."""
        deadline = self._clock.now() + LOOK_WAIT_S
        poller.look()
        while poller.looked_at < read_at:
            if poller.failure is not None or poller.paused or self._clock.now() > deadline:
                return False
            await asyncio.sleep(LOOK_S)
        return poller.idle_since == idle_since and not self.woken

    def _usable(self, answer: Answer) -> bool:
        match answer.status:
            case HTTPStatus.OK:
                return True
            case HTTPStatus.NOT_IMPLEMENTED | HTTPStatus.NOT_FOUND:
                self._off = True
                self._endpoints.lose("metrics", error_message(answer.body) or "/metrics is not there", METRICS_HINT)
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                self._off = True
                reason = error_message(answer.body) or f"/metrics answered {answer.status}"
                self._endpoints.lose("metrics", reason, KEY_HINT)
            case _:
                reason = answer.text or f"/metrics answered {answer.status}: {shorten(answer.body)}"
                self._endpoints.lose("metrics", reason)
        return False

    def _take(self, answer: Answer, at: float, *, idle: bool) -> None:
        try:
            counters = read_counters(answer.body.decode("utf-8", "replace"), at=at, target=self._target, idle=idle)
        except ValueError as error:
            self._endpoints.lose("metrics", f"/metrics: {error}: {shorten(answer.body)}")
            return
        token = answer.headers.get("process-start-time-unix")
        if token is not None:
            self._token = token
            self._endpoints.emit(ServerStarted(at=at, target=self._target, token=token, by="http"))
        self._endpoints.attach("metrics", "totals", "the server's own totals")
        self._endpoints.emit(counters)
