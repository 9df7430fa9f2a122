"""Where the milliseconds of a turn go: sums of traced turns by second, so that a view of them costs next to nothing."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from math import floor
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.turn_state import Anatomy, Parts
from specscope.session.window import WINDOW_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.events import TurnTraced
    from specscope.session.state import Evidence

SECONDS_KEPT: Final = 120
"""Length of the series: at one column a second it fills a wide terminal, and holds two minutes of means, not turns."""

PROMPT_FACTOR: Final = 5
"""A turn without a draft that takes so many times the running mean is no plain step: the forward that gives a
request its first token computes the rest of the prompt too. A step's own time varies by a few tens of percent."""

PARTS: Final = 5
"""Draft, submit, wait, features and sampling: what adds up to the whole, with the rest. The drafter's own sampling
is kept beside them, because it lies within the draft, and so are the sampled tokens."""


class Sampled(NamedTuple):
    """Sampling as bursts saw it: tokens sampled from the target per turn, and the drafter's sampling in it."""

    samples: float
    draft_sampling_ms: float


def fit(whole: float, parts: Sequence[float | None]) -> tuple[list[float | None], float]:
    """Parts that are together no more than the whole, and what is left of it.

    Stamps are rounded, and a probe that fired late stretches its part: parts that exceed the whole are shortened in
    proportion, and nothing is left. None stays None.
    """
    total = sum(p for p in parts if p is not None)
    if total <= whole:
        return list(parts), whole - total
    return [None if p is None else p * (whole / total) for p in parts], 0.0


def _zeros() -> list[float]:
    return [0] * (PARTS + 2)


@dataclass(eq=False)
class _Sums:
    """Sums over some turns, in microseconds; of each part also how many turns had it."""

    turns: int = 0
    cycles: int = 0
    whole: int = 0
    total: list[float] = field(default_factory=_zeros)
    known: list[float] = field(default_factory=_zeros)

    def add(self, e: TurnTraced) -> None:
        """Take a turn in."""
        self.turns += 1
        self.cycles += e.cycles
        self.whole += e.whole_us
        draft, submit, wait, features, sampling = e.draft_us, e.submit_us, e.wait_us, e.features_us, e.sampling_us
        told: list[float | None] = [draft, submit, wait, features, sampling]
        # Written out, because there can be hundreds of turns a second and hundreds of thousands in a recording.
        if (draft or 0) + (submit or 0) + (wait or 0) + (features or 0) + (sampling or 0) > e.whole_us:
            told = fit(e.whole_us, told)[0]
        total, known = self.total, self.known
        for i, value in enumerate((*told, e.draft_sampling_us, e.samples)):
            if value is not None:
                total[i] += value
                known[i] += 1

    def merge(self, other: _Sums) -> None:
        """Take the turns of another in."""
        self.turns += other.turns
        self.cycles += other.cycles
        self.whole += other.whole
        self.total = [a + b for a, b in zip(self.total, other.total, strict=True)]
        self.known = [a + b for a, b in zip(self.known, other.known, strict=True)]

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
        return int(self.total[-1]) if self.known[-1] == self.turns else None


class _Second(NamedTuple):
    """A second that is over: its number since the epoch, its sums, and the means made of them once."""

    at: float
    sums: _Sums
    parts: Parts


@dataclass(eq=False)
class PartsBook:
    """The turns of one kind, by second: a turn is added once, and a view adds up a few seconds."""

    closed: deque[_Second] = field(default_factory=lambda: deque(maxlen=SECONDS_KEPT - 1))
    _at: float | None = None
    _open: _Sums = field(default_factory=_Sums)

    def add(self, e: TurnTraced) -> None:
        """Take in a turn."""
        if self._at is None or e.at >= self._at + 1:
            if self._at is not None:
                self.closed.append(_Second(self._at, self._open, self._open.parts()))
                self._open = _Sums()
            self._at = float(floor(e.at))
        self._open.add(e)

    def window(self) -> _Sums:
        """The sums of the latest window, in whole seconds with the one that still runs; without turns, before any."""
        sums = _Sums()
        sums.merge(self._open)
        for second in reversed(self.closed):
            if self._at is None or second.at <= self._at - WINDOW_S:
                break
            sums.merge(second.sums)
        return sums

    def series(self) -> tuple[tuple[float, int, Parts], ...]:
        """(second since the epoch, turns, means), oldest first; the last one may still be running."""
        if self._at is None:
            return ()
        oldest = self._at - SECONDS_KEPT
        closed = [(s.at, s.sums.turns, s.parts) for s in self.closed if s.at > oldest]
        return (*closed, (self._at, self._open.turns, self._open.parts()))


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

    def view(
        self, evidence: Evidence, *, asynchronous: bool | None, drafts: bool | None, sampled: Sampled | None = None
    ) -> Anatomy | None:
        """The means of the latest window and the seconds before; None while no turn tells of decoding.

        Args:
            evidence: how the turns are known.
            asynchronous: as the trace says.
            drafts: whether a drafting method is on; None: unknown. Turns of which only the cheap probes tell are
                plain steps where it is off.
            sampled: what bursts told of sampling, where each token's is not probed.
        """
        books = [self.cycles, self.plain, *([self.unsampled] if drafts is False else [])]
        book, sums = next(((b, s) for b in books if (s := b.window()).turns), (None, None))
        if book is None or sums is None:
            return None
        parts, samples = sums.parts(), sums.samples()
        if samples is None and sampled is not None:
            samples = round(sampled.samples * sums.turns)
            own, draft = sampled.draft_sampling_ms, parts.draft_ms
            parts = replace(parts, draft_sampling_ms=None if draft is None else min(own, draft))
        return Anatomy(
            evidence=evidence,
            basis="probes on the server's own functions",
            parts=parts,
            turns=sums.turns,
            cycles=sums.cycles,
            span_s=sums.whole / 1e6,
            seconds=book.series(),
            asynchronous=asynchronous,
            samples=samples,
        )
