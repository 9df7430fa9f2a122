"""Cycles and requests of one server since it started, told by several sources and counted once.

The strongest source that has told a cycle of a request is believed for that whole request; what a weaker one
had told of it is taken back. Weaker sources still give what the stronger lacks (KV fill, plain steps).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from specscope.session.depth import DepthBook
from specscope.session.economics.cost_book import CostBook
from specscope.session.naming import NamingBook
from specscope.session.state import Cycle
from specscope.session.tally import StepCount, Tally
from specscope.session.window import Gain, Window

if TYPE_CHECKING:
    from specscope.session.request import Request
    from specscope.session.state import CycleSource

MAX_WIDTH: Final = 4096
"""More than any method drafts: n-gram tables go to 64 by default."""

CYCLES_KEPT: Final = 4096


@dataclass(eq=False)
class CycleBook(NamingBook):
    """The running account.

    Attributes:
        tally: all requests together, each by its strongest source.
        width_limit: the widest draft possible, where known; a polled step beyond it was two cycles.
        cycle_ms: the running cycle time of one slot, for judging whether two cycles hide in one polled step.
        depths: speed by KV depth. costs: time of a step by draft width.
        polled_cycles: cycles told by polling, whether or not a stronger source told them again.
    """

    width_limit: int | None = None
    tally: Tally = field(default_factory=Tally)
    window: Window = field(default_factory=Window)
    depths: DepthBook = field(default_factory=DepthBook)
    costs: CostBook = field(default_factory=CostBook)
    cycles: deque[Cycle] = field(default_factory=lambda: deque(maxlen=CYCLES_KEPT))
    slot_tallies: dict[int, StepCount] = field(default_factory=dict[int, StepCount])
    cycle_ms: float | None = None
    polled_cycles: int = 0
    _owners: deque[Request] = field(default_factory=lambda: deque(maxlen=CYCLES_KEPT))
    _next: int = 1

    def lacks_cycles(self) -> bool:
        """Whether the log's totals tell of drafts of a request of which no cycle was seen."""
        return any(r.logged is not None and r.logged.drafted and r.seen_by is None for r in self.requests.values())

    def finish(self, request: Request, at: float, stop: str = "finished") -> None:
        """End a request. A draft whose replay has not ended was drafted, but is no cycle."""
        super().finish(request, at, stop)
        if request.chain_width is not None and not request.chain_counted:
            request.chain_counted = True
            self.count(request, Tally(unverified=request.chain_width))

    def rename(self, named: Request, to: Request) -> None:
        """Move a name. Plain steps were counted by what was told under it: all but the prompt's own are told anew."""
        super().rename(named, to)
        beyond = max(0, named.tally.plain_steps - 1)
        self.count(named, Tally(plain_steps=-beyond, tokens=-beyond))
        named.forget_polls()
        owned = zip(self.cycles, self._owners, strict=True)
        self.cycles = deque((replace(c, task=-1) if o is named else c for c, o in owned), maxlen=CYCLES_KEPT)
        if to.sighted_at is not None:
            self.add_plain(to, to.sighted_at, 1, first=True)
        if to.logged is not None:
            self.settle(to, to.logged.at)
            self.finish(to, to.logged.at)

    def find_name(self, traced: Request) -> None:
        """A traced request without a name may be one that was told by name and has no begin."""
        named = next(iter(self.may_have_begun(traced.slot, traced.begun_at or traced.started_at)), None)
        if named is not None:
            self.join(named, traced)

    def join(self, named: Request, traced: Request) -> None:
        """A request that was told by name and one that was traced without are one: what was traced is kept."""
        self.take_back(named, traced.started_at)
        named.seen_by = None
        self.rename(named, traced)
        self.forget(named, traced)

    def count(self, request: Request, change: Tally) -> None:
        """Change everything that is counted of a request."""
        for tally in self._tallies(request):
            tally.merge(change)

    def _tallies(self, request: Request) -> tuple[Tally, StepCount, Tally]:
        """Where everything of a request is counted: in its own, its slot's and the whole tally."""
        of_slot = self.slot_tallies.get(request.slot)
        if of_slot is None:
            of_slot = self.slot_tallies[request.slot] = StepCount()
        return request.tally, of_slot, self.tally

    # --- cycles -----------------------------------------------------------------------------------------------

    def add_cycle(
        self,
        request: Request,
        at: float,
        drafted: int | None,
        accepted: int,
        seen_by: CycleSource,
        *,
        replayed: bool = False,
    ) -> None:
        """Count one cycle, told by ``seen_by``, unless a stronger source tells this request.

        A length no draft can have (the server keeps it in 16 bits) is garbage and tells nothing.
        """
        if not 0 <= accepted <= MAX_WIDTH or not (drafted is None or 0 <= drafted <= MAX_WIDTH):
            return
        if request.seen_by != seen_by:
            if request.outranks(seen_by):
                return
            if request.seen_by is not None or request.tally.merged:
                self.take_back(request, at)
            request.seen_by = seen_by
        gap_ms = request.note_cycle(at, accepted)
        if gap_ms is not None:
            mean = self.cycle_ms
            most = gap_ms if mean is None or gap_ms < 3 * mean else 3 * mean
            self.cycle_ms = most if mean is None else 0.9 * mean + 0.1 * most
        width, tokens = -1 if drafted is None else drafted, accepted + 1
        kind = (width, accepted)
        own, of_slot, whole = self._tallies(request)
        own.count(kind, tokens)
        whole.count(kind, tokens)
        of_slot.cycles += 1
        of_slot.tokens += tokens
        position = request.cycle_tokens + own.plain_steps if request.whole else request.decoded
        task = -1 if request.task is None else request.task
        self.cycles.append(
            Cycle(self._next, at, request.slot, task, drafted, accepted, gap_ms, seen_by, replayed, position)
        )
        self._owners.append(request)
        self._next += 1
        gain = Gain(at, request, tokens, 1, gap_ms, width, accepted)
        self.window.gains.append(gain)
        self.depths.add(gain)
        if not replayed:
            self.costs.cycle(gain, self.current)

    def _timed(self, gain: Gain) -> None:
        """Take steps into the rolling figures and into those by depth."""
        self.window.gains.append(gain)
        self.depths.add(gain)

    def add_unverified(self, drafted: int) -> None:
        """Drafted tokens whose cycle never ended, whatever request they were for."""
        self.tally.unverified += drafted

    def take_back(self, request: Request, at: float) -> None:
        """Undo what a weaker source told of a request, before a stronger one tells its first cycle, at ``at``."""
        undone = request.tally
        _, of_slot, whole = self._tallies(request)
        whole.merge(undone, -1)
        of_slot.merge(undone, -1)
        request.start_over(at)
        told = [(c, owner) for c, owner in zip(self.cycles, self._owners, strict=True) if owner is not request]
        self.cycles = deque((c for c, _ in told), maxlen=CYCLES_KEPT)
        self._owners = deque((owner for _, owner in told), maxlen=CYCLES_KEPT)
        self.window.drop(request)
        self.depths.take_back(request)

    def add_plain(self, request: Request, at: float, steps: int, *, first: bool = False, timed: bool = False) -> None:
        """Count forwards without a draft.

        Args:
            request: whose.
            at: when they had happened.
            steps: how many.
            first: up to the first token seen; the prompt's forward gave it, so that no decoding time is known.
            timed: they are the request's latest steps, so that they move its clock.
        """
        if steps <= 0:
            return
        for tally in self._tallies(request):
            tally.add_plain(steps)
        gap_ms = None
        if timed:
            gap_ms = None if request.last_step_at is None else max(0.0, (at - request.last_step_at) * 1000)
            request.last_step_at = at
        gain = Gain(at, request, steps, steps, gap_ms, None, None)
        self.costs.plain(gain, self.current, first=first)
        if not first:
            self._timed(gain)
        elif not request.cycle_tokens:
            request.first_token_at = request.last_step_at = at

    def add_last(self, request: Request, steps: int) -> None:
        """Count plain steps up to a request's end that was seen some time after it.

        How long they took is not known, unless the log tells of the end as well.
        """
        request.untimed += steps
        for tally in self._tallies(request):
            tally.add_plain(steps)

    def add_merged(self, request: Request, at: float, tokens: int) -> None:
        """A polled step that may hold several cycles: its tokens took their time, but tell of no cycle."""
        request.tally.merged += 1
        self.tally.merged += 1
        if request.last_step_at is not None:
            gap_ms = max(0.0, (at - request.last_step_at) * 1000)
            self.window.gains.append(Gain(at, request, tokens, 0, gap_ms, None, None))
        request.last_step_at = at

    def settle(self, request: Request, at: float) -> None:
        """Put the plain steps right by the final token count, when a request has ended at ``at``.

        The prompt's own, if polling saw none, takes no decoding time. Where no step was seen, the server's own time
        for all of them is theirs.
        """
        steps = request.settle_plain()
        request.settled += steps
        own = 1 if steps > 0 and not request.tally.plain_steps else min(0, steps)
        for tally in self._tallies(request):
            tally.add_plain(own)
        self.costs.plain_steps += min(0, own)
        if request.last_step_at is None and request.generated_ms is not None:
            request.last_step_at = at - request.generated_ms / 1000
        if not request.untimed:
            self.add_plain(request, at, steps - own, timed=True)
            return
        tokens, request.untimed = request.untimed + max(0, steps - own), 0
        for tally in self._tallies(request):
            tally.add_plain(steps - own)
        if request.last_step_at is not None and request.generated_ms is not None:
            gap_ms = min(max(0.0, (at - request.last_step_at) * 1000), request.generated_ms)
            self._timed(Gain(at, request, tokens, tokens, gap_ms, None, None))
