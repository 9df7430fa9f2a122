"""Servers that work for as long as one wants, on machines that sleep, stand still and have their clocks set."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

import builders as b
from economics_bench import Bench, linear
from methods_bench import DRAFTER, TABLE, Server

from specscope.session.fold import Fold

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from specscope import events as ev

ONE_IN: Final = 500
"""Steps of which one is disturbed."""

HELD_UP_S: Final = (0.3, 5.0, 60.0, 8 * 3600.0, -0.5, -3600.0)
"""A busy moment, a stopped process, a night asleep; and a clock that is set back."""


def disturbed(rng: random.Random) -> float:
    """By how many seconds the time of a step is off."""
    return rng.choice(HELD_UP_S) if rng.randrange(ONE_IN) == 0 else 0.0


class Figures(NamedTuple):
    """What is told after so many cycles, and how many values are kept for it."""

    cycles: int
    costs_ms: dict[int, float]
    plain_ms: float | None
    tau: float
    kept: int


@dataclass(frozen=True)
class Endless:
    """A server, and what its figures must come to.

    Attributes:
        server: tells a few requests at a time.
        costs_ms: of a cycle by width; plain_ms: of a plain step; tau: tokens per cycle.
    """

    name: str
    server: Bench | Server
    costs_ms: dict[int, float]
    tau: float
    plain_ms: float | None = None

    def facts(self) -> Iterator[ev.Event]:
        """Its facts, without an end."""
        yield from self.server.begin()
        at = 1.0
        for first in count(1, self.server.requests):
            last = at
            for fact in self.server.facts(at=at, first_task=first):
                yield fact
                last = fact.at - b.T0
            at = max(at, last) + 0.3

    def figures(self, *looks: int) -> Iterator[Figures]:
        """The figures after so many cycles each."""
        fold, facts = Fold(), self.facts()
        for cycles in looks:
            while not fold.targets or fold.targets["t0"].epoch.book.tally.cycles < cycles:
                for _ in range(1000):
                    fold.apply(next(facts))
            yield _figures(fold)


def _figures(fold: Fold) -> Figures:
    (target,) = fold.view().targets
    epoch, economics = fold.targets["t0"].epoch, target.economics
    cells = [
        *epoch.book.costs.cells.values(),
        *(c for m in epoch.traced.methods.counts.values() for c in m.cells.values()),
    ]
    batches = [cell.times for cell in cells] + [epoch.book.costs.accepted]
    return Figures(
        cycles=target.totals.cycles or 0,
        costs_ms={point.width: point.ms for point in economics.costs},
        plain_ms=economics.plain.ms if economics.plain is not None else None,
        tau=economics.tau.value if economics.tau is not None else 0.0,
        kept=sum(len(each._kept) + len(each._fresh) for each in batches),
    )


def _drafter() -> Endless:
    server = Bench(requests=20, tokens=400, hiccup=disturbed, noise=0.05)
    return Endless("a drafter, by its log", server, {15: linear(15)}, server.tau(15))


def _tables() -> Endless:
    server = Server((TABLE,), requests=20, noise=0.05, hiccup=disturbed)
    costs = {w: TABLE.ms + TABLE.per_token_ms * w for w in TABLE.widths}
    return Endless("tables, traced", server, costs, TABLE.tau(), server.plain_ms)


def _both() -> Endless:
    server = Server((TABLE, DRAFTER), requests=20, noise=0.05, hiccup=disturbed)
    tau = TABLE.finds * TABLE.tau() + (1 - TABLE.finds) * DRAFTER.tau()
    return Endless("tables before a drafter, traced", server, {7: DRAFTER.ms}, tau)


SERVERS: Final = (_drafter(), _tables(), _both())
