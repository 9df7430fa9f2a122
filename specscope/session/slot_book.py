"""Slots as /slots shows them, and the steps that polling sees in them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from specscope.events.server import ANSWER_MS
from specscope.session.asked import asked_of
from specscope.session.request_state import Slot

if TYPE_CHECKING:
    from specscope.events import Json, RequestLogged, SlotChanged, SlotStepped
    from specscope.session.cycle_book import CycleBook
    from specscope.session.gpu_state import Phase
    from specscope.session.request import Request


MERGE_SHARE: Final = 1.05
"""Of the cycle time: a step not looked for in longer than this may hold two cycles and is not taken for one. (Builds
that answer /slots at a cycle's end would allow more; newer ones answer at any time.)"""

LAST_SHARE: Final = 1.5
"""Of the cycle time: a request's end this soon after its last seen step leaves room for one cycle, not for two."""

RESOLVED_SHARE: Final = 0.2
"""Least share of recent steps that were looked for in vain. In phase with the cycles about half are; where cycles end
faster than /slots can be polled next to none is, and each step then holds several cycles."""

MANY_STEPS: Final = 8

FIRST_SHARE: Final = 0.6
"""Of its own time: before the cycle time is known, a step unmoved for longer than the rest of it is one cycle."""


@dataclass(eq=False)
class SlotTrack:
    """The last known state of one slot."""

    id: int
    busy: bool | None = None
    task: int | None = None
    n_ctx: int | None = None
    fill_tokens: int | None = None
    fill_max_tokens: int | None = None
    decoded: int | None = None
    prefill_tokens: int | None = None
    speculative: bool | None = None
    params: dict[str, Json] | None = None


@dataclass(eq=False)
class SlotBook:
    """All slots of one server, feeding what polling sees into its cycle book.

    Attributes:
        cycles_elsewhere: a per-cycle source (log, trace) is attached, so that polling tells no cycles.
        last_params: of the latest request of all slots; last_task: its task, which the server numbers in order.
        most_together: the most resident tokens of all slots at one time.
        seen_before: /slots was read at least once, so that a slot that turns busy has just begun.
    """

    book: CycleBook
    slots: dict[int, SlotTrack] = field(default_factory=dict[int, SlotTrack])
    cycles_elsewhere: bool = False
    last_params: dict[str, Json] | None = None
    last_task: int | None = None
    most_together: int | None = None
    _resolved: deque[bool] = field(default_factory=lambda: deque(maxlen=32))

    def changed(self, e: SlotChanged) -> None:
        """A slot began, ended or changed its request.

        A request first seen at work on the very first read of /slots began before the watch (one seen before all
        counts began anew, before them); any later one began within it, even when the poll came after its first
        tokens.
        """
        track = self.slots.get(e.slot)
        at_work = track is None or (track.task == e.task and bool(track.decoded))
        met_at_work = bool(e.decoded) and at_work
        if track is None:
            track = self.slots[e.slot] = SlotTrack(e.slot)
        self._take(track, e)
        if e.busy and e.task is not None:
            self._running(track, e, whole=not met_at_work)
        elif e.busy is False:
            request = self.book.running(e.slot, e.task)
            by_name = request is not None and request.task is not None and request.task == e.task
            if request is not None and request.started_at <= e.at - (0.0 if by_name else _age_s(e)):
                self._last_step(request, e)
                self.book.finish(request, e.at)

    def _take(self, track: SlotTrack, e: SlotChanged) -> None:
        track.busy = e.busy if e.busy is not None else track.busy
        track.task = e.task if e.task is not None else track.task
        track.n_ctx = e.n_ctx if e.n_ctx is not None else track.n_ctx
        track.speculative = e.speculative if e.speculative is not None else track.speculative
        track.decoded = e.decoded
        track.prefill_tokens = e.processed_tokens if e.processed_tokens is not None else track.prefill_tokens
        self._fill(track, e.fill_tokens)
        track.params = e.params if e.params is not None else track.params
        told = e.params if e.task is None else track.params  # a slot tells the same parameters once
        if told is not None and (e.task or 0) >= (self.last_task or 0):
            self.last_params, self.last_task = told, e.task if e.task is not None else self.last_task

    def _fill(self, track: SlotTrack, fill: int | None) -> None:
        if fill is None:
            return
        grown = track.fill_tokens is None or fill > track.fill_tokens
        track.fill_tokens = fill
        if track.fill_max_tokens is None or fill > track.fill_max_tokens:
            track.fill_max_tokens = fill
        if grown:  # else all together are no more than they were
            together = fill if len(self.slots) == 1 else self.fill_tokens() or 0
            if self.most_together is None or together > self.most_together:
                self.most_together = together

    def _running(self, track: SlotTrack, e: SlotChanged, *, whole: bool) -> None:
        """A busy slot: its request goes on, or begins."""
        if e.decoded == 0:
            request = self.book.open(track.id, e.task, e.at, whole=whole, begun="after", late_s=_age_s(e))
            request.unbegun_at = e.at - _age_s(e)
        else:
            request = self.book.open(track.id, e.task, e.at, whole=whole, late_s=0.0)
        request.prompt_tokens = e.processed_tokens if e.processed_tokens is not None else request.prompt_tokens
        request.cached_tokens = e.cached_tokens if e.cached_tokens is not None else request.cached_tokens
        if track.params is not None:
            request.asked = asked_of(track.params)
        if e.decoded:
            self._advance(track, request, e, e.decoded)

    def stepped(self, e: SlotStepped) -> None:
        """A poll saw n_decoded move."""
        track = self.slots.get(e.slot)
        if track is None:
            track = self.slots[e.slot] = SlotTrack(e.slot, busy=True, task=e.task)
        self._fill(track, e.fill_tokens)
        track.decoded = e.decoded
        request = self.book.open(e.slot, e.task, e.at, whole=False, late_s=0.0)
        self._advance(track, request, e, e.decoded)

    def _advance(self, track: SlotTrack, request: Request, e: SlotChanged | SlotStepped, decoded: int) -> None:
        """Turn a move of n_decoded into a cycle, plain steps, or only tokens, as far as it tells."""
        at, before = e.at, request.decoded
        if before is not None and decoded < before:
            return
        if e.fill_tokens is not None and e.decoded:
            base = e.fill_tokens - decoded
            if request.fill_base is None or base < request.fill_base:
                request.room = request.room.lost((request.fill_base or base) - base, track.n_ctx)
                request.fill_base = base
        request.decoded = decoded
        if before is None:
            self._first_seen(track, request, e, decoded)
            return
        gain = decoded - before
        if track.speculative is False:
            self.book.add_plain(request, at, gain, timed=True)
        elif self.cycles_elsewhere or (request.seen_by != "polled" and request.outranks("polled")):
            proven, by = request.note_poll(at, decoded)
            self.book.add_plain(request, by, proven, timed=not request.cycle_tokens)
        elif gain > 0:
            self._polled_cycle(request, e, gain)

    def _first_seen(self, track: SlotTrack, request: Request, e: SlotChanged | SlotStepped, decoded: int) -> None:
        """The first token comes with the prompt's forward; what came with it may be one cycle, of unknown time."""
        at = e.at
        request.sighted_at, request.sighted_from = at, at - (e.answer_ms or 0.0) / 1000
        if not request.whole:
            return
        request.polled_ttft_ms = (at - request.started_at) * 1000
        if not request.tally.plain_steps:
            self.book.add_plain(request, at, decoded if track.speculative is False else 1, first=True)
        if track.speculative is False:
            return
        if decoded > 1 and not self.cycles_elsewhere and not request.outranks("polled"):
            request.last_step_at = None
            self._polled_cycle(request, e, decoded - 1)

    def _one_cycle(self, request: Request, e: SlotChanged | SlotStepped) -> bool:
        """Whether no second cycle can hide in this step.

        A step that was looked for in vain late in its own time is one, if that look was no longer ago than a
        cycle takes. One that had come by the first look may be several; it counts only where looks in vain are
        common, so that polls are known to come closer together than cycles end.
        """
        held_ms = e.held_ms if e.held_ms is not None else 0.0
        since = request.sighted_at if request.last_step_at is None else request.last_step_at
        gap_ms = None if since is None else (e.at - since) * 1000
        resolved = gap_ms is not None and held_ms < FIRST_SHARE * gap_ms
        self._resolved.append(resolved)
        cycle_ms = self.book.cycle_ms
        if cycle_ms is None:
            return resolved
        return held_ms < MERGE_SHARE * cycle_ms and (resolved or self._polls_are_close())

    def _polls_are_close(self) -> bool:
        recent = self._resolved
        return len(recent) < MANY_STEPS or sum(recent) > RESOLVED_SHARE * len(recent)

    def _polled_cycle(self, request: Request, e: SlotChanged | SlotStepped, gain: int) -> None:
        """One step of n_decoded is one cycle, unless it is too large for one or may hold two."""
        limit = self.book.width_limit
        if (limit is not None and gain > limit + 1) or not self._one_cycle(request, e):
            self.book.add_merged(request, e.at, gain)
            return
        self.book.polled_cycles += 1
        self.book.add_cycle(request, e.at, None, gain - 1, "polled")

    def _last_step(self, request: Request, e: SlotChanged) -> None:
        """The last cycle, which no poll of the running request saw: the fill that stayed behind tells it.

        n_decoded falls to 0 at release, n_prompt_tokens stays: it is the prompt's share plus what was generated.
        """
        if e.fill_tokens is None or request.fill_base is None or request.decoded is None:
            return
        final = e.fill_tokens - request.fill_base
        if request.seen_by in (None, "polled") and final > request.decoded:
            track = self.slots[request.slot]
            if track.speculative is False:
                self.book.add_last(request, final - request.decoded)
                request.decoded = final
            else:
                self._advance(track, request, e, final)
        if request.generated is None and request.whole and request.seen_by in (None, "polled"):
            request.generated = max(final, request.decoded)

    def ended_by_log(self, e: RequestLogged) -> None:
        """The last cycle of a polled request whose slot was at work again before the next poll.

        The log's token count tells it, if the request ended at its limit: behind a stop the server drops tokens
        that were accepted. It is one cycle if it was small and quick enough for one.
        """
        request = self.book.open(e.slot, e.task, e.at, whole=False)
        if request.logged is not None or request.seen_by != "polled" or not request.whole or request.decoded is None:
            return
        gain = (e.generated or 0) - request.decoded
        limit, cycle_ms, since = self.book.width_limit, self.book.cycle_ms, request.last_step_at
        if limit is None or cycle_ms is None or since is None or e.generated != request.asked.limit:
            return
        if 0 < gain <= limit + 1 and (e.at - since) * 1000 < LAST_SHARE * cycle_ms:
            request.decoded = e.generated
            self.book.polled_cycles += 1
            self.book.add_cycle(request, e.at, None, gain - 1, "polled")

    def fill_tokens(self) -> int | None:
        """Resident tokens of all slots together; None before any slot told of them."""
        fills = [track.fill_tokens for track in self.slots.values() if track.fill_tokens is not None]
        return sum(fills) if fills else None

    def phase(self) -> Phase | None:
        """What the server does; None before /slots was read."""
        busy = [track for track in self.slots.values() if track.busy]
        if any(track.decoded for track in busy):
            return "decode"
        if busy:
            return "prefill"
        return "idle" if any(track.busy is False for track in self.slots.values()) else None

    def views(self) -> tuple[Slot, ...]:
        """The slots by id, with the figures of their cycles."""
        out: list[Slot] = []
        unseen = self.book.lacks_cycles()
        for track in sorted(self.slots.values(), key=lambda t: t.id):
            tally = self.book.slot_tallies.get(track.id)
            cycles = tally.cycles if tally else 0
            steps = tally.steps if tally else 0
            out.append(
                Slot(
                    id=track.id,
                    busy=track.busy,
                    task=track.task,
                    n_ctx=track.n_ctx,
                    fill_tokens=track.fill_tokens,
                    fill_max_tokens=track.fill_max_tokens,
                    decoded=track.decoded,
                    prefill_tokens=track.prefill_tokens,
                    speculative=track.speculative,
                    params=track.params,
                    tally_cycles=cycles,
                    tally_steps=steps,
                    tau=tally.tokens / steps if tally and steps and (cycles or not unseen) else None,
                )
            )
        return tuple(out)


def _age_s(e: SlotChanged | SlotStepped) -> float:
    """How old what a poll shows may be."""
    return (ANSWER_MS if e.answer_ms is None else e.answer_ms) / 1000
