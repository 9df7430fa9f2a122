"""A server whose cost of a cycle and whose acceptance are known, for judging what is estimated from its steps."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING

import builders as b

from specscope.session.fold import Fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from specscope import events as ev
    from specscope.session.economics.state import RecordedRun
    from specscope.session.state import Target

Cost = "Callable[[int], float]"


def linear(w: int) -> float:
    return 10.0 + 0.5 * w


def flat(w: int) -> float:
    return 10.0 + 0.01 * w


def stepped(w: int) -> float:
    """The kernels' step: above 8 rows a cycle takes half as much again."""
    return (10.0 if w < 8 else 15.0) + 0.05 * w


@dataclass
class Bench:
    """Requests of one server, one after another, as its log and a slow look at /slots tell them.

    Attributes:
        cost: milliseconds of a cycle at a limit of that width, at depth 0; plain_ms: of a plain step without a drafter.
        drafting: milliseconds in it that the drafter takes at a limit; it drafts as much in a cycle that is cut.
        told: the log's statistics tell what drafting takes.
        fed_ms: what a plain step takes beside a drafter, more than without.
        layers: of the target, as its header says; None: it was not read.
        rebuilt_ms: what a step takes longer that is unlike the one before it; captured_ms: what the second of like ones
            in a row does.
        rates: conditional acceptance by position.
        noise: standard deviation of a step's time, relative.
        per_token_ms: what depth adds to a step.
        choose: what the drafter makes of the width that n_max and the rest of the request allow.
        ends: requests go on to their last token, so that their last drafts are narrow.
    """

    cost: Callable[[int], float] = linear
    plain_ms: float = 8.0
    drafting: Callable[[int], float] = lambda _: 0.01
    told: bool = True
    fed_ms: float = 0.0
    layers: int | None = 1
    rebuilt_ms: float = 0.0
    captured_ms: float = 0.0
    rates: tuple[float, ...] = (0.9, 0.85, 0.8, 0.75, 0.7, 0.7, 0.65, 0.65, 0.6, 0.6, 0.55, 0.55, 0.5, 0.5, 0.5)
    n_max: int = 15
    tokens: int = 120
    requests: int = 60
    noise: float = 0.03
    seed: int = 1
    per_token_ms: float = 0.0
    prompt: int = 100
    choose: Callable[[random.Random, int], int] | None = None
    method: str = "draft-dflash"
    block: int | None = 16
    gap_s: float = 0.2
    ends: bool = True
    hiccup: Callable[[random.Random], float] | None = None
    _rng: random.Random = field(init=False)
    _before: int | None = 0
    _alike: int = 0
    _drafts: int = 0

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)  # noqa: S311  a fixed sequence, not a secret

    def tau(self, n: int) -> float:
        return 1 + sum(accumulate(self.rates[:n], mul))

    def speed(self, n: int) -> float:
        return 1000 * self.tau(n) / self.cost(n) if n else 1000 / self.plain_ms

    def facts(self, *, at: float = 1.0, first_task: int = 1) -> Iterator[ev.Event]:
        for number in range(self.requests):
            task = first_task + number
            yield b.launched(at, task=task)
            yield b.busy(at + 0.001, task=task, fill_tokens=self.prompt, speculative=bool(self.n_max))
            at += 0.05
            self._before = None
            yield b.step(at, 1, task=task, fill_tokens=self.prompt + 1)
            first, done, drafted, accepted = at, 1, 0, 0
            while self.tokens - done > (0 if self.ends else self.n_max):
                width = self._width(self.tokens - done)
                kept = self._kept(width)
                at += self._took_s(width, self.prompt + done)
                done += kept + 1
                drafted, accepted = drafted + width, accepted + kept
                if width:
                    yield b.cycle(at, width, kept, task=task)
                else:
                    yield b.step(at, done, task=task, fill_tokens=self.prompt + done)
            totals = {"drafted": drafted, "accepted": accepted} if drafted else {}
            yield b.logged(
                at,
                task=task,
                prompt_tokens=self.prompt,
                prompt_ms=50.0,
                generated=done,
                generated_ms=1000 * (at - first),
                **totals,
            )
            if self.told and self._drafts:
                took_ms = self._drafts * self.drafting(self.n_max)
                yield b.statistics(at, self._drafts, took_ms, method=self.method)
            yield b.idle(at + 0.001, task=task, fill_tokens=self.prompt + done)
            at += self.gap_s

    def _width(self, left: int) -> int:
        width = min(self.n_max, left - 1)
        return width if self.choose is None else min(width, self.choose(self._rng, width))

    def _kept(self, width: int) -> int:
        return next((i for i in range(width) if self._rng.random() >= self.rates[i]), width)

    def _took_s(self, width: int, depth: int) -> float:
        base = self.plain_ms + (self.fed_ms if self.n_max else 0.0)
        if width:
            base = self.cost(width) + self.drafting(self.n_max) - self.drafting(width)
            self._drafts += 1
        self._alike = self._alike + 1 if width == self._before else 1
        base += {1: self.rebuilt_ms, 2: self.captured_ms}.get(self._alike, 0.0)
        self._before = width
        took = (base + self.per_token_ms * depth) * max(0.2, self._rng.gauss(1, self.noise))
        return took / 1000 + (self.hiccup(self._rng) if self.hiccup is not None else 0.0)

    def fold(self, *runs: RecordedRun) -> Fold:
        fold = Fold()
        for fact in self.begin():
            fold.apply(fact)
        fold.targets["t0"].economics.runs = runs
        for fact in self.facts():
            fold.apply(fact)
        return fold

    def begin(self) -> list[ev.Event]:
        flags = f"--spec-type {self.method} --spec-draft-n-max {self.n_max}" if self.n_max else ""
        facts: list[ev.Event] = [
            b.found(),
            b.attached("log", "cycles"),
            b.attached("slots", "polled"),
            b.process(f"-m /models/target.gguf {flags}"),
        ]
        if self.layers is not None:
            facts.append(b.model("target", n_layer=self.layers))
        if self.block is not None and self.n_max:
            facts.append(b.model("drafter", block_size=self.block))
        return facts

    def target(self, *runs: RecordedRun) -> Target:
        (target,) = self.fold(*runs).view().targets
        return target
