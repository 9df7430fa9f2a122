"""Requests by how predictable they are, so that one average never hides two machines."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.economics.mixture import Observation, split
from specscope.session.economics.state import Regime

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.session.economics.state import RegimeHow
    from specscope.session.request import Request
    from specscope.session.state import RequestRow

LEAST_STEPS: Final = 8
"""Steps before a request's tau is compared: its standard error is then about a third of tau."""

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


@dataclass(eq=False)
class RegimeBook:
    """The regimes of the requests that are kept; a request is read again only when its row has changed."""

    _works: dict[int, _Read] = field(default_factory=dict["int", "_Read"])

    def view(self, ended: Iterable[Request], plain_ms: float | None) -> tuple[Regime, ...]:
        """All requests, then by label where the user gave any, else by tau where the figures show two kinds."""
        before = self._works
        now: dict[int, _Read] = {}
        for request in ended:
            row, known = request.row(), before.get(request.number)
            now[request.number] = known if known is not None and known.row is row else _Read(row, work_of(request))
        self._works = now
        works = [read.work for read in now.values() if read.work is not None]
        return tuple(self._rows(works, plain_ms)) if works else ()

    def _rows(self, works: list[Work], plain_ms: float | None) -> Iterable[Regime]:
        whole = _regime("all", "all", works, works, plain_ms)
        yield whole
        labels = list(dict.fromkeys(w.label for w in works))
        if any(labels):
            for label in labels:
                yield _regime(label or "no label", "label", [w for w in works if w.label == label], works, plain_ms)
            return
        border = _border(works)
        if border is not None:
            high, low = [w for w in works if w.tau > border], [w for w in works if w.tau <= border]
            for name, side in (("predictable", high), ("hard to predict", low)):
                if side:
                    yield _regime(name, "split", side, works, plain_ms)


def _border(works: list[Work]) -> float | None:
    latest = [w for w in works if w.steps >= LEAST_STEPS][-JUDGED:]
    steps = sum(w.steps for w in latest)
    spread = sum(w.spread * w.steps for w in latest) / steps if steps else 0.0
    return split([_observed(w, spread) for w in latest])


def _observed(work: Work, spread: float) -> Observation:
    """A request's tau and its variance; a short request's own spread is drawn towards all requests'."""
    own = (work.spread * work.steps + spread * LEAST_STEPS) / (work.steps + LEAST_STEPS)
    return Observation(work.tau, own / work.steps)


def _regime(name: str, how: RegimeHow, works: list[Work], whole: list[Work], plain_ms: float | None) -> Regime:
    tokens, steps, cycles = (sum(getattr(w, f) for w in works) for f in ("tokens", "steps", "cycles"))
    timed = [w for w in works if w.time_s]
    time_s = sum(w.time_s or 0.0 for w in timed)
    all_s, all_timed = sum(w.time_s or 0.0 for w in whole), all(w.time_s for w in whole)
    tau = tokens / steps
    accepted, widths = sum(w.accepted for w in works), [w.drafted for w in works]
    drafted = sum(w or 0 for w in widths) if cycles and None not in widths else 0
    off = sum((w.tokens - tau * w.steps) ** 2 for w in works)
    many = len(works)
    speed = sum(w.tokens for w in timed) / time_s if time_s else None
    return Regime(
        name=name,
        how=how,
        requests=many,
        tokens=tokens,
        share_tokens=tokens / sum(w.tokens for w in whole),
        time_s=time_s or None,
        share_time=time_s / all_s if all_s and all_timed else None,
        tau=tau,
        tau_se=sqrt(off * many / (many - 1)) / steps if many > 1 else None,
        tau_draft=1 + accepted / cycles if cycles else None,
        acceptance=accepted / drafted if drafted else None,
        drafted_share=cycles / steps,
        tok_s=speed,
        speedup=speed * plain_ms / 1000 if speed is not None and plain_ms is not None else None,
    )
