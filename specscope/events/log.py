"""Facts that the server's log tells."""

from __future__ import annotations

from typing import Literal

from specscope.events.fact import Amount, Count, Fact, Small


class RequestLaunched(Fact, frozen=True, kw_only=True, tag="launch"):
    """Log: a slot began a task.

    ``similarity``: the slot was chosen because it held so large a share of the new prompt from its first token on;
    None: it was chosen otherwise, or the log does not say.
    """

    slot: int
    task: int
    similarity: Amount | None = None


class CycleLogged(Fact, frozen=True, kw_only=True, tag="cycle"):
    """Log: ``accepted a/w draft tokens`` (LLAMA_TRACE=1).

    ``restored``: the line ends in ``(restore checkpoint)``: the target cannot drop part of a sequence and will
    verify the accepted part again. ``stamp_us`` is the line's own stamp, microseconds since the server started.
    """

    slot: Small
    task: Count
    drafted: Small
    accepted: Small
    restored: bool = False
    stamp_us: int | None = None


class RequestProgressed(Fact, frozen=True, kw_only=True, tag="progress"):
    """Log: the three-second progress line of a running request."""

    slot: int
    task: int
    decoded: int
    tok_s: Amount | None = None


class RequestLogged(Fact, frozen=True, kw_only=True, tag="request"):
    """Log: the print_timing block of a finished request: the server's own totals for it.

    ``graphs_reused`` is of the server's whole life: how many of the target's forwards took the graph of the one before
    instead of building theirs (llama.cpp src/llama-context.cpp; 2,483 of its 2,501 on an H200 without a drafter).
    """

    slot: int
    task: int
    prompt_tokens: int | None = None
    prompt_ms: Amount | None = None
    generated: int | None = None
    generated_ms: Amount | None = None
    drafted: int | None = None
    accepted: int | None = None
    mean_len: Amount | None = None
    graphs_reused: int | None = None


class SlotReleased(Fact, frozen=True, kw_only=True, tag="release"):
    """Log: ``stop processing``. ``fill_tokens`` is the KV fill it left.

    ``truncated``: the context was full: the answer ends there, or the context was shifted.
    """

    slot: int
    task: int
    fill_tokens: int | None = None
    truncated: bool | None = None


class StatisticsLogged(Fact, frozen=True, kw_only=True, tag="statistics"):
    """Log at -lv 4, when a request has ended: sums of one drafting method since the server started.

    Attributes:
        drafts: made, cut to what the request may still generate; drafts_accepted: of them those with an accepted token.
        accepted: on a target that verifies a partly accepted draft twice, one more for each such draft.
        calls: how often it was asked, for all slots that wanted a draft at that time; a table that finds nothing makes
            none. verified: its drafts that were verified. None in older builds.
        begin_ms, generate_ms, accept_ms: time in it at a request's begin, when asked, and when a draft was verified.
    """

    method: str
    drafts: int
    drafts_accepted: int
    drafted: int
    accepted: int
    begin_ms: Amount | None = None
    generate_ms: Amount | None = None
    accept_ms: Amount | None = None
    calls: int | None = None
    verified: int | None = None


class LogSaid(Fact, frozen=True, kw_only=True, tag="log"):
    """Log: a line with a meaning of its own, by its stable ``code`` (see sources/log_dialects.py)."""

    code: str
    fields: dict[str, str] = {}


class BufferLogged(Fact, frozen=True, kw_only=True, tag="buffer"):
    """Log at -lv 4: the server allocated a buffer. ``device`` is ggml's buffer name: CUDA0, CUDA_Host, CPU_Mapped.

    ``kind``: ``model`` (weights), ``KV``, ``RS`` (recurrent state), ``compute``, ``output``. Lines of a dry run that
    only measures (fitting parameters to memory) are left out.
    """

    device: str
    kind: Literal["model", "KV", "RS", "compute", "output"]
    bytes: int
    model: Literal["target", "drafter"] | None = None
