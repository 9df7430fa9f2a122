"""The lines of a log that are about one request: launch, progress, the print_timing block, release. Pure.

The block is several lines, and its end is not marked. Up to mid-2025 it was one message of several lines, of which
only the first names slot and task, printed after the release; since then every line names them and the release
follows. It is therefore closed by the release, by the next launch of its slot, or, when the release came first, by
the next line about slots.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specscope.events import RequestLaunched, RequestLogged, RequestProgressed, SlotReleased

if TYPE_CHECKING:
    from specscope.events import Event

_FLOAT = r"\d{1,12}(?:\.\d{1,9})?"
_SLOT = re.compile(r"id +(\d{1,4}) \| task (-?\d{1,10}) \|")
_SLOT_KEYS = re.compile(r"id_slot=(\d{1,4}) id_task=(-?\d{1,10})\b")  # ik_llama
_EVAL = re.compile(rf"eval time *= *({_FLOAT}) ms / *(\d{{1,10}}) (?:tokens|runs)")
_ACCEPTANCE = re.compile(
    rf"draft acceptance(?: rate)? *= *{_FLOAT} *\( *(\d{{1,10}}) accepted */ *(\d{{1,10}}) generated\)"
    rf"(?:, *mean (?:len|acceptance length) *= *({_FLOAT}))?"
)
_PROGRESS = re.compile(rf"\bn_(?:gen|decoded) *= *(\d{{1,10}}), tg *= *({_FLOAT}) t/s")
_FILL = re.compile(r"\b(?:n_tokens|n_past) ?= ?(\d{1,10})\b")
_REUSED = re.compile(r"graphs reused *= *(\d{1,10})")
_SIMILARITY = re.compile(r"similarity\b(?:, f?_?sim_best)? *= *([01]\.\d{1,6})")
_TRUNCATED = re.compile(r"\btruncated ?= ?(0|1|false|true)\b")


def is_about_a_request(text: str) -> bool:
    """Whether a line may be one of those read here."""
    return (
        _is_of_a_block(text)
        or "processing task" in text
        or "selected slot" in text
        or "stop processing" in text
        or "slot released" in text
        or "tg =" in text
    )


def _is_of_a_block(text: str) -> bool:
    return "print_timing" in text or "draft acceptance" in text or ("eval time" in text and "llama_p" not in text)


@dataclass(slots=True)
class _Block:
    """The figures of one request as its lines come in. ``late``: its slot had been released before."""

    at: float
    slot: int
    task: int
    late: bool
    prompt_tokens: int | None = None
    prompt_ms: float | None = None
    generated: int | None = None
    generated_ms: float | None = None
    drafted: int | None = None
    accepted: int | None = None
    mean_len: float | None = None
    graphs_reused: int | None = None

    def fact(self, target: str) -> RequestLogged:
        """The block as a fact, at the time of its last line."""
        return RequestLogged(
            at=self.at,
            target=target,
            slot=self.slot,
            task=self.task,
            prompt_tokens=self.prompt_tokens,
            prompt_ms=self.prompt_ms,
            generated=self.generated,
            generated_ms=self.generated_ms,
            drafted=self.drafted,
            accepted=self.accepted,
            mean_len=self.mean_len,
            graphs_reused=self.graphs_reused,
        )


class RequestLines:
    """Follows the requests of one server process through its log."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._tasks: dict[int, int] = {}
        self._released: dict[int, int] = {}
        self._similar: dict[int, float] = {}  # slots that were chosen for what they hold, until they begin
        self._blocks: dict[int, _Block] = {}
        self._current: _Block | None = None
        self.has_late = False
        """Whether a block waits to be closed by any other line about slots."""

    def read(self, text: str, at: float) -> list[Event]:
        """The facts of a line about a request. A slot's task -1 (already let go) is the one it ran last."""
        found = _SLOT.search(text) or _SLOT_KEYS.search(text)
        if "tg =" in text:
            return self._progressed(text, at, found)
        if _is_of_a_block(text):
            return self._block_line(text, at, found)
        if not found:
            return []
        if "selected slot" in text:
            return self._selected(text, int(found[1]))
        slot, task = self._ids(found)
        closed = self.close(slot)
        if "processing task" in text:
            self._tasks[slot] = task
            self._released.pop(slot, None)
            similarity = self._similar.pop(slot, None)
            launched = RequestLaunched(at=at, target=self._target, slot=slot, task=task, similarity=similarity)
            return [*closed, launched]
        self._released[slot] = task
        fill, truncated = _FILL.search(text), _TRUNCATED.search(text)
        released = SlotReleased(
            at=at,
            target=self._target,
            slot=slot,
            task=task,
            fill_tokens=int(fill[1]) if fill else None,
            truncated=truncated[1] in {"1", "true"} if truncated else None,
        )
        return [*closed, released]

    def close(self, slot: int) -> list[Event]:
        """The slot's block as it is now, if one is open."""
        block = self._blocks.pop(slot, None)
        if block is None:
            return []
        if self._current is block:
            self._current = None
        self.has_late = any(other.late for other in self._blocks.values())
        return [block.fact(self._target)]

    def close_late(self) -> list[Event]:
        """The blocks that were printed after their slot's release."""
        late = [slot for slot, block in self._blocks.items() if block.late]
        return [event for slot in late for event in self.close(slot)]

    def close_all(self) -> list[Event]:
        """All open blocks."""
        return [event for slot in tuple(self._blocks) for event in self.close(slot)]

    def _ids(self, found: re.Match[str]) -> tuple[int, int]:
        slot, task = int(found[1]), int(found[2])
        return slot, self._tasks.get(slot, task) if task == -1 else task

    def _selected(self, text: str, slot: int) -> list[Event]:
        """Why the next request gets this slot; told with its launch."""
        similar = _SIMILARITY.search(text)
        self._similar.pop(slot, None)
        if similar:
            self._similar[slot] = float(similar[1])
        return []

    def _progressed(self, text: str, at: float, found: re.Match[str] | None) -> list[Event]:
        progress = _PROGRESS.search(text)
        if not progress or not found:
            return []
        slot, task = self._ids(found)
        decoded, tok_s = int(progress[1]), float(progress[2])
        return [RequestProgressed(at=at, target=self._target, slot=slot, task=task, decoded=decoded, tok_s=tok_s)]

    def _block_line(self, text: str, at: float, found: re.Match[str] | None) -> list[Event]:
        timed, accepted, reused = _EVAL.search(text), _ACCEPTANCE.search(text), _REUSED.search(text)
        is_header = text.rstrip().endswith("|")
        events: list[Event] = []
        if found and (timed or accepted or reused or is_header):
            events = self._open(*self._ids(found), at)
        block = self._current
        if block is None or not (timed or accepted or reused):
            return events
        block.at = at
        if timed and text.endswith("prompt ", 0, timed.start()):
            block.prompt_ms, block.prompt_tokens = float(timed[1]), int(timed[2])
        elif timed:
            block.generated_ms, block.generated = float(timed[1]), int(timed[2])
        if accepted:
            block.accepted, block.drafted = int(accepted[1]), int(accepted[2])
            block.mean_len = float(accepted[3]) if accepted[3] else None
        if reused:
            block.graphs_reused = int(reused[1])
        return events

    def _open(self, slot: int, task: int, at: float) -> list[Event]:
        block = self._blocks.get(slot)
        events: list[Event] = []
        if block is None or block.task != task:
            events = [*self.close_late(), *self.close(slot)]
            block = self._blocks[slot] = _Block(at, slot, task, late=self._released.get(slot) == task)
            self.has_late |= block.late
        self._current = block
        return events
