"""A made-up server whose every step is known, and what each source would report of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import builders as b
from hypothesis import strategies as st

from specscope.events.server import ANSWER_MS
from specscope.session.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope import events as ev
    from specscope.session.request_state import RequestRow
    from specscope.session.state import Target

STEP_S = 0.02
"""Time of a step."""

BEGIN_S = 0.0005
"""From a prompt's end to its first token; also from the last token to the end."""

PLAIN = None
"""A step without a draft."""

Step = tuple[int, int] | None


@dataclass(frozen=True)
class Work:
    """One request: its steps after the first token, each a cycle ``(width, accepted)`` or plain."""

    slot: int
    task: int
    begins: float
    steps: tuple[Step, ...]
    prompt: int = 100
    prompt_s: float = 0.1

    @property
    def cycles(self) -> list[tuple[int, int]]:
        return [s for s in self.steps if s is not None]

    @property
    def generated(self) -> int:
        return 1 + sum(1 if s is None else s[1] + 1 for s in self.steps)

    @property
    def drafted(self) -> int:
        return sum(w for w, _ in self.cycles)

    @property
    def accepted(self) -> int:
        return sum(a for _, a in self.cycles)

    @property
    def first_token(self) -> float:
        return self.begins + self.prompt_s

    @property
    def ends(self) -> float:
        return self.first_token + STEP_S * len(self.steps)

    def log(self) -> list[ev.Event]:
        """Its lines in a log with LLAMA_TRACE=1."""
        lines: list[ev.Event] = [b.launched(self.begins, slot=self.slot, task=self.task)]
        for at, step in self._timed():
            if step is not None:
                lines.append(b.cycle(at, *step, slot=self.slot, task=self.task))
        drafts = {"drafted": self.drafted, "accepted": self.accepted} if self.cycles else {}
        who = {"slot": self.slot, "task": self.task}
        totals = b.logged(
            self.ends,
            prompt_tokens=self.prompt,
            prompt_ms=1000 * self.prompt_s,
            generated=self.generated,
            **drafts,
            **who,
        )
        return [*lines, totals, b.released(self.ends, **who)]

    def polls(self) -> list[ev.Event]:
        """What polling sees: every step 2 ms after it, the end 5 ms after it."""
        who = {"slot": self.slot, "task": self.task, "speculative": True}
        facts: list[ev.Event] = [b.busy(self.begins + 0.002, fill_tokens=self.prompt, **who)]
        decoded = 1
        facts.append(self._poll(self.first_token, decoded))
        for at, step in self._timed():
            decoded += 1 if step is None else step[1] + 1
            facts.append(self._poll(at, decoded))
        return [*facts, b.idle(self.ends + 0.005, fill_tokens=self.prompt + decoded, **who)]

    def trace(self) -> list[ev.Event]:
        """What the probes see: the prompt's end, then each cycle."""
        cycles = [b.traced(at, *step, slot=self.slot) for at, step in self._timed() if step is not None]
        return [b.began(self.first_token - BEGIN_S, slot=self.slot), *cycles]

    def stream(self, *, names_slot: bool = True) -> list[ev.Event]:
        """What the client of the request sees, 1 ms later."""
        slot = self.slot if names_slot else None
        who = {"request": f"r{self.task}", "slot": slot}
        facts: list[ev.Event] = [b.chunk(self.first_token + 0.001, 1, **who)]
        generated, drafted, accepted = 1, 0, 0
        for at, step in self._timed():
            generated += 1 if step is None else step[1] + 1
            drafted, accepted = (drafted, accepted) if step is None else (drafted + step[0], accepted + step[1])
            facts.append(b.chunk(at + 0.001, generated, drafted or None, accepted if drafted else None, **who))
        totals = {"generated": generated, "drafted": drafted or None, "accepted": accepted if drafted else None}
        return [*facts, b.streamed(self.ends + 0.001, stop="limit", **totals, **(who | {"slot": self.slot}))]

    @property
    def step_ends(self) -> list[float]:
        return [self.first_token + STEP_S * (i + 1) for i in range(len(self.steps))]

    def _timed(self) -> list[tuple[float, Step]]:
        return list(zip(self.step_ends, self.steps, strict=True))

    def _poll(self, at: float, decoded: int) -> ev.Event:
        fill = self.prompt + decoded
        return b.step(at + 0.002, decoded, slot=self.slot, task=self.task, fill_tokens=fill, held_ms=4.0)


@dataclass(frozen=True)
class Load:
    """All requests of a server, in the order of their tasks."""

    work: tuple[Work, ...]

    def truth(self) -> Tally:
        made = Tally()
        for request in self.work:
            for step in request.steps:
                if step is not None:
                    made.add_cycle(*step)
            made.add_plain(1 + sum(s is None for s in request.steps))
        return made

    def counters(self, at: float, *, idle: bool = True, last: bool = True) -> ev.Event:
        """A read of the counters, at the end or (``last`` false) before anything."""
        work = self.work if last else ()
        return b.counters(
            at,
            sum(len(w.cycles) for w in work),
            sum(w.drafted for w in work),
            sum(w.accepted for w in work),
            idle=idle,
            generated=sum(w.generated for w in work),
        )

    @property
    def ends(self) -> float:
        return max(w.ends for w in self.work)


class Look(NamedTuple):
    """A poll of /slots: when its answer came, how long it took, and how old what it shows is by then."""

    at: float
    answer_s: float = 0.001
    age_s: float = 0.001


def looks(load: Load, polls: Sequence[Look]) -> list[ev.Event]:
    """What polling tells of slot 0."""
    facts: list[ev.Event] = []
    before: tuple[bool, int | None, int] = (False, None, 0)
    for look in polls:
        now, fill = _slot_at(load, look.at - look.age_s)
        busy, task, decoded = now
        seen = {"fill_tokens": fill, "answer_ms": 1000 * look.answer_s if look.answer_s > ANSWER_MS / 1000 else None}
        if now != before and busy and before[1] == task and decoded:
            facts.append(b.step(look.at, decoded, task=task or 0, **seen))
        elif busy and now != before:
            facts.append(b.busy(look.at, task=task or 0, decoded=decoded, speculative=True, **seen))
        elif now != before or not facts:
            facts.append(b.idle(look.at, task=task, speculative=True, **seen))
        before = now
    return facts


def _slot_at(load: Load, at: float) -> tuple[tuple[bool, int | None, int], int | None]:
    """Busy, task, decoded; and the fill."""
    work = next((w for w in reversed(load.work) if w.begins <= at), None)
    if work is None:
        return (False, None, 0), None
    done = [step for step, ends in zip(work.steps, work.step_ends, strict=True) if ends <= at]
    decoded = 1 + sum(1 if s is None else s[1] + 1 for s in done) if at >= work.first_token - BEGIN_S else 0  # one turn
    busy = at < work.ends + BEGIN_S
    return (busy, work.task, decoded if busy else 0), work.prompt + decoded


def joint_of(target: Target) -> Counter[tuple[int, int]]:
    return Counter({(w, a): n for w, a, n in target.totals.joint})


def figures(row: RequestRow) -> tuple[object, ...]:
    """What a request came to, whatever the slot and the order in which it was told."""
    counts = (row.cycles, row.drafted, row.accepted, row.generated, row.tau)
    return (*counts, row.prompt_tokens, row.seen_by, row.agrees, row.whole, row.ended_at is not None)


# --- strategies -----------------------------------------------------------------------------------------------------

CYCLE = st.integers(1, 15).flatmap(lambda w: st.tuples(st.just(w), st.integers(0, w)))
ONLY_CYCLES = st.lists(CYCLE, max_size=12).map(tuple)
MIXED = st.lists(st.one_of(CYCLE, st.just(PLAIN)), max_size=12).map(tuple)


@st.composite
def loads(draw: st.DrawFn, steps: st.SearchStrategy[tuple[Step, ...]] = ONLY_CYCLES, slots: int = 2) -> Load:
    """One to five requests, one after another on each slot; task ids grow with the time of their begin."""
    free = [draw(st.floats(0.5, 1.5)) for _ in range(slots)]
    work: list[Work] = []
    for number in range(draw(st.integers(1, 5))):
        slot = draw(st.integers(0, slots - 1))
        begins = max(free[slot] + 0.05, work[-1].begins + 0.001 if work else 0.0)
        made = Work(slot, 10 + number, begins, draw(steps), prompt=100 + number)
        work.append(made)
        free[slot] = made.ends
    return Load(tuple(work))


@st.composite
def crowds(draw: st.DrawFn) -> Load:
    """One to seven requests of a few cycles on one slot, each begun soon after the one before has ended."""
    free, work = 1.0, list[Work]()
    for number in range(draw(st.integers(1, 7))):
        begins = free + draw(st.floats(0.006, 0.3))
        steps = draw(st.lists(CYCLE, max_size=4).map(tuple))
        made = Work(0, 10 + number, begins, steps, prompt=100 + number, prompt_s=draw(st.floats(0.002, 0.1)))
        work.append(made)
        free = made.ends + BEGIN_S
    return Load(tuple(work))


def arriving(*late: tuple[float, list[ev.Event]]) -> list[ev.Event]:
    """The facts of several sources in the order in which they arrive, each source late by so many seconds."""
    timed = [(fact.at + lag, fact) for lag, facts in late for fact in facts]
    return [fact for _, fact in sorted(timed, key=lambda pair: pair[0])]


@st.composite
def interleaved(draw: st.DrawFn, *sources: list[ev.Event]) -> list[ev.Event]:
    """The facts of several sources in any order that keeps each source's own."""
    order = draw(st.permutations([i for i, facts in enumerate(sources) for _ in facts]))
    rest = [iter(facts) for facts in sources]
    return [next(rest[i]) for i in order]
