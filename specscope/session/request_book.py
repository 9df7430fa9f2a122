"""The requests of one server since it started: who is running, who has ended, and which fact belongs to whom."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from specscope.session.economics.regimes import WorkSum, alone, together, work_of
from specscope.session.request import LATE_S, Request

REQUESTS_KEPT: Final = 1000

STILL_TOLD_OF: Final = 16
"""Ended requests that late facts may still be about; of older ones only the figures are kept, not each step."""

Begun: TypeAlias = Literal["before", "after"]
"""Whether a fact shows a request at work (its prompt had ended before) or not yet (it ended after)."""


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

    def open(
        self, slot: int, task: int | None, at: float, *, whole: bool, begun: Begun = "before", late_s: float = LATE_S
    ) -> Request:
        """The request of a slot and task; begun now if it is new, which ends the slot's earlier one.

        Task ids grow, and the log is read later than /slots: a task older than the running one is one that polling
        has missed. It was over when the running one was met, and ends nothing. Without a task id (a stream or a trace
        tells of it) a new one begins.

        Args:
            slot: whose.
            task: None where the fact does not tell it.
            at: when the fact shows it.
            whole: it began within the watch.
            begun: whether its prompt had ended by then; tells which of the requests without a name it may be.
            late_s: how much earlier than ``at`` what the fact shows may have been.
        """
        if task is not None:
            running = self.current.get(slot)
            if running is not None and running.task == task:
                return running
            request = self.named(slot, task) or self._name(slot, task, at, begun, late_s)
            if request is not None:
                return request
        before = self.current.get(slot)
        request = Request(slot=slot, task=task, started_at=at, whole=whole, label=self.label_at(at))
        self._enter(request)
        if before is not None and _came_after(before, task, at):
            self.finish(request, max(at, before.started_at))
            return request
        if before is not None:
            self.finish(before, at)
        self.current[slot] = request
        return request

    def label_at(self, at: float) -> str | None:
        """What the user said that the server does at this time; None before the first mark, and after an empty one."""
        return next((label for since, label in reversed(self.marks) if since <= at), None) or None

    def named(self, slot: int, task: int | None) -> Request | None:
        """The request of a slot and task, running or ended, as far as it is still kept."""
        number = None if task is None else self._numbers.get((slot, task))
        return None if number is None else self.requests[number]

    def running(self, slot: int, task: int | None) -> Request | None:
        """The running request of a slot and task; without a task, or where that is not known yet, the slot's."""
        request = self.named(slot, task)
        if request is None:
            request = self.current.get(slot)
            return request if request is not None and (task is None or request.task is None) else None
        return request if request.ended_at is None else None

    def lately(self, slot: int) -> list[Request]:
        """The slot's requests that ended lately and its running one, by task."""
        running = self.current.get(slot)
        known = [r for r in self._cooling if r.slot == slot]
        return sorted([*known, running] if running is not None else known, key=_task)

    def at_work(self, slot: int, at: float) -> Request | None:
        """The request that a slot worked on at ``at``, as far as it has been told; also one that ended since.

        It is the first that was not over by then: an end is never told too early, while the request after it may be
        known long before a late fact of this one is read.
        """
        return next((r for r in self.lately(slot) if _at_work(r, at)), None)

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

    def _name(self, slot: int, task: int, at: float, begun: Begun, late_s: float) -> Request | None:
        """The request without a task id that this one is; named from now on.

        The log tells every launch, in their order: of those that began after it, it is the first. What is at work is
        the one that began last before.
        """
        least, most = self.between(slot, task)
        nameless = sorted((r for r in self._nameless.get(slot, ()) if least < begin_of(r) < most), key=begin_of)
        if begun == "after":
            may_be = (r for r in nameless if begin_of(r) >= at - late_s)
        else:
            may_be = (r for r in reversed(nameless) if _at_work(r, at, late_s))
        request = next(may_be, None)
        if request is not None:
            self._nameless[slot].remove(request)
            request.task = task
            self._numbers[slot, task] = request.number
        return request

    def between(self, slot: int, task: int) -> tuple[float, float]:
        """Between which begins on its slot a task began, by the order of tasks."""
        begun = [(r.task, r.begun_at) for r in self.lately(slot) if r.task is not None and r.begun_at is not None]
        least = max((at for other, at in begun if other < task), default=-math.inf)
        return least, min((at for other, at in begun if other > task), default=math.inf)

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
        """End a request; a second end only adds what the first did not know. None is told before it happens."""
        if request.ended_at is not None:
            request.ended_at = min(request.ended_at, at)
        else:
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


def _task(request: Request) -> float:
    """Its task id, which grows with the time of its launch; one without comes last."""
    return math.inf if request.task is None else request.task


def begin_of(request: Request) -> float:
    """When its prompt ended, where a trace told that; else when it was met."""
    return request.started_at if request.begun_at is None else request.begun_at


def _at_work(request: Request, at: float, late_s: float = 0.0) -> bool:
    """Whether a request may have been at work at ``at``, or up to ``late_s`` before."""
    over = request.ended_at is not None and request.ended_at < at - late_s
    to_begin = request.unbegun_at if request.begun_at is None else request.begun_at
    return not over and (to_begin is None or to_begin <= at)


def _came_after(running: Request, task: int | None, at: float) -> bool:
    """Whether the running request came after one of that task, or without one, that was met at ``at``."""
    if task is None:
        unbegun = running.unbegun_at is not None and running.unbegun_at > at
        return unbegun or running.started_at > at + LATE_S
    if running.task is not None:
        return task < running.task
    return running.begun_at is not None and running.begun_at > at
