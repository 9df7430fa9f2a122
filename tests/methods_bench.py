"""A traced server with several drafting methods, whose costs and acceptance are known."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING

import builders as b

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from specscope import events as ev
    from specscope.session.state import Target

FUNCTIONS = ["begin", "draft", "method", "features", "accept", "forward", "restore"]


@dataclass(frozen=True)
class Kind:
    """Steps of one method: how often it finds something when asked, how wide, how good, and what a cycle takes."""

    name: str
    finds: float
    widths: tuple[int, ...]
    rate: float
    ms: float
    per_token_ms: float = 0.0
    draft_us: int = 900

    def tau(self) -> float:
        """Tokens per cycle."""
        each = [1 + sum(accumulate([self.rate] * w, mul)) for w in self.widths]
        return sum(each) / len(each)

    def mean_ms(self) -> float:
        """Milliseconds of a cycle."""
        return sum(self.ms + self.per_token_ms * w for w in self.widths) / len(self.widths)

    def tok_s(self) -> float:
        """Tokens per second in its cycles."""
        return 1000 * self.tau() / self.mean_ms()


TABLE = Kind("ngram-map-k4v", 0.3, (4, 8, 12), 0.9, 6.0, 0.4, draft_us=30)
SECOND = Kind("ngram-mod", 0.2, (6, 10), 0.4, 6.0, 0.4, draft_us=40)
DRAFTER = Kind("draft-dflash", 1.0, (7,), 0.7, 9.0, draft_us=1200)


@dataclass
class Server:
    """Requests one after another on slot 0, as the probes and a look at /slots tell them."""

    kinds: tuple[Kind, ...] = (TABLE, DRAFTER)
    plain_ms: float = 6.0
    requests: int = 40
    steps: int = 60
    noise: float = 0.03
    prompt: int = 100
    seed: int = 1
    hiccup: Callable[[random.Random], float] | None = None
    _rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)  # noqa: S311  a fixed sequence, not a secret

    def begin(self) -> list[ev.Event]:
        """What is known before the first request."""
        names = ",".join(kind.name for kind in self.kinds)
        flags = f"-m x --spec-type {names} --spec-draft-n-max 7"
        tracing = b.tracing(functions=FUNCTIONS)
        return [b.found(), b.process(flags), b.attached("trace", "trace"), b.attached("slots", "polled"), tracing]

    def facts(self, *, at: float = 1.0, first_task: int = 1) -> Iterator[ev.Event]:
        """All requests."""
        for task in range(first_task, first_task + self.requests):
            yield b.busy(at, task=task, fill_tokens=self.prompt, speculative=True)
            at += 0.05
            yield b.began(at)
            yield b.step(at + 0.001, 1, task=task, fill_tokens=self.prompt + 1)
            decoded = 1
            for _ in range(self.steps):
                kind = next((k for k in self.kinds if self._rng.random() < k.finds), None)
                width = self._rng.choice(kind.widths) if kind is not None else 0
                kept = next((i for i in range(width) if kind and self._rng.random() >= kind.rate), width)
                ms = self.plain_ms if kind is None else kind.ms + kind.per_token_ms * width
                took_us = round(1000 * ms * max(0.5, self._rng.gauss(1, self.noise)))
                held_up_s = self.hiccup(self._rng) if self.hiccup is not None else 0.0
                at, took_us = at + took_us / 1e6 + held_up_s, took_us + max(0, round(1e6 * held_up_s))
                decoded += kept + 1
                if kind is not None:
                    yield b.traced(at - 0.0004, width, kept, method=kind.name)
                draft_us = sum(k.draft_us for k in self.kinds) if kind is None else kind.draft_us
                yield b.turn(at, took_us, cycles=int(kind is not None), draft_us=draft_us)
            yield b.step(at + 0.4, decoded, task=task, fill_tokens=self.prompt + decoded)
            at += 0.5
            yield b.idle(at, task=task, fill_tokens=self.prompt + decoded)
            yield b.logged(at, task=task, generated=decoded, prompt_tokens=self.prompt, prompt_ms=40.0)
            at += 0.3

    def target(self, *more: ev.Event) -> Target:
        """The state after all of it."""
        return b.seen(*self.begin(), *self.facts(), *more)
