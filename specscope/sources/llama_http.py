"""The HTTP side of a llama-server: first contact, /props, the counters of /metrics, and the life of the /slots poller.

Each endpoint is a source of its own (``http``, ``slots``, ``metrics``), so that one that is off or broken takes
nothing from the others. Nothing here loads, wakes or evicts a model.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import httpx

from specscope.events import ServerChanged, ServerStarted, SourceAttached, SourceLost
from specscope.sources.answers import Answer, error_message, judge_health, judge_props, shorten
from specscope.sources.metrics_text import read_counters
from specscope.sources.slot_poller import SlotPoller

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from specscope.events import Event, ServerState, Tier
    from specscope.sources.source import Clock, Emit

TIMEOUT_S: Final = 3.0
RETRY_S: Final = 0.5
LOOK_S: Final = 0.1
IDLE_BEFORE_SCRAPE_S: Final = 0.4
"""The log source reads at intervals of up to 0.2 s: by then every line of the last request has been read."""

FINISH_S: Final = 1.5
"""How long the end of a watch waits for the closing comparison."""

BUSY_SCRAPE_S: Final = 15.0
"""While slots never fall idle together, the counters are read at most this often, after a release: each scrape
resets the server's rate gauges for everyone."""

BLIND_SCRAPE_S: Final = 5.0
"""Without /slots nothing tells when a request ends, so the counters are read at this interval."""


@dataclass(eq=False)
class HttpSource:
    """Watches one server over HTTP.

    Args:
        url: base address, with a path prefix if the server has one.
        clock: the watch's clock.
        target: which target the facts are about.
        api_key: sent as a bearer token; a wrong one is tried once.
        relaxed: another source tells the cycles, so /slots is polled slowly (may change while running).
        live_metrics_s: read the counters at this interval even while busy; None: only when a request has ended.
        on_contact: awaited when the server is first ready and after each restart, before anything is counted, so
            that the other sources are in place.
    """

    url: str
    clock: Clock
    target: str = "t0"
    api_key: str | None = None
    relaxed: bool = False
    live_metrics_s: float | None = None
    on_contact: Callable[[], Awaitable[None]] | None = None
    name: str = "http"
    poller: SlotPoller | None = None
    _requests: int = 0
    _state: ServerState | None = None
    _detail: str = ""
    _lost: dict[str, str] = field(default_factory=dict[str, str])
    _contacts: int = 0
    _scraped_at: float = 0.0
    _scraped_releases: int = 0
    _metrics_off: bool = False
    _scraping: bool = False
    _woken: bool = False
    _emit: Emit = field(default=lambda _: None)
    _client: httpx.AsyncClient = field(init=False)

    @property
    def requests(self) -> int:
        """Requests sent so far."""
        return self._requests + (self.poller.requests if self.poller else 0)

    def relax(self, *, relaxed: bool) -> None:
        """Another source tells the cycles from now on, or no longer does."""
        self.relaxed = relaxed
        if self.poller is not None and self.poller.pace.relaxed != relaxed:
            self.poller.pace.relaxed = relaxed
            self._lost.pop("slots", None)  # its tier changes: say so with the next facts
            self.poller.wake()

    def wake(self) -> None:
        """A request began, says another source: look now, and read the counters when it is over."""
        self._woken = True
        if self.poller is not None:
            self.poller.wake()

    async def run(self, emit: Emit) -> None:
        """Watch until cancelled."""
        self._emit = emit
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        async with httpx.AsyncClient(timeout=TIMEOUT_S, headers=headers, trust_env=False) as self._client:
            while True:
                state = await self._contact()
                if state in ("ready", "hung"):
                    await self._watch()
                else:
                    await asyncio.sleep(RETRY_S)

    async def finish(self) -> None:
        """Read the counters a last time if a request ended since the last read; call it while ``run`` runs.

        Waits up to :data:`FINISH_S` for the slots to fall idle; counters of a busy server would settle nothing.
        """
        poller = self.poller
        deadline = self.clock.now() + FINISH_S
        while poller is not None and poller.failure is None and self.clock.now() < deadline:
            worked = self._woken or (poller.last_busy is not None and poller.last_busy > self._scraped_at)
            if not worked and not self._scraping:
                return
            await asyncio.sleep(LOOK_S)

    # --- first contact --------------------------------------------------------------------------------------------

    async def _contact(self) -> ServerState:
        verdict = judge_health(await self._get("/health"))
        if self._state == "needs_key" and verdict.state in ("ready", "needs_key"):
            return "needs_key"  # every further try with a wrong key would be a warning in the server's log
        props = None
        if verdict.state == "ready":
            at = self.clock.now()
            verdict, props = judge_props(await self._get("/props"), at=at, target=self.target)
            if verdict.state == "ready" and self._state in (None, "down", "loading", "error"):
                self._contacts += 1
                if self.on_contact is not None:
                    await self.on_contact()
                self._emit(ServerStarted(at=at, target=self.target, token=str(self._contacts), by="contact"))
                self._metrics_off = False
                self._lost.clear()
        self._say(verdict.state, verdict.detail)
        if props is not None:
            self._emit(props)
        return verdict.state

    def _say(self, state: ServerState, detail: str) -> None:
        """Report the server's state when it changed, and the http source with it."""
        if (state, detail) == (self._state, self._detail):
            return
        self._state, self._detail = state, detail
        at = self.clock.now()
        self._emit(ServerChanged(at=at, target=self.target, state=state, detail=detail))
        if state in ("ready", "sleeping", "hung"):
            self._attach("http", "totals", "first contact, /props")
        else:
            hint = "give the key: --api-key-file FILE or LLAMA_API_KEY" if state == "needs_key" else ""
            self._lose("http", detail or state, hint)

    async def _get(self, path: str) -> Answer:
        self._requests += 1
        try:
            response = await self._client.get(f"{self.url.rstrip('/')}{path}")
        except httpx.TimeoutException:
            return Answer(0, text=f"{path} did not answer within {TIMEOUT_S:.0f} s")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Answer(0, text=str(error) or type(error).__name__)
        except UnicodeError as error:  # a header or an address that is no text
            return Answer(0, text=str(error))
        return Answer(response.status_code, response.content, "", dict(response.headers))

    # --- watching -------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Poll /slots and read the counters until the server goes away."""
        await self._scrape()
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def deliver(facts: list[Event]) -> None:
            loop.call_soon_threadsafe(self._deliver, facts)

        def body(poller: SlotPoller) -> None:
            poller.run()
            if not loop.is_closed():
                loop.call_soon_threadsafe(ended.set)

        poller = SlotPoller(self.url, self.clock, deliver, self.target, self.api_key)
        poller.pace.relaxed = self.relaxed
        sent = self.requests
        self.poller, self._requests = poller, sent
        threading.Thread(target=body, args=(poller,), name="specscope-slots", daemon=True).start()
        try:
            while not ended.is_set():
                await self._scrape_when_due(poller)
                try:
                    await asyncio.wait_for(ended.wait(), LOOK_S)
                except TimeoutError:
                    continue
        finally:
            poller.stop()
        if poller.failure is not None:
            await self._slots_failed(poller.failure)

    def _deliver(self, facts: list[Event]) -> None:
        if self._lost.get("slots") != "":
            self._attach(
                "slots", "totals" if self.relaxed else "polled", "KV fill" if self.relaxed else "cycles by polling"
            )
        for fact in facts:
            self._emit(fact)

    async def _slots_failed(self, failure: Answer) -> None:
        """What the end of polling means: the server gone, /slots off, a key missing, or a bad answer."""
        match failure.status:
            case HTTPStatus.NOT_IMPLEMENTED | HTTPStatus.NOT_FOUND:
                self._lose("slots", error_message(failure.body), "start the server with --slots")
                await self._without_slots()
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                self._say("needs_key", failure.text)
            case HTTPStatus.BAD_REQUEST if b"model" in failure.body:
                self._say("router", failure.text)
            case _:
                reason = failure.text or f"/slots answered {failure.status}: {shorten(failure.body)}"
                verdict = judge_health(await self._get("/health"))
                if verdict.state != "ready":
                    self._say(verdict.state, verdict.detail)
                    reason = verdict.detail or reason
                elif "did not answer" in reason:
                    self._say("hung", "its loop does not answer /slots while /health does")
                self._lose("slots", reason)
                if verdict.state == "ready":
                    await asyncio.sleep(2 * RETRY_S)

    async def _without_slots(self) -> None:
        """Watch a server whose /slots is off: only its health and its counters, until it goes away."""
        while True:
            await asyncio.sleep(2 * RETRY_S)
            verdict = judge_health(await self._get("/health"))
            if verdict.state != "ready":
                self._say(verdict.state, verdict.detail)
                return
            if self.clock.now() - self._scraped_at > BLIND_SCRAPE_S:
                await self._scrape()

    # --- the counters ---------------------------------------------------------------------------------------------

    async def _scrape_when_due(self, poller: SlotPoller) -> None:
        now = self.clock.now()
        idle = poller.idle_since is not None and now - poller.idle_since > IDLE_BEFORE_SCRAPE_S
        worked = self._woken or (poller.last_busy is not None and poller.last_busy > self._scraped_at)
        released = poller.watch.releases > self._scraped_releases
        busy_due = released and now - self._scraped_at > BUSY_SCRAPE_S
        live_due = self.live_metrics_s is not None and now - self._scraped_at > self.live_metrics_s
        if (idle and worked) or busy_due or live_due:
            self._scraped_releases = poller.watch.releases
            await self._scrape()

    async def _scrape(self) -> None:
        """Read the counters, and note whether every slot was idle before and after."""
        if self._metrics_off:
            return
        self._scraping = True
        self._woken = False
        try:
            await self._scrape_now()
        finally:
            self._scraping = False

    async def _scrape_now(self) -> None:
        idle_before = self._idle_since()
        answer = await self._get("/metrics")
        at = self.clock.now()
        self._scraped_at = at
        if answer.status in (HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.NOT_FOUND):
            self._metrics_off = True
            self._lose("metrics", error_message(answer.body), "start the server with --metrics for its own totals")
            return
        if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            self._metrics_off = True
            self._lose("metrics", error_message(answer.body), "give the key: --api-key-file FILE or LLAMA_API_KEY")
            return
        if answer.status != HTTPStatus.OK:
            self._lose("metrics", answer.text or f"/metrics answered {answer.status}: {shorten(answer.body)}")
            return
        self._counters(answer, at, idle=await self._idle_at_scrape(idle_before))

    async def _idle_at_scrape(self, idle_before: float | None) -> bool:
        """Whether all slots were idle over the scrape: before, and at a look after it."""
        if self.poller is None or not self.poller.attached:
            return await self._look_idle()
        if idle_before is None:
            return False
        await asyncio.sleep(LOOK_S)
        return self._idle_since() == idle_before

    async def _look_idle(self) -> bool:
        """One look at /slots before the poller runs."""
        answer = await self._get("/slots")
        return answer.status == HTTPStatus.OK and b'"is_processing":true' not in answer.body.replace(b" ", b"")

    def _idle_since(self) -> float | None:
        return self.poller.idle_since if self.poller is not None else None

    def _counters(self, answer: Answer, at: float, *, idle: bool) -> None:
        try:
            counters = read_counters(answer.body.decode("utf-8", "replace"), at=at, target=self.target, idle=idle)
        except ValueError as error:
            self._lose("metrics", f"/metrics: {error}: {shorten(answer.body)}")
            return
        token = answer.headers.get("process-start-time-unix")
        if token is not None:
            self._emit(ServerStarted(at=at, target=self.target, token=token, by="http"))
        self._attach("metrics", "totals", "the server's own totals")
        self._emit(counters)

    # --- how the parts fare ---------------------------------------------------------------------------------------

    def _attach(self, source: str, tier: Tier, detail: str) -> None:
        if self._lost.get(source) != "":
            self._lost[source] = ""
            self._emit(SourceAttached(at=self.clock.now(), target=self.target, source=source, tier=tier, detail=detail))

    def _lose(self, source: str, reason: str, hint: str = "") -> None:
        if self._lost.get(source) != reason:
            self._lost[source] = reason
            self._emit(SourceLost(at=self.clock.now(), target=self.target, source=source, reason=reason, hint=hint))
