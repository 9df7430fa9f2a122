"""Facts that the server's HTTP endpoints tell."""

from __future__ import annotations

from typing import Final

from specscope.events.fact import Amount, Count, Fact, Json, ServerState, Small


class ServerChanged(Fact, frozen=True, kw_only=True, tag="server"):
    """What the server answers to first contact changed."""

    state: ServerState
    detail: str = ""


class ServerStarted(Fact, frozen=True, kw_only=True, tag="started"):
    """An identity of the running server process was seen. A token that changes means a restart.

    ``by`` names the kind of token (``http`` for the Process-Start-Time-Unix header, ``process`` for pid and
    start time, ``counters`` when they went backwards); tokens compare only within one kind.
    """

    token: str
    by: str


class PropsRead(Fact, frozen=True, kw_only=True, tag="props"):
    """GET /props. ``defaults`` are the sampling parameters a request gets that sets none."""

    build: str | None = None
    kind: str = "llama.cpp"
    model_path: str | None = None
    model_alias: str | None = None
    n_ctx: int | None = None
    total_slots: int | None = None
    defaults: dict[str, Json] = {}
    endpoint_slots: bool | None = None
    endpoint_metrics: bool | None = None
    sleeping: bool | None = None
    vision: bool | None = None


ANSWER_MS: Final = 5.0
"""Answers of /slots that took no longer are not told apart: a busy server takes 1-3 ms for them."""


class SlotChanged(Fact, frozen=True, kw_only=True, tag="slot"):
    """GET /slots showed a slot begin, end or change its request.

    ``fill_tokens`` is ``n_prompt_tokens`` of /slots: resident tokens, prompt and generated (draft rows of the
    cycle in flight may be in it). ``params`` are the effective parameters of the request, sent when they change.
    ``answer_ms``: how long the answer took, where it was more than ANSWER_MS: what it shows may be that old.
    """

    slot: int
    n_ctx: int | None = None
    speculative: bool | None = None
    busy: bool | None = None
    task: int | None = None
    fill_tokens: int | None = None
    processed_tokens: int | None = None
    cached_tokens: int | None = None
    decoded: int | None = None
    held_ms: Amount | None = None
    answer_ms: Amount | None = None
    params: dict[str, Json] | None = None


class SlotStepped(Fact, frozen=True, kw_only=True, tag="step"):
    """A poll of /slots saw ``n_decoded`` of a running request move to ``decoded``.

    ``held_ms``: how long before this poll it was last seen unmoved: two cycles can hide only in a long one.
    ``answer_ms``: as in :class:`SlotChanged`.
    """

    slot: Small
    task: Count
    decoded: Count
    fill_tokens: int | None = None
    held_ms: Amount | None = None
    answer_ms: Amount | None = None


class PollSampled(Fact, frozen=True, kw_only=True, tag="poll"):
    """How polling of /slots went since the last sample: requests sent while busy, steps they saw, cycle time."""

    polls: int
    steps: int
    cycle_ms: Amount | None = None


class CountersRead(Fact, frozen=True, kw_only=True, tag="counters"):
    """GET /metrics: the server's own totals since it started. They move when a slot is released.

    ``idle``: all slots were idle before and after the scrape, so nothing is under way.
    """

    idle: bool
    drafts: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    accepted_per_position: list[int] | None = None
    generated: int | None = None
    prompt: int | None = None
    cached: int | None = None
    decodes: int | None = None
    generated_s: Amount | None = None
    prompt_s: Amount | None = None
    tokens_max: int | None = None
