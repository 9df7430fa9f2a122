"""The requests of one server since it started: who is running, who has ended, and which fact belongs to whom."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from specscope.session.economics.regimes import WorkSum, alone, together, work_of
from specscope.session.request import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUESTS_KEPT: Final = 1000

STILL_TOLD_OF: Final = 16
"""Ended requests that late facts may still be about; of older ones only the figures are kept, not each step."""


@dataclass(eq=False)
class RequestBook:
    """The register of requests.

    Attributes:
        marks: (when, what the user says the server does from then on), in order; a request has the label in force
            when it began, however late a source tells of it.
        requests: by running number, so in the order in which they were met; the oldest ended ones are dropped.
        current: the running request of each slot.
        ended: how many have ended.
        dropped: by label, the work of those that are kept no longer.
    """

    marks: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    requests: dict[int, Request] = field(default_factory=dict[int, Request])
    current: dict[int, Request] = field(default_factory=dict[int, Request])
    ended: int = 0
    dropped: dict[str | None, WorkSum] = field(default_factory=dict["str | None", WorkSum])
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict["tuple[int, int]", int])
    _nameless: dict[int, list[Request]] = field(default_factory=dict[int, "list[Request]"])
    _last: int = 0
    _generated: int = 0
    _cooling: deque[Request] = field(default_factory=deque["Request"])

    def open(self, slot: int, task: int | None, at: float, *, whole: bool) -> Request:
        """The request of a slot and task; begun now if it is new, which ends the slot's earlier one.

        Task ids grow, and the log is read later than /slots: a task older than the running one is one that
        polling has missed, and ends nothing. Without a task id (only a stream tells of it) a new one begins.
        """
        if task is not None:
            running = self.current.get(slot)
            if running is not None and running.task == task:
                return running
            number = self._numbers.get((slot, task))
            if number is not None:
                return self.requests[number]
            nameless = self._name(slot, task, at)
            if nameless is not None:
                return nameless
        before = self.current.get(slot)
        late = before is not None and before.task is not None and task is not None and task < before.task
        if before is not None and not late:
            self.finish(before, at)
        request = Request(slot=slot, task=task, started_at=at, whole=whole, label=self.label_at(at))
        self._enter(request)
        if not late:
            self.current[slot] = request
        return request

    def label_at(self, at: float) -> str | None:
        """What the user said that the server does at this time; None before the first mark, and after an empty one."""
        return next((label for since, label in reversed(self.marks) if since <= at), None) or None

    def running(self, slot: int, task: int | None) -> Request | None:
        """The running request of a slot and task; without a task, or where that is not known yet, the slot's."""
        request = self.current.get(slot)
        if request is not None and (task is None or request.task in (None, task)):
            return request
        number = None if task is None else self._numbers.get((slot, task))
        request = None if number is None else self.requests[number]
        return request if request is not None and request.ended_at is None else None

    def lately(self, slot: int) -> Iterator[Request]:
        """The slot's running request and those that ended lately, newest first."""
        current = self.current.get(slot)
        if current is not None:
            yield current
        yield from (r for r in reversed(self._cooling) if r.slot == slot)

    def at_work(self, slot: int, at: float) -> Request | None:
        """The request that a slot worked on at ``at``, as far as it has been told; also one that ended since.

        It is the one whose prompt a trace saw end last before; where no trace saw that, the running one.
        """
        for request in self.lately(slot):
            over = request.ended_at is not None and at > request.ended_at
            if request.begun_at is not None and request.begun_at <= at and not over:
                return request
        request = next(self.lately(slot), None)
        return request if request is not None and (request.ended_at is None or at <= request.ended_at) else None

    def generated(self) -> int:
        """Tokens generated so far by the requests seen, whoever told of them; only its increase means something.

        What a request had generated before it was first asked for here counts as nothing, if it was met in its middle.
        """
        for request in (*self.current.values(), *self._cooling):
            self._credit(request)
        return self._generated

    def _credit(self, request: Request) -> None:
        tokens, credited = request.tokens(), request.credited
        if tokens is None:
            return
        if credited is None:
            credited = 0 if request.whole or request.generated is not None else tokens
        self._generated += max(0, tokens - credited)
        request.credited = max(tokens, credited)

    def _name(self, slot: int, task: int, at: float) -> Request | None:
        """The request without a task id that was at work at ``at``: it is this one, and named from now on."""
        nameless = self._nameless.get(slot, ())
        request = next((r for r in nameless if r.ended_at is None or at <= r.ended_at), None)
        if request is not None:
            self._nameless[slot].remove(request)
            request.task = task
            self._numbers[slot, task] = request.number
        return request

    def _enter(self, request: Request) -> None:
        self._last += 1
        request.number = self._last
        self.requests[request.number] = request
        if request.task is None:
            self._nameless.setdefault(request.slot, []).append(request)
        else:
            self._numbers[request.slot, request.task] = request.number
        if len(self.requests) > REQUESTS_KEPT:
            oldest = next((r for r in self.requests.values() if r.ended_at is not None), None)
            if oldest is not None:
                self._drop(oldest)

    def _drop(self, request: Request) -> None:
        work = work_of(request)
        if work is not None:
            self.dropped[request.label] = together([self.dropped.get(request.label, WorkSum()), alone(work)])
        del self.requests[request.number]
        if request.task is not None:
            del self._numbers[request.slot, request.task]
        elif request in self._nameless.get(request.slot, ()):
            self._nameless[request.slot].remove(request)

    def finish(self, request: Request, at: float, stop: str = "finished") -> None:
        """End a request; a second end only adds what the first did not know."""
        if request.ended_at is None:
            request.ended_at = at
            self.ended += 1
            if self.current.get(request.slot) is request:
                del self.current[request.slot]
            self._cooling.append(request)
            if len(self._cooling) > STILL_TOLD_OF:
                done = self._cooling.popleft()
                self._credit(done)
                done.forget_steps()
        if request.stop in (None, "finished") and stop:
            request.stop = stop

    def lose_all(self, at: float) -> None:
        """The server is gone: what was running never ended."""
        for request in self.requests.values():
            if request.ended_at is None:
                self.finish(request, at, "lost")
