"""How requests differ in sampling: the different sets of values that were seen, and each change from one to another.

They are those that a look at /slots caught: of several between two looks, the last. /slots does not say who asks; what
tells clients apart is the shape of their requests: chat or raw completion, streamed or not, with or without the
probabilities of tokens. It is counted beside each set.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Final

from specscope.session.asked import RAW_FORMAT
from specscope.session.provenance.known import ALIKE
from specscope.session.provenance.state import Change, RequestDrift, RequestSet
from specscope.session.provenance.values import as_value, same

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from specscope.events import Json, SlotChanged
    from specscope.flags import Value
    from specscope.session.request_state import RequestRow

_ALIKE: Final = tuple(sorted(ALIKE))

Values = tuple[tuple[str, "Value"], ...]

MOST_SETS: Final = 16
"""Different sets that are kept; a client that draws its parameters at random must not fill the memory."""

MOST_CHANGES: Final = 32
REMEMBERED: Final = 512
"""Requests whose set is remembered, to say how fast those of each set were."""


@dataclass(eq=False)
class _Counted:
    requests: int
    first_at: float
    last_at: float
    kinds: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(eq=False)
class RequestSets:
    """The requests of one server process.

    Attributes:
        latest: slot and task of the request that was seen last.
        version: goes up with every request.
    """

    latest: tuple[int, int] | None = None
    version: int = 0
    _sets: dict[Values, _Counted] = field(default_factory=dict[Values, _Counted])
    _tasks: dict[int, int] = field(default_factory=dict[int, int])
    _params: Mapping[str, Json] | None = None
    _values: Values = ()
    _before: Values | None = None
    _requests: int = 0
    _unlisted: int = 0
    _changes: deque[Change] = field(default_factory=lambda: deque(maxlen=MOST_CHANGES))
    _changed: int = 0
    _of_task: dict[tuple[int, int], Values] = field(default_factory=dict[tuple[int, int], Values])

    def changed(self, e: SlotChanged, params: Mapping[str, Json] | None, *, first_look: bool) -> None:
        """A slot changed; count its request if it is a new one.

        Args:
            e: the change.
            params: what the slot's request was asked with, as far as the server shows it.
            first_look: nothing was known of this slot: a request that has already ended ran before the watch.
        """
        if e.task is None or params is None or self._tasks.get(e.slot) == e.task:
            return
        self._tasks[e.slot] = e.task
        newest = self.latest is None or e.task >= self.latest[1]  # tasks are numbered in order, over all slots
        self.latest = (e.slot, e.task) if newest else self.latest
        self.version += 1
        if params is not self._params:
            self._params, self._values = params, alike(params)
        values = self._values
        before, self._before = self._before, values if newest else self._before
        if first_look and not e.busy:
            return
        self._count(e, values, kind_of(params))
        if before is not None and before != values:
            self._changed += 1
            self._changes.append(Change(e.at, e.slot, e.task, differences(before, values)))

    def _count(self, e: SlotChanged, values: Values, kind: str) -> None:
        self._requests += 1
        counted = self._sets.get(values)
        if counted is None:
            if len(self._sets) >= MOST_SETS:
                self._unlisted += 1
                return
            counted = self._sets[values] = _Counted(0, e.at, e.at)
        counted.requests += 1
        counted.last_at = e.at
        if kind:
            counted.kinds[kind] = counted.kinds.get(kind, 0) + 1
        self._of_task[(e.slot, e.task or 0)] = values
        if len(self._of_task) > REMEMBERED:
            del self._of_task[next(iter(self._of_task))]

    def begun_anew(self) -> RequestSets:
        """The same with all counts at zero: what runs stays known, and what the next request differs from."""
        return RequestSets(latest=self.latest, _tasks=dict(self._tasks), _before=self._before)

    def view(self, rows: Iterable[RequestRow]) -> RequestDrift:
        """What is known now.

        Args:
            rows: the requests that are kept, for how fast those of each set were.
        """
        sped: dict[Values, list[RequestRow]] = {}
        for row in rows:
            values = self._of_task.get((row.slot, row.task)) if row.task is not None else None
            if values is not None and row.ended_at is not None:
                sped.setdefault(values, []).append(row)
        sets = [_row(values, counted, sped.get(values, [])) for values, counted in self._sets.items()]
        return RequestDrift(
            requests=self._requests,
            sets=tuple(sorted(sets, key=lambda s: (-s.requests, s.first_at))),
            unlisted=self._unlisted,
            varying=_varying(self._sets),
            changes=tuple(self._changes),
            changed=self._changed,
        )


def alike(params: Mapping[str, Json]) -> Values:
    """What must be equal for two requests to be sampled alike, by name."""
    found = [(name, as_value(name, params[name])) for name in _ALIKE if name in params]
    return tuple([(name, value) for name, value in found if value is not None])


def differences(before: Values, now: Values) -> tuple[tuple[str, Value | None, Value | None], ...]:
    """The settings that differ: name, before, now."""
    old, new = dict(before), dict(now)
    names = sorted(old.keys() | new.keys())
    return tuple((n, old.get(n), new.get(n)) for n in names if not same(old.get(n), new.get(n)))


def kind_of(params: Mapping[str, Json]) -> str:
    """What kind of client asks so, in words."""
    words: list[str] = []
    if "chat_format" in params:
        words.append("completion" if params["chat_format"] == RAW_FORMAT else "chat")
    if "stream" in params:
        words.append("streamed" if params["stream"] else "at once")
    if params.get("timings_per_token"):
        words.append("with timings")
    if params.get("n_probs"):
        words.append("with probabilities")
    return ", ".join(words)


def _row(values: Values, counted: _Counted, rows: list[RequestRow]) -> RequestSet:
    drafted = sum(r.drafted or 0 for r in rows)
    accepted = sum(r.accepted or 0 for r in rows if r.drafted)
    taus = [tau for r in rows if (tau := _decode_tau(r)) is not None]
    return RequestSet(
        values=values,
        requests=counted.requests,
        first_at=counted.first_at,
        last_at=counted.last_at,
        kinds=tuple(sorted(counted.kinds.items(), key=lambda kind: -kind[1])),
        tau=_mean([r.tau for r in rows]),
        tok_s=_mean([r.tok_s for r in rows]),
        acceptance=accepted / drafted if drafted else None,
        decode_tau=_mean(taus),
        decode_tau_se=_error(taus),
        decoded=len(taus),
    )


def _decode_tau(row: RequestRow) -> float | None:
    """Tokens per step without the first, which came with the prompt."""
    steps = row.generated / row.tau if row.generated and row.tau else 0.0
    return ((row.generated or 0) - 1) / (steps - 1) if steps > 1 else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _error(values: list[float]) -> float | None:
    """Standard error of their mean; None with fewer than two."""
    many = len(values)
    if many < 2:  # noqa: PLR2004  one has no scatter
        return None
    mean = sum(values) / many
    return sqrt(sum((value - mean) ** 2 for value in values) / (many - 1) / many)


def _varying(sets: Iterable[Values]) -> tuple[str, ...]:
    each = [dict(values) for values in sets]
    names = sorted({name for values in each for name in values})
    return tuple(n for n in names if any(not same(v.get(n), each[0].get(n)) for v in each[1:]))
