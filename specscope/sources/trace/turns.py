"""From the stamps of a trace to turns of the server's loop and where their time went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from specscope.events import TurnTraced

ROUNDING_US: Final = 500

PAUSE_NS: Final = 50_000_000
"""A turn that begins this long after the last event of the one before did not follow it at once: the server was at
rest in between. Between turns at work lie 0.1-1 ms, and a restored checkpoint of a large model 10-20."""


@dataclass
class Open:
    """A turn under way: everything so far, in nanoseconds."""

    start: int
    last: int
    draft: int | None = None
    draft_sampling: int | None = None
    submit: int = 0
    submitted: int | None = None
    wait: int | None = None
    features: int | None = None
    first_sample: int | None = None
    cycles: int = 0
    used: int | None = None
    sampled_before: tuple[int, int] | None = None
    sampled: tuple[int, int] | None = None


@dataclass
class Turns:
    """Puts turns together.

    A turn begins when drafting begins, or with a forward of the target where nothing was drafted before it. Its
    sampling is known when the next forward has told how much was sampled by then.

    Attributes:
        sampling: the sampler is probed; else sampling lasts from the features' end to the last cycle's.
        drafting: the drafter is probed.
        explicit_wait: the server waits for the forward's results before it uses them (builds with ``llama_process``,
            server-context.cpp); in older ones the first use waits, so that the first sampling of a turn takes as
            much longer than the others as the device needed.
    """

    sampling: bool
    drafting: bool
    explicit_wait: bool
    _open: Open | None = None
    _next: Open | None = None
    _draft_sampled: int = 0
    _done: list[tuple[int, TurnTraced]] = field(default_factory=list[tuple[int, TurnTraced]])

    def drafted(self, start: int, end: int, sampled: int) -> None:
        """``common_speculative_draft`` was left; ``sampled`` is the drafter's sampling so far."""
        turn = self._next
        if turn is None:
            turn = self._next = Open(start, end)
        turn.last = end
        turn.draft = (turn.draft or 0) + end - start
        if self.sampling:
            turn.draft_sampling = (turn.draft_sampling or 0) + max(0, sampled - self._draft_sampled)
        self._draft_sampled = sampled

    def forward(self, start: int, end: int, sampled: int, samples: int) -> None:
        """A forward of the target returned; nothing of the target has been sampled since it began."""
        turn, self._next = self._next or Open(start, end), None
        if self._open is not None:
            self._open.sampled = (sampled, samples)
            self._close(turn.start)
        turn.last = turn.submitted = end
        turn.submit += end - start
        turn.sampled_before = (sampled, samples)
        self._open = turn

    def features(self, start: int, end: int) -> None:
        """``common_speculative_process`` was left."""
        turn = self._open
        if turn is None:
            return
        self._used(turn, start)
        turn.features = (turn.features or 0) + end - start
        turn.last = turn.used = end

    def sampled(self, start: int, end: int) -> None:
        """The first sampling after a forward was left."""
        turn = self._open
        if turn is None:
            return
        self._used(turn, start)
        turn.first_sample = end - start
        turn.last = end

    def accepted(self, at: int, sampled: int, samples: int) -> None:
        """A cycle of a slot ended."""
        turn = self._open
        if turn is None:
            return
        turn.cycles += 1
        turn.last = at
        turn.sampled = (sampled, samples)

    def _used(self, turn: Open, at: int) -> None:
        """The forward's results are used for the first time: until now the device was at work on them."""
        if turn.wait is None and turn.submitted is not None:
            turn.wait = max(0, at - turn.submitted)

    def settle(self) -> None:
        """Nothing has come for a while: the last turn has ended."""
        if self._open is not None:
            self._close(None)

    def take(self) -> list[tuple[int, TurnTraced]]:
        """The turns that have ended, with the stamps of their ends, given once; their ``at`` is still 0."""
        done, self._done = self._done, []
        return done

    def _close(self, following: int | None) -> None:
        turn, self._open = self._open, None
        if turn is None:
            return
        end = turn.last if following is None or following - turn.last > PAUSE_NS else following
        sampling, samples = self._sampling(turn)
        wait = turn.wait
        if not self.explicit_wait and sampling is not None and turn.first_sample is not None and samples:
            others = (sampling - turn.first_sample) / (samples - 1) if samples > 1 else 0.0
            late = max(0, int(turn.first_sample - others))
            if samples > 1:
                sampling, wait = sampling - late, (wait or 0) + late
        fact = TurnTraced(
            at=0.0,
            whole_us=max(0, end - turn.start) // 1000,
            cycles=turn.cycles,
            draft_us=_us(turn.draft if turn.draft is not None or not self.drafting else 0),
            draft_sampling_us=_us(turn.draft_sampling),
            submit_us=_us(turn.submit),
            wait_us=_us(wait),
            features_us=_us(turn.features),
            sampling_us=_us(sampling),
            samples=samples,
        )
        if (turn.cycles or samples or not self.sampling) and _adds_up(fact):
            self._done.append((end, fact))

    def _sampling(self, turn: Open) -> tuple[int | None, int | None]:
        if not self.sampling:
            return None if turn.used is None or not turn.cycles else turn.last - turn.used, None
        if turn.sampled_before is None:
            return None, None
        if turn.sampled is None:
            return (turn.first_sample, 1) if turn.first_sample is not None else (0, 0)
        return max(0, turn.sampled[0] - turn.sampled_before[0]), max(0, turn.sampled[1] - turn.sampled_before[1])


def _adds_up(turn: TurnTraced) -> bool:
    """Whether the parts fit into the whole, and none is negative.

    bpftrace reads one CPU's events after another's: held up for a while, it tells them out of order, and what is put
    together of them is no turn. Its cycles are right all the same.
    """
    parts = (turn.draft_us, turn.submit_us, turn.wait_us, turn.features_us, turn.sampling_us)
    known = [p for p in parts if p is not None]
    return min(known, default=0) >= 0 and sum(known) <= turn.whole_us + ROUNDING_US


def _us(nanoseconds: int | None) -> int | None:
    return None if nanoseconds is None else nanoseconds // 1000
