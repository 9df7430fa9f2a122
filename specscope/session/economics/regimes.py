"""Requests by how predictable they are, so that one average never hides two machines."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.economics.mixture import Observation, split
from specscope.session.economics.state import Regime

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from specscope.session.economics.state import RegimeHow
    from specscope.session.request import Request
    from specscope.session.request_state import RequestRow

LEAST_STEPS: Final = 5
"""Steps before a request's tau is compared. A good drafter takes no more for an answer of 40 tokens; with 4, one kind
of text came out as two in up to 5 of 100 made-up runs, with 5 in fewer than 1 of 100, as with more."""

PRIOR_STEPS: Final = 8
"""Steps that a request's own spread weighs as much as that of all requests."""

JUDGED: Final = 128
"""The latest requests that are judged for a split."""


class Work(NamedTuple):
    """What one ended request did. ``spread``: variance of the tokens gained by a step."""

    label: str | None
    tokens: int
    steps: int
    cycles: int
    drafted: int | None
    accepted: int
    time_s: float | None
    spread: float

    @property
    def tau(self) -> float:
        """Tokens per step."""
        return self.tokens / self.steps


class _Read(NamedTuple):
    """A request's figures, and the row that they belong to."""

    row: RequestRow
    work: Work | None


def work_of(request: Request) -> Work | None:
    """A request's figures; None where its steps are not known, or it had only the prompt's own."""
    tally, tau = request.tally, request.tau()
    if tau is None or tally.steps < 2:  # noqa: PLR2004  the first step is the prompt's
        return None
    tokens, cycles = tally.tokens - 1, tally.cycles
    steps = tally.steps - 1
    squares = sum((a + 1) ** 2 * n for (_, a), n in tally.joint.items()) + max(0, tally.plain_steps - 1)
    mean = tokens / steps
    time_s = request.generated_ms / 1000 if request.generated_ms else None
    spread = max(0.0, squares / steps - mean * mean)
    return Work(request.label, tokens, steps, cycles, tally.drafted, tally.accepted, time_s, spread)


class WorkSum(NamedTuple):
    """The work of many requests, added up: constant memory, however many there were.

    Attributes:
        unseen: requests whose draft widths were not seen.
        timed: requests whose decoding time is known; timed_tokens, time_s: theirs.
        tokens_2, both, steps_2: sums of tokens x tokens, tokens x steps, steps x steps, for tau's error.
    """

    requests: int = 0
    tokens: int = 0
    steps: int = 0
    cycles: int = 0
    drafted: int = 0
    unseen: int = 0
    accepted: int = 0
    timed: int = 0
    timed_tokens: int = 0
    time_s: float = 0.0
    tokens_2: int = 0
    both: int = 0
    steps_2: int = 0

    def tau_error(self) -> float | None:
        """Standard error of tokens / steps over requests; None with fewer than two."""
        if self.requests < 2:  # noqa: PLR2004  one request has no scatter
            return None
        tau = self.tokens / self.steps
        off = max(0.0, self.tokens_2 - 2 * tau * self.both + tau * tau * self.steps_2)
        return sqrt(off * self.requests / (self.requests - 1)) / self.steps


def together(sums: Iterable[WorkSum]) -> WorkSum:
    """One sum of several."""
    return WorkSum(*map(sum, zip(WorkSum(), *sums, strict=True)))


def alone(work: Work) -> WorkSum:
    """The sum of one request."""
    label, tokens, steps, cycles, drafted, accepted, time_s, _ = work
    del label
    squares = (tokens * tokens, tokens * steps, steps * steps)
    timed = (1, tokens, time_s) if time_s else (0, 0, 0.0)
    return WorkSum(1, tokens, steps, cycles, drafted or 0, int(drafted is None), accepted, *timed, *squares)


def summed(works: Iterable[Work]) -> WorkSum:
    """The sum of these requests."""
    return together(map(alone, works))


@dataclass(eq=False)
class RegimeBook:
    """The regimes of a server's requests; a request is read again only when its row has changed."""

    _works: dict[int, _Read] = field(default_factory=dict["int", "_Read"])

    def view(
        self, ended: Iterable[Request], dropped: Mapping[str | None, WorkSum], plain_ms: float | None
    ) -> tuple[Regime, ...]:
        """All requests, then by label where the user gave any, else by tau where the figures show two kinds.

        Args:
            ended: the requests that are kept.
            dropped: by label, the work of those that are kept no longer. A split by tau is of the kept ones alone.
            plain_ms: plain decode time, for the speedup.
        """
        before = self._works
        now: dict[int, _Read] = {}
        for request in ended:
            row, known = request.row(), before.get(request.number)
            now[request.number] = known if known is not None and known.row is row else _Read(row, work_of(request))
        self._works = now
        works = [read.work for read in now.values() if read.work is not None]
        return tuple(_rows(works, dropped, plain_ms)) if works or dropped else ()


def _rows(works: list[Work], dropped: Mapping[str | None, WorkSum], plain_ms: float | None) -> Iterable[Regime]:
    kept = summed(works)
    whole = together([kept, *dropped.values()])
    yield _regime("all", "all", whole, whole, plain_ms)
    labels = list(dict.fromkeys([*dropped, *(w.label for w in works)]))
    if any(labels):
        for label in labels:
            own = together([summed(w for w in works if w.label == label), dropped.get(label, WorkSum())])
            yield _regime(label or "no label", "label", own, whole, plain_ms)
        return
    border = _border(works)
    if border is not None:
        high, low = [w for w in works if w.tau > border], [w for w in works if w.tau <= border]
        for name, side in (("predictable", high), ("hard to predict", low)):
            if side:
                yield _regime(name, "split", summed(side), kept, plain_ms)


def _border(works: list[Work]) -> float | None:
    latest = [w for w in works if w.steps >= LEAST_STEPS][-JUDGED:]
    steps = sum(w.steps for w in latest)
    spread = sum(w.spread * w.steps for w in latest) / steps if steps else 0.0
    return split([_observed(w, spread) for w in latest])


def _observed(work: Work, spread: float) -> Observation:
    """A request's tau and its variance; a short request's own spread is drawn towards all requests'."""
    own = (work.spread * work.steps + spread * PRIOR_STEPS) / (work.steps + PRIOR_STEPS)
    return Observation(work.tau, own / work.steps)


def _regime(name: str, how: RegimeHow, own: WorkSum, whole: WorkSum, plain_ms: float | None) -> Regime:
    speed = own.timed_tokens / own.time_s if own.time_s else None
    all_timed = whole.timed == whole.requests and whole.time_s > 0
    seen = own.drafted > 0 and not own.unseen
    return Regime(
        name=name,
        how=how,
        requests=own.requests,
        tokens=own.tokens,
        share_tokens=own.tokens / whole.tokens,
        time_s=own.time_s or None,
        share_time=own.time_s / whole.time_s if all_timed else None,
        tau=own.tokens / own.steps,
        tau_se=own.tau_error(),
        tau_draft=1 + own.accepted / own.cycles if own.cycles else None,
        acceptance=own.accepted / own.drafted if seen else None,
        drafted_share=own.cycles / own.steps,
        tok_s=speed,
        speedup=speed * plain_ms / 1000 if speed is not None and plain_ms is not None else None,
    )
