"""Slots, requests, and how often the log said a thing, as the frozen state has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from specscope.session.asked import UNSEEN
from specscope.session.room import UNKNOWN

if TYPE_CHECKING:
    from specscope.events import Json
    from specscope.session.asked import Asked
    from specscope.session.room import Room
    from specscope.session.state import CycleSource


@dataclass(frozen=True, eq=False, slots=True)
class Slot:
    """One slot as /slots shows it. ``fill_tokens`` are resident tokens (prompt and generated)."""

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
    tally_cycles: int = 0
    tally_steps: int = 0
    tau: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class RequestRow:
    """One request. ``tok_s`` is (generated - 1) / decode time, as the server computes it; ``tau`` counts its steps.

    ``stop``: ``limit``, ``eos``, ``word``, ``cancelled``, ``finished`` (ended, reason not seen), ``lost`` (the
    server went away), or None while it runs. ``whole``: seen from its beginning.
    ``agrees``: the per-cycle lines equal the server's totals for this request; None when it printed none, and as long
    as cycles may still come.
    ``room``: how its prompt and answer fit the context of its slot.
    """

    slot: int
    task: int | None
    label: str | None
    started_at: float
    ended_at: float | None
    whole: bool
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    generated: int | None = None
    ttft_ms: float | None = None
    tok_s: float | None = None
    cycles: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    tau: float | None = None
    stop: str | None = None
    agrees: bool | None = None
    seen_by: CycleSource | None = None
    asked: Asked = UNSEEN
    room: Room = UNKNOWN


class Heard(NamedTuple):
    """How often a line with a meaning was read in the log, and when last."""

    times: int
    at: float
