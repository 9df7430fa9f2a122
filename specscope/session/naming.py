"""Which traced request a name belongs to, put right when more is told.

A trace tells requests of a slot apart, each by its begin, and names none. The log and polling name them: the log late
and in order, polling in between, now and then before the trace's lines about the same moment are read. So a name may be
given to a request that another one follows; what was told under it moves on with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from specscope.session.request import Request
from specscope.session.request_book import RequestBook, begin_of

OF_A_NAME: Final = (
    *("task", "asked", "prompt_tokens", "cached_tokens", "prompt_ms", "ttft_ms", "polled_ttft_ms", "generated"),
    *("generated_ms", "logged", "decoded", "sighted_from", "sighted_at", "unbegun_at", "fill_base", "stop"),
    "chain_width",
)
"""Figures of a request that were told under its task id, by the log or by polling."""


@dataclass(eq=False)
class NamingBook(RequestBook):
    """The register of requests, whose names can still be put right."""

    def may_have_begun(self, slot: int, at: float) -> list[Request]:
        """The requests of a slot whose prompt may have ended at ``at``, also by the order of tasks; the first first."""
        known = self.lately(slot)
        begun = [(r.task, r.begun_at) for r in known if r.task is not None and r.begun_at is not None]
        least = max((task for task, begun_at in begun if begun_at < at), default=-math.inf)
        most = min((task for task, begun_at in begun if begun_at > at), default=math.inf)
        return [r for r in known if (r.task is None or least < r.task < most) and r.may_have_begun(at)]

    def first_nameless(self, slot: int, task: int, earliest: float, latest: float) -> Request | None:
        """The first traced request without a name that began between two times and may be that task by the order."""
        least, most = self.between(slot, task)
        nameless = (r for r in self._nameless.get(slot, ()) if r.begun_at is not None)
        may_be = [r for r in nameless if least < begin_of(r) < most and earliest <= begin_of(r) <= latest]
        return min(may_be, key=begin_of, default=None)

    def begin_apart(self, named: Request, at: float) -> Request:
        """The request of a name begins at ``at``, later than the one that was taken for it: they are two."""
        request = self._split(named, at)
        request.begun_at = at
        return request

    def end_apart(self, named: Request, at: float) -> Request:
        """The request of a name had ended by ``at``, before the one that was taken for it began: they are two."""
        request = Request(slot=named.slot, task=None, started_at=at, whole=named.whole, label=named.label)
        self._enter(request)
        self.rename(named, request)
        self.finish(request, at)
        return request

    def pass_on(self, named: Request, at: float) -> None:
        """A name is not that of the request which was at work until ``at``, but of the next that began, or will."""
        after = [r for r in self._nameless.get(named.slot, ()) if begin_of(r) > begin_of(named)]
        if after:
            self.rename(named, min(after, key=begin_of))
        else:
            self._split(named, at)

    def _split(self, named: Request, at: float) -> Request:
        request = Request(slot=named.slot, task=None, started_at=at, whole=True, label=named.label)
        self._enter(request)
        ended_at = named.ended_at
        self.rename(named, request)
        if ended_at is not None:
            self.finish(request, ended_at)
            named.ended_at, named.stop = at, "finished"
            return request
        self.current[named.slot] = request
        self.finish(named, at)
        return request

    def rename(self, named: Request, to: Request) -> None:
        """A name, and what was told under it, turns out to be that of another request of the slot."""
        if named.task is None:
            return
        self._numbers[named.slot, named.task] = to.number
        self._nameless[to.slot].remove(to)
        self._nameless[named.slot].append(named)
        blank = Request(slot=named.slot, task=None, started_at=named.started_at, whole=named.whole)
        for figure in OF_A_NAME:
            setattr(to, figure, getattr(named, figure))
            setattr(named, figure, getattr(blank, figure))

    def forget(self, named: Request, traced: Request) -> None:
        """One that was no request of its own has not been; the other one lives as long as it was said to."""
        self._drop(named)
        for request in (named, traced):
            if request in self._cooling:
                self._cooling.remove(request)
                self.ended -= 1
        traced.ended_at = None
        if named.ended_at is not None:
            self.finish(traced, named.ended_at)
        else:
            self.current[traced.slot] = traced
