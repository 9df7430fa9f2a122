"""Where the milliseconds of a turn go: running sums over traced turns, so that a view of them costs next to nothing."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import floor
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.state import Anatomy, Parts
from specscope.session.window import WINDOW_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.events import TurnTraced
    from specscope.session.state import Evidence

SECONDS_KEPT: Final = 120
"""Length of the series: at one column a second it fills a wide terminal, and holds two minutes of means, not turns."""

MAX_TURNS: Final = 4096
"""Turns that the window holds at most. A server with more than 400 turns a second gets a shorter window."""

PROMPT_FACTOR: Final = 5
"""A turn without a draft that takes so many times the running mean is no plain step: the forward that gives a
request its first token computes the rest of the prompt too. A step's own time varies by a few tens of percent."""

PARTS: Final = 5
"""Draft, submit, wait, features and sampling: what adds up to the whole, with the rest. The drafter's own sampling
is kept beside them, because it lies within the draft."""


class _Turn(NamedTuple):
    """A turn in microseconds: ``known`` has the five parts, then the drafter's sampling, then the sampled tokens."""

    at: float
    whole: int
    cycles: int
    known: tuple[int | None, ...]


def fit(whole: float, parts: Sequence[float | None]) -> tuple[list[float | None], float]:
    """Parts that are together no more than the whole, and what is left of it.

    Stamps are rounded, and a probe that fired late stretches its part: parts that exceed the whole are shortened in
    proportion, and nothing is left. None stays None.
    """
    total = sum(p for p in parts if p is not None)
    if total <= whole:
        return list(parts), whole - total
    return [None if p is None else p * (whole / total) for p in parts], 0.0


def _turn(e: TurnTraced) -> _Turn:
    given = (e.draft_us, e.submit_us, e.wait_us, e.features_us, e.sampling_us)
    parts: list[int | None] = [None if p is None else floor(p) for p in fit(e.whole_us, given)[0]]
    draft, own = parts[0], e.draft_sampling_us
    within = None if draft is None or own is None else min(own, draft)
    return _Turn(e.at, e.whole_us, e.cycles, (*parts, within, e.samples))


@dataclass(eq=False)
class _Sums:
    """Sums over some turns; of each part also how many turns had it."""

    turns: int = 0
    cycles: int = 0
    whole: int = 0
    total: list[int] = field(default_factory=lambda: [0] * (PARTS + 2))
    known: list[int] = field(default_factory=lambda: [0] * (PARTS + 2))

    def add(self, turn: _Turn, sign: int = 1) -> None:
        """Take a turn in, or (``sign`` -1) out again."""
        self.turns += sign
        self.cycles += sign * turn.cycles
        self.whole += sign * turn.whole
        for i, value in enumerate(turn.known):
            if value is not None:
                self.total[i] += sign * value
                self.known[i] += sign

    def parts(self) -> Parts:
        """The means in milliseconds; a part's mean is over the turns that had it. At least one turn is needed."""
        whole = self.whole / self.turns / 1000
        means = [t / n / 1000 if n else None for t, n in zip(self.total, self.known, strict=True)]
        (draft, submit, wait, features, sampling), other = fit(whole, means[:PARTS])
        own = means[PARTS]
        return Parts(
            whole_ms=whole,
            draft_ms=draft,
            submit_ms=submit,
            wait_ms=wait,
            features_ms=features,
            sampling_ms=sampling,
            other_ms=other,
            draft_sampling_ms=None if own is None or draft is None else min(own, draft),
        )

    def samples(self) -> int | None:
        """Tokens sampled; None when some turns did not tell."""
        return self.total[-1] if self.known[-1] == self.turns else None


@dataclass(eq=False)
class PartsBook:
    """The turns of one kind: a sliding window, and a mean for each second before."""

    window: deque[_Turn] = field(default_factory=deque[_Turn])
    sums: _Sums = field(default_factory=_Sums)
    seconds: deque[tuple[float, int, Parts]] = field(default_factory=lambda: deque(maxlen=SECONDS_KEPT))
    _second: float | None = None
    _running: _Sums = field(default_factory=_Sums)

    def add(self, e: TurnTraced) -> None:
        """Take in a turn; those that leave the window are taken out of its sums."""
        turn = _turn(e)
        self.window.append(turn)
        self.sums.add(turn)
        while self.window[0].at <= e.at - WINDOW_S or len(self.window) > MAX_TURNS:
            self.sums.add(self.window.popleft(), -1)
        self._note_second(turn)

    def _note_second(self, turn: _Turn) -> None:
        second = float(floor(turn.at))
        if self._second is None or second > self._second:
            self._close_second()
            self._second = second
            while self.seconds and self.seconds[0][0] <= second - SECONDS_KEPT:
                self.seconds.popleft()
        self._running.add(turn)

    def _close_second(self) -> None:
        if self._second is not None:
            self.seconds.append((self._second, self._running.turns, self._running.parts()))
            self._running = _Sums()

    def series(self) -> tuple[tuple[float, int, Parts], ...]:
        """(second since the epoch, turns, means), oldest first; the last one may still be running."""
        if self._second is None:
            return ()
        closed = [s for s in self.seconds if s[0] > self._second - SECONDS_KEPT]
        return (*closed, (self._second, self._running.turns, self._running.parts()))


@dataclass(eq=False)
class AnatomyBook:
    """All turns, by what they did.

    Attributes:
        cycles: turns that verified a draft.
        plain: turns that sampled without a draft, less those that computed a prompt.
        unsampled: turns without a draft of which nobody knows whether they sampled (cheap probes): plain steps on
            a server that does not draft, and parts of a prompt.
    """

    cycles: PartsBook = field(default_factory=PartsBook)
    plain: PartsBook = field(default_factory=PartsBook)
    unsampled: PartsBook = field(default_factory=PartsBook)
    _usual_us: float | None = None

    def turn(self, e: TurnTraced) -> None:
        """Take in a turn. One that neither verified nor sampled computed a part of a prompt and is left out."""
        if e.cycles:
            self.cycles.add(e)
        elif e.samples != 0 and self._is_step(e.whole_us):
            (self.unsampled if e.samples is None else self.plain).add(e)

    def _is_step(self, whole_us: int) -> bool:
        usual = self._usual_us
        self._usual_us = whole_us if usual is None else 0.9 * usual + 0.1 * min(whole_us, 3 * usual)
        return usual is None or whole_us <= PROMPT_FACTOR * usual

    def view(self, evidence: Evidence, *, asynchronous: bool | None, drafts: bool | None) -> Anatomy | None:
        """The means of the latest window and the seconds before; None while no turn tells of decoding.

        Args:
            evidence: how the turns are known.
            asynchronous: as the trace says.
            drafts: whether a drafting method is on; None: unknown. Turns of which only the cheap probes tell are
                plain steps where it is off.
        """
        books = [self.cycles, self.plain, *([self.unsampled] if drafts is False else [])]
        book = next((b for b in books if b.sums.turns), None)
        if book is None:
            return None
        sums = book.sums
        return Anatomy(
            evidence=evidence,
            basis="probes on the server's own functions",
            parts=sums.parts(),
            turns=sums.turns,
            cycles=sums.cycles,
            span_s=sums.whole / 1e6,
            seconds=book.series(),
            asynchronous=asynchronous,
            samples=sums.samples(),
        )
