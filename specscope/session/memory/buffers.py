"""The buffers that a server's log told, added up: by model, device and kind.

A context reserves its compute buffers anew whenever its graph changes (``sched_reserve`` of src/llama-context.cpp,
llama.cpp b11434), so of those the last size of each device counts; a model's weights, caches and outputs are several
buffers on one device that are all kept, so those are added up.

When models are loaded again (a server that slept wakes), the weights of the target come first: a line about them after
any other of the target's buffers begins a new load, which makes everything before void. So does a drafter's for what
is the drafter's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.session.memory.state import BufferRow, Buffers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.events import BufferLogged
    from specscope.session.memory.state import BufferKind, Role


class BufferBook:
    """Buffers of one server since its models were last loaded."""

    def __init__(self) -> None:
        self._bytes: dict[tuple[Role | None, str, BufferKind], int] = {}
        self._unplaced = 0
        self._view: Buffers | None = None

    def logged(self, fact: BufferLogged) -> None:
        """Take one buffer."""
        self._view = None
        if fact.kind == "model" and any(model == fact.model and kind != "model" for model, _, kind in self._bytes):
            self._begin_anew(fact.model)
        key = (fact.model, fact.device, fact.kind)
        if fact.kind != "compute":
            self._bytes[key] = self._bytes.get(key, 0) + fact.bytes
        elif fact.model is None and any(model is not None for model, _, _ in self._bytes):
            self._unplaced += 1
        else:
            self._bytes[key] = fact.bytes

    def reset(self) -> None:
        """Another process, or the models are unloaded (the server sleeps): nothing of before holds."""
        self._bytes.clear()
        self._unplaced = 0
        self._view = None

    def view(self) -> Buffers:
        """The state now; the same object until another buffer is logged."""
        if self._view is None:
            rows = [BufferRow(*key, n_bytes) for key, n_bytes in self._bytes.items()]
            rows.sort(key=lambda row: (-row.bytes, row.model or "", row.device, row.kind))
            self._view = Buffers(tuple(rows), self._unplaced)
        return self._view

    def _begin_anew(self, model: Role | None) -> None:
        if model == "drafter":
            self._bytes = {key: n_bytes for key, n_bytes in self._bytes.items() if key[0] != "drafter"}
        else:
            self.reset()


def buffers_of(facts: Iterable[BufferLogged]) -> Buffers:
    """The buffers after all facts, in the order of the log."""
    book = BufferBook()
    for fact in facts:
        book.logged(fact)
    return book.view()
