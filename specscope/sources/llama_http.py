"""The HTTP side of a llama-server: first contact, what state it is in, and when its endpoints are asked.

Each endpoint is a source of its own (``http``, ``slots``, ``metrics``), so that one that is off or broken takes
nothing from the others. Nothing here loads, wakes or evicts a model:

- A router and a proxy are asked for nothing but what stands behind them.
- A sleeping server is only asked for /health and /props until another's request has woken it.
- On a server that may fall asleep (its flags say so, or it was seen asleep) every look at /slots restarts the idle
  clock. So the looks stop some seconds after the last request. They begin again when the log tells of a request, when
  the process uses the CPU again, or when /props says that a sleeper was woken.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from specscope.events import ServerChanged, ServerStarted
from specscope.sources.address import key_problem, read_address
from specscope.sources.answers import ROUTER, SWAP, Verdict, judge_health, judge_props
from specscope.sources.children import named_children
from specscope.sources.counters import KEY_HINT, Counters
from specscope.sources.endpoints import Endpoints
from specscope.sources.http_get import HttpGet
from specscope.sources.slot_polling import SlotPolling

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from specscope.events import PropsRead, ServerState
    from specscope.sources.address import Address
    from specscope.sources.source import Clock, Emit

RETRY_S: Final = 0.5
ASLEEP_RETRY_S: Final = 1.0
FINISH_LOOK_S: Final = 0.1

FINISH_S: Final = 1.5
"""How long the end of a watch waits for the closing comparison."""

PAUSE_AFTER_S: Final = 5.0
"""On a server that may fall asleep, how long after a request the looks at /slots go on, at most."""

MET: Final = ("ready", "sleeping", "needs_key", "hung")
"""States in which the server's process is there and settled, so that its log and files can be read."""


@dataclass(eq=False, repr=False)
class HttpSource:
    """Watches one server over HTTP.

    Args:
        url: base address, with a path prefix if the server has one.
        clock: the watch's clock.
        target: which target the facts are about.
        api_key: sent as a bearer token; a wrong one is tried once.
        relaxed: another source tells the cycles, so /slots is polled slowly (may change while running).
        live_metrics_s: read the counters at this interval even while busy; None: only when a request has ended.
        on_contact: awaited when the server is first met and whenever it is met again, before anything is counted,
            so that the other sources are in place. Returns whether it is the process of before; None: not known.
        sleep_idle_s: the server falls asleep after so many idle seconds; None: not known to (may change).

    Raises:
        ValueError: ``url`` is no address.
    """

    url: str
    clock: Clock
    target: str = "t0"
    api_key: str | None = None
    relaxed: bool = False
    live_metrics_s: float | None = None
    on_contact: Callable[[PropsRead | None], Awaitable[bool | None]] | None = None
    sleep_idle_s: float | None = None
    name: str = "http"
    address: Address = field(init=False)
    polling: SlotPolling = field(init=False)
    counters: Counters = field(init=False)
    _http: HttpGet = field(init=False)
    endpoints: Endpoints = field(init=False)
    _state: ServerState | None = None
    _detail: str = ""
    _contacts: int = 0
    _met: bool = False
    _held: Verdict | None = None
    _told: Verdict | None = None
    _props: PropsRead | None = None
    _slots_hang: bool = False
    _slept: bool = False
    _nudged: asyncio.Event = field(default_factory=asyncio.Event)
    _emit: Emit = field(default=lambda _: None)

    def __post_init__(self) -> None:
        self.address = read_address(self.url, self.api_key)
        self._http = HttpGet(self.address)
        self.endpoints = Endpoints(self.clock, self.target)
        self.counters = Counters(self._http.get, self.endpoints, self.clock, self.target, self.live_metrics_s)
        self.polling = SlotPolling(self)

    @property
    def requests(self) -> int:
        """Requests sent so far."""
        return self._http.requests + self.polling.requests

    @property
    def pause_after_s(self) -> float | None:
        """How long after the last request /slots is still looked at; None: as long as the watch goes on."""
        if self.sleep_idle_s is not None and self.sleep_idle_s > 0:
            return min(PAUSE_AFTER_S, self.sleep_idle_s / 2)
        return PAUSE_AFTER_S if self._slept else None

    def relax(self, *, relaxed: bool) -> None:
        """Another source tells the cycles from now on, or no longer does."""
        self.relaxed = relaxed
        self.polling.relax(relaxed=relaxed)

    def wake(self) -> None:
        """A request began, says another source: look now, and read the counters when it is over."""
        self.counters.woken = True
        self.stir()

    def stir(self) -> None:
        """Something may have begun, says another source: look now."""
        self._nudged.set()
        self.polling.wake()

    async def run(self, emit: Emit) -> None:
        """Watch until cancelled."""
        self._emit = self.endpoints.emit = emit
        problem = key_problem(self.api_key)
        if problem:
            self.say(Verdict("needs_key", problem))
            await asyncio.Event().wait()
        try:
            while True:
                await self._round()
        finally:
            await self._http.close()

    async def _round(self) -> None:
        """One contact, and the watching that follows from it."""
        try:
            state = await self.contact()
            if self.can_poll(state):
                await self.polling.run()
                self._slots_hang = False
            else:
                await self.pause(ASLEEP_RETRY_S if state == "sleeping" else RETRY_S)
        except Exception as error:  # noqa: BLE001  a mistake in here must not end the other sources
            self.endpoints.lose("http", f"specscope failed: {type(error).__name__}: {error}")
            await asyncio.sleep(RETRY_S)

    async def finish(self) -> None:
        """Read the counters a last time if a request ended since the last read; call it while ``run`` runs.

        Waits up to :data:`FINISH_S` for the slots to fall idle; counters of a busy server would settle nothing.
        Without /slots they are read as they are.
        """
        deadline = self.clock.now() + FINISH_S
        if self.polling.is_off and self._state == "ready" and not self.counters.reading:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.counters.read(None), FINISH_S)
            return
        while self.clock.now() < deadline:
            poller = self.polling.poller
            if poller is None or poller.failure is not None or poller.paused:
                return
            if not self.counters.worked(poller) and not self.counters.reading:
                return
            await asyncio.sleep(FINISH_LOOK_S)

    async def pause(self, seconds: float) -> None:
        """Wait, but not past a sign of life from another source."""
        self._nudged.clear()
        try:
            await asyncio.wait_for(self._nudged.wait(), seconds)
        except TimeoutError:
            return

    # --- what the server is ------------------------------------------------------------------------------------

    async def contact(self) -> ServerState:
        """Ask what the server is and say so when it changed."""
        verdict, props = await self.look()
        if verdict.state in MET:
            await self._meet(verdict, props)
        self.say(await self._with_children(verdict))
        if props is not None and (self._props is None or replace(props, at=self._props.at) != self._props):
            self._props = props
            self._emit(props)
        return verdict.state

    async def look(self) -> tuple[Verdict, PropsRead | None]:
        """GET /health, and /props where that harms nothing.

        A server that refused the key, or that is a router, is not asked again until it has been away: each try
        with a wrong key is a warning in its log.
        """
        answer = await self._http.get("/health")
        verdict = judge_health(answer)
        if verdict.state == "down" and answer.late and self._met:
            return Verdict("hung", answer.text), None
        if verdict.state != "ready":
            self._held = verdict if verdict.state == "needs_key" else None
            return verdict, None
        if self._held is not None:
            return self._held, None
        at = self.clock.now()
        verdict, props = judge_props(await self._http.get("/props"), at=at, target=self.target)
        if verdict.state in ("needs_key", "router"):
            self._held = verdict
        self._slept = self._slept or verdict.state == "sleeping"
        if verdict.state == "ready" and self._slots_hang:
            return Verdict("hung", self._detail), props
        return verdict, props

    async def _meet(self, verdict: Verdict, props: PropsRead | None) -> None:
        """The server is there for the first time, or again: perhaps as another process."""
        if self._met:
            return
        if not self._contacts:
            self._tell(
                verdict
            )  # arming probes takes seconds; later contacts must first tell whether it is a new process
        same = await self.meet_process(props)
        if same is not True and self._contacts and verdict.state == "ready":
            same = await self.counters.same_process()
        if same is not True or not self._contacts:
            self._contacts += 1
            at, token = self.clock.now(), str(self._contacts)
            self._emit(ServerStarted(at=at, target=self.target, token=token, by="contact"))
        self.counters.renew()
        self._props = None
        self._met = True

    async def meet_process(self, props: PropsRead | None = None) -> bool | None:
        """Let the other sources find their place; whether they found the process of before."""
        if self.on_contact is None:
            return None
        try:
            return await self.on_contact(props)
        except Exception as error:  # noqa: BLE001  the process may be out of reach; the server is not
            self.endpoints.lose("process", f"{type(error).__name__}: {error}")
            return None

    def can_poll(self, state: ServerState) -> bool:
        """Whether /slots may be asked in this state: also while it hangs, because nothing else tells its return."""
        return state == "ready" or (state == "hung" and self._slots_hang)

    async def _with_children(self, verdict: Verdict) -> Verdict:
        """Name the servers behind a router or a proxy, when it is met."""
        if verdict.state == self._state:
            return Verdict(verdict.state, self._detail) if verdict.detail in (ROUTER, SWAP) else verdict
        return Verdict(verdict.state, await named_children(verdict.detail, self._http.get))

    def hold(self, verdict: Verdict) -> None:
        """From now on ask for nothing but /health until the server has been away; the next contact says why."""
        self._held = verdict

    def say(self, verdict: Verdict) -> None:
        """Report the server's state when it changed, and how its endpoints fare with it.

        Whoever found it gone, the next contact meets it anew: another process may be there by then.
        """
        if verdict.state not in (*MET, "error"):
            self._met = False
        if verdict == (self._state, self._detail):
            return
        self._state, self._detail = verdict
        self._tell(verdict)
        if verdict.state == "ready":
            self.endpoints.attach("http", "totals", verdict.detail or "first contact, /props")
        elif verdict.state in ("sleeping", "hung"):
            self.endpoints.attach("http", "totals", verdict.detail)
        else:
            hint = KEY_HINT if verdict.state == "needs_key" else ""
            self.endpoints.lose("http", verdict.detail or verdict.state, hint)
        if verdict.state not in ("ready", "hung"):
            self._lose_rest(verdict)

    def _tell(self, verdict: Verdict) -> None:
        """The server's state, if it was not told yet."""
        if verdict != self._told:
            self._told, (state, detail) = verdict, verdict
            self._emit(ServerChanged(at=self.clock.now(), target=self.target, state=state, detail=detail))

    def _lose_rest(self, verdict: Verdict) -> None:
        """The other endpoints go with the server. Where it is settled that they cannot be asked, that is said too."""
        settled = verdict.state in ("needs_key", "router", "sleeping")
        for source in ("slots", "metrics"):
            if settled or self.endpoints.delivers(source):
                self.endpoints.lose(source, verdict.detail or verdict.state)

    def slots_hang(self, *, hang: bool) -> None:
        """/slots does not answer while /health does, or answers again."""
        self._slots_hang = hang
        if hang:
            self.say(Verdict("hung", "its loop does not answer /slots while /health does"))
        elif self._state == "hung":
            self.say(Verdict("ready"))
