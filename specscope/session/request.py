"""One request while it runs: what each source said of it, reconciled."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from specscope.session.asked import UNSEEN
from specscope.session.request_state import RequestRow
from specscope.session.room import UNKNOWN
from specscope.session.tally import Tally

if TYPE_CHECKING:
    from specscope.events import RequestLogged, StreamEnded
    from specscope.session.asked import Asked
    from specscope.session.depth import Bands
    from specscope.session.room import Room
    from specscope.session.state import CycleSource

RANKS: Final[dict[CycleSource, int]] = {"polled": 0, "stream": 1, "log": 2, "trace": 2}
"""Which source is believed when several see the same cycle: the highest, and of equals the first."""

POLL_SETTLE_S: Final = 0.3
"""A poll of n_decoded is compared with the log's cycles only when it is this old: the log source reads at
intervals of up to 0.2 s, so every cycle line from before the poll has been read by then."""

POLL_MARGIN_S: Final = 0.005
"""A poll this close to a cycle's end may have been answered before or after it: it is not compared."""

ROW_KEY: Final = attrgetter(
    *("tally.tokens", "tally.plain_steps", "tally.unverified", "decoded", "generated", "generated_ms", "stop"),
    *("ended_at", "logged", "prompt_tokens", "cached_tokens", "ttft_ms", "prompt_ms", "polled_ttft_ms"),
    *("seen_by", "task", "whole", "asked", "room", "judged"),
)
"""What a request's row is made of. A tally that is told anew by another source has another ``seen_by``."""

LATE_S: Final = 0.25
"""How much later than it happened the log or a poll may show something: a log is read every 0.2 s while it is quiet,
and its first lines are placed when they are read; /slots is polled every 0.2 s while a trace tells the cycles. A trace
stamps its facts itself, so that only their reading is late."""


@dataclass(eq=False)
class Request:
    """The facts of one request, by slot and task id.

    Attributes:
        seen_by: the strongest source of its cycles so far; weaker ones are ignored from then on.
        whole: seen from its beginning; a request met in the middle has an unknown past.
        chain_width: width of a draft whose accepted part is being verified a second time; chain_counted: the
            request ended meanwhile, so that the width was counted as drafted but not verified.
        streamed: a stream of our own tells of it. room: how it fits its slot's context.
        untimed: plain steps before its end that have no time yet.
        settled: plain steps that only its final token count proved, so far.
        credited: tokens that the book's running count of generated ones has of it.
        judged: all its cycles are there, or have had the time to come, since the log printed its totals.
        depths: its share of the speed by KV depth.
        begun_at: when a trace saw its prompt end. last_step_at: when its latest step ended.
        sighted_from, sighted_at: between these polling first saw it at work.
        unbegun_at: from then on it may have begun; at that time polling saw it without a token.
        fill_base: least difference of resident and generated tokens, the prompt's share of the KV fill.
        ttft_ms: as the client measured it; prompt_ms: the server's; polled_ttft_ms: to within a poll.
    """

    slot: int
    task: int | None
    started_at: float
    whole: bool
    label: str | None = None
    seen_by: CycleSource | None = None
    tally: Tally = field(default_factory=Tally)
    number: int = 0
    chain_width: int | None = None
    chain_counted: bool = False
    last_step_at: float | None = None
    decoded: int | None = None
    sighted_at: float | None = None
    sighted_from: float | None = None
    unbegun_at: float | None = None
    fill_base: int | None = None
    first_token_at: float | None = None
    ended_at: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    prompt_ms: float | None = None
    ttft_ms: float | None = None
    polled_ttft_ms: float | None = None
    generated: int | None = None
    generated_ms: float | None = None
    asked: Asked = UNSEEN
    stop: str | None = None
    room: Room = UNKNOWN
    logged: RequestLogged | None = None
    streamed: bool = False
    begun_at: float | None = None
    cycle_tokens: int = 0
    last_accepted: int = 0
    untimed: int = 0
    settled: int = 0
    credited: int | None = None
    judged: bool = False
    depths: Bands = field(default_factory=dict[int, "list[float]"])
    _plain_base: int | None = None
    _ends: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=512))
    _polls: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=64))
    _row: tuple[tuple[object, ...], RequestRow] | None = None

    def outranks(self, source: CycleSource) -> bool:
        """Whether another source that is no weaker than this one already tells the cycles."""
        told = self.seen_by
        return told is not None and told != source and RANKS[told] >= RANKS[source]

    def may_have_begun(self, at: float) -> bool:
        """Whether its prompt may be the one that a trace saw end at ``at``.

        It is not when it has a begin already, was over, began later, or polling saw it at work before or not yet then.
        """
        if self.begun_at is not None or self.seen_by == "trace":
            return False
        if self.ended_at is not None and self.ended_at < at:
            return False
        if self.started_at > at + LATE_S or (self.unbegun_at is not None and at < self.unbegun_at):
            return False
        if self.sighted_at is not None:
            return at <= self.sighted_at
        unseen = not self.decoded and self.last_step_at is None
        return self.whole or unseen or self.started_at >= at - LATE_S

    def learn(self, e: RequestLogged | StreamEnded, *figures: str) -> None:
        """Take over the figures that a fact has."""
        for figure in figures:
            value = getattr(e, figure)
            if value is not None:
                setattr(self, figure, value)

    def start_over(self, at: float) -> None:
        """A stronger source tells the cycles, from ``at`` on: what a weaker one told is void.

        If drafts had been accepted well before, the stronger one came in the middle. Steps of one token prove
        nothing: polling takes the plain steps of an n-gram server for cycles.
        """
        earlier = bisect_right(self._ends, at - POLL_SETTLE_S, key=lambda end: end[0])
        if earlier and self._ends[earlier - 1][1] > earlier:
            self.whole = False
        self.tally = Tally()
        self.chain_counted = False
        self.settled = 0
        self.cycle_tokens = 0
        self.last_step_at = self.first_token_at if self.whole else None
        self._plain_base = None
        self._ends.clear()
        self._polls.clear()

    def resident_before(self) -> int | None:
        """Tokens that lay in the slot before the first generated one; None when neither /slots nor the log told."""
        if self.fill_base is not None:
            return self.fill_base
        if self.prompt_tokens is None or self.cached_tokens is None:
            return None
        return self.prompt_tokens + self.cached_tokens

    def forget_steps(self) -> None:
        """Keep the figures and give up the memory of each step: nothing will be told of this request any more."""
        self._ends.clear()
        self._polls.clear()

    def forget_polls(self) -> None:
        """What polling saw was of another request."""
        self.first_token_at = None
        self.untimed = self.settled = 0
        self._plain_base = None
        self._polls.clear()

    def note_cycle(self, at: float, accepted: int) -> float | None:
        """Move on by one cycle; returns the milliseconds since the step before, None for the first seen."""
        before, self.last_step_at = self.last_step_at, at
        gap_ms = None if before is None else (at - before) * 1000 if at > before else 0.0
        self.cycle_tokens += accepted + 1
        self.last_accepted = accepted
        self._ends.append((at, self.cycle_tokens))
        return gap_ms

    def note_poll(self, at: float, decoded: int) -> tuple[int, float]:
        """Take in n_decoded; returns how many plain steps earlier polls prove beyond those counted, and by when.

        Plain steps leave no line in the log: they are what n_decoded has beyond the tokens of the cycles. Of a
        request met in the middle, what it had beyond them at first was generated before.
        """
        self._polls.append((at, decoded))
        proven, by = 0, at
        while self._polls and self._polls[0][0] < at - POLL_SETTLE_S:
            polled_at, tokens = self._polls.popleft()
            ahead = self._cycle_tokens_at(polled_at)
            if ahead is None:
                continue
            beyond = tokens - ahead - self.tally.plain_steps
            if self._plain_base is None:
                self._plain_base = 0 if self.whole else beyond
            if beyond - self._plain_base > proven:
                proven, by = beyond - self._plain_base, polled_at
        return proven, by

    def _cycle_tokens_at(self, at: float) -> int | None:
        """Tokens of the cycles that had ended by ``at``; None when one ended too close to it to tell."""
        i = bisect_right(self._ends, at, key=lambda end: end[0])
        near_before = i > 0 and at - self._ends[i - 1][0] < POLL_MARGIN_S
        near_after = i < len(self._ends) and self._ends[i][0] - at < POLL_MARGIN_S
        if near_before or near_after:
            return None
        if i == 0:
            return 0 if len(self._ends) < (self._ends.maxlen or 0) else None
        return self._ends[i - 1][1]

    def settle_plain(self) -> int:
        """Plain steps that the final token count proves beyond those counted; at least the prompt's own.

        Less than none when polls had proven too many because the log came late, or when a trace's last cycles were
        read after the count, and took part of what it had proven. Accepted tokens behind a stop are
        never emitted, so that there may be as many more as the last cycle accepted; at the request's limit there
        are none, for drafts are cut to what is left. Where cycles may have gone
        unseen, tokens beyond the seen ones' prove nothing but the prompt's own.
        """
        if self.generated is None or self.generated < 1 or not self.whole:
            return 0
        if self._may_lack_cycles():
            return 0 if self.tally.plain_steps else 1
        least = max(1, self.generated - self.cycle_tokens)
        unsent = 0 if self.generated == self.asked.limit else self.last_accepted
        most = max(1, self.generated - self.cycle_tokens + unsent)
        seen = self.tally.plain_steps - self.settled
        return min(max(least, seen), most) - self.tally.plain_steps

    def _may_lack_cycles(self) -> bool:
        """Polling misses some; and a request may have drafted although no source showed a cycle."""
        drafted = self.logged is not None and bool(self.logged.drafted)
        return self.seen_by == "polled" or (self.seen_by is None and drafted)

    def tau(self) -> float | None:
        """Tokens per step: of all steps once they are counted, of the server's totals, or of the steps seen so far."""
        logged, steps = self.logged, self.tally.steps
        if not self.whole or not steps:
            return None
        if self.generated is not None and not self._may_lack_cycles():
            return self.generated / steps
        if logged is not None and logged.generated and logged.accepted is not None:
            return logged.generated / max(1, logged.generated - logged.accepted)  # each step gains one of its own
        only_the_prompts = self.seen_by is None and steps == 1 and (self.tokens() or 0) > 1
        return None if only_the_prompts else self.tally.tokens / steps

    def agrees(self) -> bool | None:
        """Whether the captured cycles equal the server's printed totals; None when that cannot be judged."""
        logged = self.logged
        if logged is None or not self.whole or self.seen_by not in ("log", "trace") or logged.drafted is None:
            return None
        return (logged.drafted, logged.accepted) == (self.tally.drafted, self.tally.accepted)

    def tokens(self) -> int | None:
        """Generated tokens: the server's own count, else what the cycles gained, else the last poll's."""
        if self.generated is not None:
            return self.generated
        if self.whole and self.seen_by in ("log", "trace", "stream"):
            return self.cycle_tokens + self.tally.plain_steps
        return self.decoded

    def speed(self) -> float | None:
        """Tokens per second of decoding: the first token comes with the prompt, so generated - 1 over the time."""
        if self.generated is None or self.generated < 2 or not self.generated_ms:  # noqa: PLR2004  needs a second token
            return None
        return (self.generated - 1) * 1000 / self.generated_ms

    def row(self) -> RequestRow:
        """The frozen view; made anew only when something changed, for there can be a thousand of them."""
        key = ROW_KEY(self)
        if self._row is None or self._row[0] != key:
            self._row = (key, self._make_row())
        return self._row[1]

    def _make_row(self) -> RequestRow:
        tally = self.tally
        seen = self.seen_by is not None
        agrees = self.agrees()
        return RequestRow(
            slot=self.slot,
            task=self.task,
            label=self.label,
            started_at=self.started_at,
            ended_at=self.ended_at,
            whole=self.whole,
            prompt_tokens=self.prompt_tokens,
            cached_tokens=self.cached_tokens,
            generated=self.tokens(),
            ttft_ms=next((t for t in (self.ttft_ms, self.prompt_ms, self.polled_ttft_ms) if t is not None), None),
            tok_s=self.speed(),
            cycles=tally.cycles if seen else None,
            drafted=tally.drafted if seen else None,
            accepted=tally.accepted if seen else None,
            tau=self.tau(),
            stop=self.stop,
            agrees=agrees if agrees or self.judged else None,
            seen_by=self.seen_by,
            asked=self.asked,
            room=self.room,
        )
