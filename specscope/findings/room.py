"""What the rules about the context share: how large a slot's is, and the requests that tell of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.session.request_state import RequestRow
    from specscope.session.state import Target

LATEST: Final = 20
"""Requests that are looked at: what happened before them is over."""


def slot_context(target: Target) -> int | None:
    """Tokens that one slot can hold; None: not told."""
    told = next((slot.n_ctx for slot in target.slots if slot.n_ctx), None)
    return told or (target.props.n_ctx if target.props is not None and target.props.n_ctx else None)


def slots_share(target: Target) -> bool | None:
    """Whether all slots share one cache, so that each can hold what all can hold together; None: not known."""
    each, together = slot_context(target), target.memory.kv.context_tokens
    return None if each is None or together is None else len(target.slots) > 1 and together <= each


def latest(target: Target) -> tuple[RequestRow, ...]:
    """The latest requests, running ones included."""
    return target.requests[-LATEST:]
