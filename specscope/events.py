"""Every fact a source can report: frozen, timed, a closed tagged union.

Facts are what was seen, never what follows from it. ``at`` is seconds since the Unix epoch on a clock that
never goes backwards within one watch (wall time at its start plus the monotonic time since). ``target`` names
the watched server (``t0``, ``t1``, ...). A field that is ``None`` was not seen; it is never a zero.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = Any
"""A JSON value as a server sent it."""

Tier: TypeAlias = Literal["none", "totals", "log", "polled", "cycles", "trace"]
"""The evidence ladder, lowest first: what a source can show at its best."""

TIERS: tuple[Tier, ...] = ("none", "totals", "log", "polled", "cycles", "trace")

ServerState: TypeAlias = Literal[
    "unknown", "loading", "ready", "sleeping", "hung", "down", "needs_key", "router", "not_llama", "error"
]


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="k"):
    """What all facts have: when it was seen and on which target."""

    at: float
    target: str = "t0"


# --- the watch and its sources -------------------------------------------------------------------------------


class TargetFound(Fact, frozen=True, kw_only=True, tag="target"):
    """A server to watch. ``how`` says what led to it: ``given``, ``process``, ``port``, ``recording``."""

    url: str | None = None
    pid: int | None = None
    kind: str = "llama-server"
    how: str = "given"


class SourceAttached(Fact, frozen=True, kw_only=True, tag="attached"):
    """A source delivers from now on. ``tier`` is the best it can give, ``hint`` what would lift it."""

    source: str
    tier: Tier
    detail: str = ""
    hint: str = ""


class SourceLost(Fact, frozen=True, kw_only=True, tag="lost"):
    """A source stopped delivering, or never began. It comes back with a ``SourceAttached``."""

    source: str
    reason: str
    hint: str = ""


class EventsMissed(Fact, frozen=True, kw_only=True, tag="missed"):
    """A source knows that it did not see ``count`` facts (an unreadable line, a buffer overrun)."""

    source: str
    count: int
    reason: str = ""


class OwnCostSampled(Fact, frozen=True, kw_only=True, tag="cost"):
    """What watching costs: specscope's own CPU (percent of one core), memory, and requests to the server."""

    cpu_pct: float | None = None
    rss_bytes: int | None = None
    requests_per_s: float | None = None


class Marked(Fact, frozen=True, kw_only=True, tag="mark"):
    """The user named what the server does from here on (code, prose, ...)."""

    label: str


class WatchEnded(Fact, frozen=True, kw_only=True, tag="ended"):
    """The watch closed in an orderly way."""


# --- the server ------------------------------------------------------------------------------------------------


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


class SlotChanged(Fact, frozen=True, kw_only=True, tag="slot"):
    """GET /slots showed a slot begin, end or change its request.

    ``fill_tokens`` is ``n_prompt_tokens`` of /slots: resident tokens, prompt and generated (draft rows of the
    cycle in flight may be in it). ``params`` are the effective parameters of the request, sent when they change.
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
    held_ms: float | None = None
    params: dict[str, Json] | None = None


class SlotStepped(Fact, frozen=True, kw_only=True, tag="step"):
    """A poll of /slots saw ``n_decoded`` of a running request move to ``decoded``.

    ``held_ms``: how long before this poll it was last seen unmoved: two cycles can hide only in a long one.
    """

    slot: int
    task: int
    decoded: int
    fill_tokens: int | None = None
    held_ms: float | None = None


class PollSampled(Fact, frozen=True, kw_only=True, tag="poll"):
    """How polling of /slots went since the last sample: requests sent while busy, steps they saw, cycle time."""

    polls: int
    steps: int
    cycle_ms: float | None = None


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
    generated_s: float | None = None
    prompt_s: float | None = None
    tokens_max: int | None = None


# --- the log ----------------------------------------------------------------------------------------------------


class RequestLaunched(Fact, frozen=True, kw_only=True, tag="launch"):
    """Log: a slot began a task."""

    slot: int
    task: int


class CycleLogged(Fact, frozen=True, kw_only=True, tag="cycle"):
    """Log: ``accepted a/w draft tokens`` (LLAMA_TRACE=1).

    ``restored``: the line ends in ``(restore checkpoint)``: the target cannot drop part of a sequence and will
    verify the accepted part again. ``stamp_us`` is the line's own stamp, microseconds since the server started.
    """

    slot: int
    task: int
    drafted: int
    accepted: int
    restored: bool = False
    stamp_us: int | None = None


class RequestProgressed(Fact, frozen=True, kw_only=True, tag="progress"):
    """Log: the three-second progress line of a running request."""

    slot: int
    task: int
    decoded: int
    tok_s: float | None = None


class RequestLogged(Fact, frozen=True, kw_only=True, tag="request"):
    """Log: the print_timing block of a finished request: the server's own totals for it."""

    slot: int
    task: int
    prompt_tokens: int | None = None
    prompt_ms: float | None = None
    generated: int | None = None
    generated_ms: float | None = None
    drafted: int | None = None
    accepted: int | None = None
    mean_len: float | None = None


class SlotReleased(Fact, frozen=True, kw_only=True, tag="release"):
    """Log: ``stop processing``. ``fill_tokens`` is the KV fill it left."""

    slot: int
    task: int
    fill_tokens: int | None = None
    truncated: bool | None = None


class StatisticsLogged(Fact, frozen=True, kw_only=True, tag="statistics"):
    """Log at -lv 4: cumulative figures of one drafting method. ``*_ms``: begin, generate, accept."""

    method: str
    drafts: int
    drafts_accepted: int
    drafted: int
    accepted: int
    begin_ms: float | None = None
    generate_ms: float | None = None
    accept_ms: float | None = None


class LogSaid(Fact, frozen=True, kw_only=True, tag="log"):
    """Log: a line with a meaning of its own, by its stable ``code`` (see sources/log_dialects.py)."""

    code: str
    fields: dict[str, str] = {}


# --- a stream of our own ------------------------------------------------------------------------------------------


class StreamStepped(Fact, frozen=True, kw_only=True, tag="stream"):
    """A chunk of a ``timings_per_token`` stream that specscope's own load reads: running totals of one request."""

    request: str
    slot: int | None = None
    generated: int
    generated_ms: float | None = None
    drafted: int | None = None
    accepted: int | None = None


class StreamEnded(Fact, frozen=True, kw_only=True, tag="streamed"):
    """The final ``timings`` of a request of our own. ``ttft_ms`` was measured at the client."""

    request: str
    slot: int | None = None
    generated: int | None = None
    generated_ms: float | None = None
    prompt_tokens: int | None = None
    prompt_ms: float | None = None
    cached_tokens: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    stop: str | None = None
    ttft_ms: float | None = None


# --- files and the process ----------------------------------------------------------------------------------------


class ModelRead(Fact, frozen=True, kw_only=True, tag="model"):
    """The header of a GGUF file in use. ``role``: ``target``, ``drafter`` or ``projector``.

    ``sampling`` are its ``general.sampling.*`` keys without that prefix. ``tensor_types`` counts tensors by type.
    """

    role: Literal["target", "drafter", "projector"]
    path: str
    arch: str | None = None
    name: str | None = None
    file_bytes: int | None = None
    n_vocab: int | None = None
    n_embd: int | None = None
    n_layer: int | None = None
    n_ctx_train: int | None = None
    block_size: int | None = None
    nextn_layers: int | None = None
    tensor_types: dict[str, int] = {}
    sampling: dict[str, Json] = {}
    has_markov_head: bool | None = None


class ProcessSeen(Fact, frozen=True, kw_only=True, tag="process"):
    """The server's process. ``env`` holds only LLAMA_*, GGML_* and CUDA_VISIBLE_DEVICES, keys and tokens left out."""

    pid: int
    argv: list[str] = []
    env: dict[str, str] | None = None
    exe: str | None = None
    started: float | None = None
    host: Literal["binary", "python"] = "binary"


class ProcessSampled(Fact, frozen=True, kw_only=True, tag="usage"):
    """CPU (percent of one core) and memory of the server's process, and its busiest threads as (name, percent)."""

    cpu_pct: float | None = None
    rss_bytes: int | None = None
    threads: list[tuple[str, float]] = []


Event: TypeAlias = (
    TargetFound
    | SourceAttached
    | SourceLost
    | EventsMissed
    | OwnCostSampled
    | Marked
    | WatchEnded
    | ServerChanged
    | ServerStarted
    | PropsRead
    | SlotChanged
    | SlotStepped
    | PollSampled
    | CountersRead
    | RequestLaunched
    | CycleLogged
    | RequestProgressed
    | RequestLogged
    | SlotReleased
    | StatisticsLogged
    | LogSaid
    | StreamStepped
    | StreamEnded
    | ModelRead
    | ProcessSeen
    | ProcessSampled
)
