"""From successive /slots readings to facts: what changed, and nothing that did not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from specscope.events import ServerStarted, SlotChanged, SlotStepped
from specscope.events.server import ANSWER_MS
from specscope.sources.slots_json import read_params

if TYPE_CHECKING:
    from specscope.events import Event, Json
    from specscope.sources.slots_json import SlotRow


@dataclass(eq=False)
class _Seen:
    """A slot at the last poll, and when its n_decoded was last seen as it is."""

    row: SlotRow
    polled_at: float
    params: dict[str, Json] | None = None


@dataclass(eq=False)
class SlotWatch:
    """Compares each reading with the one before.

    Attributes:
        moved: the last reading saw a running request step; largest_gain: by how many tokens at most.
        releases: requests seen to end; passed: one came and went since the reading before, as its task shows.
        life: counts the server processes that the readings came from, as far as they tell.
    """

    target: str = "t0"
    life: int = 1
    slots: dict[int, _Seen] = field(default_factory=dict[int, _Seen])
    moved: bool = False
    largest_gain: int = 0
    releases: int = 0
    passed: bool = False
    _told_life: int = 0
    _answer_ms: float | None = None

    @property
    def busy(self) -> bool:
        """A slot processes a request."""
        return any(s.row.busy for s in self.slots.values())

    @property
    def decoding(self) -> bool:
        """A busy slot has generated a token."""
        return any(s.row.busy and s.row.decoded for s in self.slots.values())

    @property
    def speculative(self) -> bool:
        """A busy slot may speculate (unknown in old builds counts as may)."""
        return any(s.row.busy and s.row.speculative is not False for s in self.slots.values())

    def take(
        self, rows: list[SlotRow], body: bytes, at: float, *, answer_s: float = 0.0, reconnected: bool = False
    ) -> list[Event]:
        """The facts that a reading adds. ``moved`` then says whether a running request stepped.

        Args:
            rows: the slots.
            body: the same as sent.
            at: when the answer came.
            answer_s: how long it took.
            reconnected: the server had closed the connection since the last reading.
        """
        self.moved, self.largest_gain, self.passed = False, 0, False
        self._answer_ms = round(1000 * answer_s, 1) if 1000 * answer_s > ANSWER_MS else None
        facts: list[Event] = []
        if self._restarted(rows, reconnected=reconnected):
            self.life += 1
            self.slots.clear()
        if self._told_life != self.life:
            self._told_life = self.life
            facts.append(ServerStarted(at=at, target=self.target, token=str(self.life), by="slots"))
        facts += self._vanished({row.id for row in rows}, at)
        for row in rows:
            fact = self._compare(row, body, at)
            if fact is not None:
                facts.append(fact)
        return facts

    def _restarted(self, rows: list[SlotRow], *, reconnected: bool) -> bool:
        """Whether another process answers: a used slot is unused again, or a new connection shows older tasks only.

        A server that is back before the next poll would otherwise pass for the one before it.
        """
        before = {i: s.row for i, s in self.slots.items()}
        if any(not row.was_used and row.id in before and before[row.id].was_used for row in rows):
            return True
        newest = max((row.task for row in before.values() if row.task is not None), default=-1)
        return reconnected and max((row.task for row in rows if row.task is not None), default=-1) < newest

    def _vanished(self, present: set[int], at: float) -> list[Event]:
        """Slots that are no longer there, and with them their requests."""
        facts: list[Event] = []
        for slot in [i for i in self.slots if i not in present]:
            row = self.slots.pop(slot).row
            if row.busy:
                self.releases += 1
                facts.append(SlotChanged(at=at, target=self.target, slot=slot, busy=False, task=row.task))
        return facts

    def _compare(self, row: SlotRow, body: bytes, at: float) -> Event | None:
        seen = self.slots.get(row.id)
        if seen is None:
            seen = self.slots[row.id] = _Seen(row, at)
            return self._changed(seen, row, body, at)
        before, held_from = seen.row, seen.polled_at
        seen.row, seen.polled_at = row, at
        if (row.busy, row.task, row.n_ctx, row.speculative) != (
            before.busy,
            before.task,
            before.n_ctx,
            before.speculative,
        ):
            self.moved = self.moved or bool(row.busy and row.decoded)
            self.releases += bool(before.busy and (not row.busy or row.task != before.task))
            self.passed = self.passed or bool(not before.busy and not row.busy and row.task != before.task)
            return self._changed(seen, row, body, at, held_from)
        if row.busy and row.decoded and row.decoded != before.decoded and row.task is not None:
            self.moved = True
            self.largest_gain = max(self.largest_gain, row.decoded - (before.decoded or 0))
            return SlotStepped(
                at=at,
                target=self.target,
                slot=row.id,
                task=row.task,
                decoded=row.decoded,
                fill_tokens=row.n_prompt_tokens,
                held_ms=round((at - held_from) * 1000, 1),
                answer_ms=self._answer_ms,
            )
        if row.busy and not row.decoded and row.n_prompt_tokens_processed != before.n_prompt_tokens_processed:
            return self._changed(seen, row, body, at)
        return None

    def _changed(
        self, seen: _Seen, row: SlotRow, body: bytes, at: float, held_from: float | None = None
    ) -> SlotChanged:
        params = read_params(body, row.id)
        new_params = params if params != seen.params else None
        seen.params = params if params is not None else seen.params
        return SlotChanged(
            at=at,
            target=self.target,
            slot=row.id,
            n_ctx=row.n_ctx,
            speculative=row.speculative,
            busy=row.busy,
            task=row.task,
            fill_tokens=row.n_prompt_tokens,
            processed_tokens=row.n_prompt_tokens_processed,
            cached_tokens=row.n_prompt_tokens_cache,
            decoded=row.decoded,
            held_ms=None if held_from is None else round((at - held_from) * 1000, 1),
            answer_ms=self._answer_ms,
            params=new_params,
        )
