"""The thread that polls /slots in phase with the cycles, over one kept connection of its own."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from specscope.events import EventsMissed, PollSampled
from specscope.sources.answers import Answer, error_message, shorten
from specscope.sources.http_answer import LongAnswerError, MalformedAnswerError
from specscope.sources.kept_connection import KeptConnection
from specscope.sources.pace import MIN_WAIT_S, Pace
from specscope.sources.slots_json import read_slots

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.events import Event
    from specscope.sources.address import Address
    from specscope.sources.slot_watch import SlotWatch
    from specscope.sources.source import Clock

TIMEOUT_S: Final = 5.0
"""The answer waits for the server's loop: a long prefill batch delays it by seconds, a wedged loop for ever."""

LATE_S: Final = TIMEOUT_S + 1.0
"""From when on a request is broken off from outside: an answer that drips never runs into the socket's timeout."""

CONNECT_S: Final = 2.0
"""For the connection alone: nothing can break it off, and a watch must be able to end."""

PROMPT_SHARE: Final = 0.15
"""Of the cycle time: an answer this quick is what the pace was measured with."""

MAX_BODY: Final = 8 << 20
SAMPLE_EVERY_S: Final = 1.0
BAD_WAIT_S: Final = 0.1
"""Before /slots is asked again after a bad answer."""


@dataclass(eq=False)
class SlotPoller:
    """Polls until it fails or is stopped.

    ``deliver`` is called on the poller's thread with the facts of one reading, first with an empty list or more as
    soon as /slots answers. After :meth:`run` returns, ``failure`` holds the answer that ended it (status 0: none
    came), or None when it was stopped.

    Attributes:
        pause_after_s: stop asking so long after the last request ended, until woken; None: never.
        looked_at: when the last good reading was asked for.
        reconnects: times that the server had closed the connection unasked.
    """

    address: Address
    clock: Clock
    deliver: Callable[[list[Event]], None]
    watch: SlotWatch
    pace: Pace = field(default_factory=Pace)
    pause_after_s: float | None = None
    requests: int = 0
    idle_since: float | None = None
    last_busy: float | None = None
    looked_at: float = 0.0
    attached: bool = False
    failure: Answer | None = None
    paused: bool = False
    reconnects: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _wake: threading.Event = field(default_factory=threading.Event)
    _connection: KeptConnection | None = None
    _woken_at: float = 0.0
    _asked_at: float | None = None
    _late: bool = False
    _bad: bool = False
    _reconnected: bool = False
    _polls: int = 0
    _steps: int = 0
    _sampled_at: float = 0.0

    @property
    def stopped(self) -> bool:
        """Whether its facts are no longer wanted."""
        return self._stop.is_set()

    def stop(self) -> None:
        """End the loop; a request under way is broken off."""
        self._stop.set()
        self._wake.set()
        self._shut()

    def wake(self) -> None:
        """Poll now: something said that a request began."""
        self._woken_at = self.clock.now()
        self._wake.set()

    def look(self) -> None:
        """Poll now, for no reason that would keep a server awake."""
        self._wake.set()

    def break_off_when_late(self) -> None:
        """End a request that has been under way for too long; to be called now and then from outside."""
        asked = self._asked_at
        if asked is not None and self.clock.now() - asked > LATE_S:
            self._late = True
            self._shut()

    def _shut(self) -> None:
        if self._connection is not None:
            self._connection.shut()

    def run(self) -> None:
        """Poll until stopped or failed. Never raises."""
        try:
            self._run()
        except Exception as error:  # noqa: BLE001  whatever ends the thread is a failure of /slots and not of the watch
            # Without its text, which may hold a header's value.
            self.failure = Answer(0, text=f"polling /slots failed: {type(error).__name__}")
        if self.stopped:
            self.failure = None

    def _run(self) -> None:
        connection = self._connection = KeptConnection(self.address, "/slots", limit=MAX_BODY)
        try:
            while not self.stopped:
                wait = self._once(connection)
                if wait is None:
                    return
                if self._may_pause():
                    connection.close()
                    self.paused = True
                    self._wake.wait()
                    self.paused = False
                else:
                    self._wake.wait(wait)
                self._wake.clear()
        finally:
            connection.close()

    def _may_pause(self) -> bool:
        """Whether nothing has been under way for so long that further looks would only keep the server awake."""
        if self.pause_after_s is None or self.idle_since is None:
            return False
        return self.clock.now() - max(self.idle_since, self._woken_at) >= self.pause_after_s

    def _once(self, connection: KeptConnection) -> float | None:
        """One poll; the seconds until the next, or None when polling has failed."""
        asked_at = self._asked_at = self.clock.now()
        answer = self._get(connection)
        self._asked_at = None
        if answer.status != HTTPStatus.OK:
            return self._failed(answer)
        at = self.clock.now()
        try:
            rows = read_slots(answer.body)
        except ValueError as error:
            return self._failed(Answer(answer.status, text=f"/slots: {error}: {shorten(answer.body)}"))
        facts = self.watch.take(rows, answer.body, at, answer_s=at - asked_at, reconnected=self._reconnected)
        first, self.attached, self._bad, self._reconnected = not self.attached, True, False, False
        self.looked_at = asked_at
        busy = self.watch.busy
        self._count(at, busy=busy)
        facts += self._sample(at)
        if facts or first:
            self.deliver(facts)
        quiet_since = self.last_busy if self.last_busy is not None else self.idle_since
        wait = self.pace.wait_s(
            busy=busy,
            moved=self.watch.moved,
            decoding=self.watch.decoding,
            speculative=self.watch.speculative,
            idle_s=at - (quiet_since if quiet_since is not None else at),
        )
        # An answer that takes long delays the look: the next one is asked for that much earlier.
        late = at - asked_at - PROMPT_SHARE * (self.pace.cycle_s or 0.0)
        return max(MIN_WAIT_S, wait - late) if busy and late > 0 else wait

    def _failed(self, answer: Answer) -> float | None:
        """No slots in an answer. A single bad one between good ones is passed over and counted."""
        told = (HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.SERVICE_UNAVAILABLE)
        passing = answer.status == HTTPStatus.OK or (answer.status >= 500 and answer.status not in told)  # noqa: PLR2004
        if not passing or self._bad or not self.attached:
            self.failure = answer
            return None
        self._bad = True
        reason = answer.text or f"/slots answered {answer.status}"
        target = self.watch.target
        self.deliver([EventsMissed(at=self.clock.now(), target=target, source="slots", count=1, reason=reason)])
        return BAD_WAIT_S

    def _get(self, connection: KeptConnection) -> Answer:
        """GET over the kept connection; one retry when the server had closed it meanwhile."""
        late = Answer(0, text=f"/slots did not answer within {TIMEOUT_S:.0f} s", late=True)
        for fresh in (connection.sock is None, True):
            self.requests += 1
            try:
                answer = self._ask(connection)
            except TimeoutError:
                return late
            except (OSError, MalformedAnswerError) as error:
                if self._late:
                    return late
                if fresh or self.stopped:
                    return Answer(0, text=shorten(str(error).encode("utf-8", "replace")) or type(error).__name__)
                self._reconnected = True
                self.reconnects += 1
                continue
            return late if self._late else answer
        raise AssertionError  # the second round is always a fresh connection

    def _ask(self, connection: KeptConnection) -> Answer:
        if connection.sock is None:
            connection.connect(CONNECT_S, TIMEOUT_S)
            if self.stopped:
                raise ConnectionAbortedError
        try:
            status, body = connection.get()
        except LongAnswerError:
            return Answer(0, text=f"/slots answered more than {MAX_BODY >> 20} MiB")
        return Answer(status, body, error_message(body) if status >= HTTPStatus.BAD_REQUEST else "")

    def _count(self, at: float, *, busy: bool) -> None:
        if busy:
            self.last_busy, self.idle_since = at, None
            if self.watch.decoding and self.watch.speculative and not self.pace.relaxed:
                self._polls += 1
                self._steps += self.watch.moved
        elif self.idle_since is None or self.watch.passed:
            self.idle_since = at
            self.last_busy = at if self.watch.passed else self.last_busy
            self.pace.restart()
        if self.watch.moved:
            self.pace.moved(at)
        elif self.watch.decoding:
            self.pace.stood()

    def _sample(self, at: float) -> list[Event]:
        if at - self._sampled_at < SAMPLE_EVERY_S or not self._polls:
            return []
        cycle_ms = None if self.pace.cycle_s is None else round(self.pace.cycle_s * 1000, 2)
        sample = PollSampled(at=at, target=self.watch.target, polls=self._polls, steps=self._steps, cycle_ms=cycle_ms)
        self._polls = self._steps = 0
        self._sampled_at = at
        return [sample]
