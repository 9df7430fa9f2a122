"""The context a server makes: how many cells, in how many streams, for how many sequences.

From src/llama-context.cpp (padding, streams, batch sizes), tools/server/server.cpp and server-context.cpp (slots, the
context of a slot) and common/arg.cpp (defaults), llama.cpp b11434.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from specscope.session.memory.cache_types import CACHE_TYPES, DEFAULT_TYPE
from specscope.session.memory.hparams import UnknownLayoutError

if TYPE_CHECKING:
    from specscope.flags import ServerFlags
    from specscope.session.memory.state import Served

_PAD: Final = 256
_AUTO_SLOTS: Final = 4
_BATCH, _UBATCH = 2048, 512
_OFF: Final = frozenset({"off", "disabled", "false", "0"})


@dataclass(frozen=True, slots=True)
class Context:
    """What the caches are made for.

    Attributes:
        n_ctx_seq: cells of each stream.
        streams: 1 where all sequences share one.
        ubatch: tokens computed at once, which a window has to hold beside itself.
        flash_attention: False only where it was switched off: values then are stored transposed.
        basis: what the number of cells was taken from.
    """

    n_ctx_seq: int
    slots: int
    unified: bool
    ubatch: int
    swa_full: bool
    flash_attention: bool
    type_k: str
    type_v: str
    basis: str

    @property
    def streams(self) -> int:
        """Caches that the sequences are spread over."""
        return 1 if self.unified else self.slots


def padded(cells: int) -> int:
    """Cells rounded up as contexts and windows are (``GGML_PAD`` to 256)."""
    return -(-cells // _PAD) * _PAD


def target_context(flags: ServerFlags | None, served: Served, n_ctx_train: int | None) -> Context:
    """The target's context.

    Args:
        flags: what the server was told; None: not known.
        served: what it says of itself, which outranks them.
        n_ctx_train: the context the model was trained with; a slot is never larger.

    Raises:
        UnknownLayoutError: slots or context are not known.
    """
    slots, unified = _slots(flags, served)
    streams = 1 if unified else slots
    n_ctx_seq, basis = _cells(flags, served, slots, streams, n_ctx_train)
    return Context(
        n_ctx_seq=n_ctx_seq,
        slots=slots,
        unified=unified,
        ubatch=_ubatch(flags, _asked(flags, slots) or n_ctx_seq * streams),
        swa_full=bool(flags and flags.swa_full),
        flash_attention=flags is None or flags.flash_attn not in _OFF,
        type_k=_type(flags and flags.cache_type_k),
        type_v=_type(flags and flags.cache_type_v),
        basis=basis,
    )


def drafter_context(target: Context, flags: ServerFlags | None) -> Context:
    """The drafter's context: as many cells as the target's for as many sequences, with cache types of its own.

    From ``common_speculative_init_result`` of common/speculative.cpp.
    """
    return replace(
        target,
        ubatch=_ubatch(flags, target.n_ctx_seq * target.streams),
        type_k=_type(flags and flags.draft_cache_type_k),
        type_v=_type(flags and flags.draft_cache_type_v),
    )


def _ubatch(flags: ServerFlags | None, n_ctx: int) -> int:
    """Tokens computed at once: no more than a batch, which is no longer than the context (before it is padded)."""
    batch = min(n_ctx, (flags and flags.batch) or _BATCH)
    asked = _UBATCH if flags is None or flags.ubatch is None else flags.ubatch
    return min(batch, asked or batch)


def _type(name: str | None) -> str:
    """A cache type by name.

    Raises:
        UnknownLayoutError: no server known here has it.
    """
    name = name or DEFAULT_TYPE
    if name not in CACHE_TYPES:
        raise UnknownLayoutError(f"unknown cache type {name}")
    return name


def _slots(flags: ServerFlags | None, served: Served) -> tuple[int, bool]:
    """How many sequences, and whether they share one cache. Without ``-np`` there are four, and they do."""
    told = None if flags is None else (-1 if flags.parallel is None else flags.parallel)
    slots = served.slots or (None if told is None else _AUTO_SLOTS if told < 0 else max(told, 1))
    if slots is None:
        raise UnknownLayoutError("the number of slots is not known")
    if served.unified is not None:
        return slots, served.unified
    if told is None and slots > 1:
        raise UnknownLayoutError("whether the slots share one cache is not known")
    return slots, told is not None and (told < 0 or bool(flags and flags.kv_unified))


def _cells(
    flags: ServerFlags | None, served: Served, slots: int, streams: int, n_ctx_train: int | None
) -> tuple[int, str]:
    """Cells of a stream, and what says so.

    A context named by a flag is not reduced to fit memory. A slot is capped by the training context, the cache is not.
    """
    if served.cells:
        return served.cells, "cells from the log"
    asked = _asked(flags, slots)
    cells = padded(padded(asked) // streams)
    caps = [cap for cap in (flags and flags.kv_unified_per_slot, n_ctx_train) if cap]
    if cells and served.n_ctx_slot in (None, min((cells, *caps))):
        return cells, "context from the flags"
    if not served.n_ctx_slot:
        raise UnknownLayoutError("the context is neither among the flags nor told by the server")
    if flags is not None and served.n_ctx_slot == flags.kv_unified_per_slot:
        raise UnknownLayoutError("the slots are capped, and nothing tells what they share")
    return padded(served.n_ctx_slot), "context from the slots"


def _asked(flags: ServerFlags | None, slots: int) -> int:
    """The context that was asked for; 0: none, so that the server takes what the model was trained with."""
    if flags is None:
        return 0
    if flags.ctx is None and flags.kv_unified_per_slot:
        return slots * flags.kv_unified_per_slot
    return max(flags.ctx or 0, 0)
