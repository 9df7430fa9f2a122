"""Facts of a request that specscope itself sent and whose stream it reads."""

from __future__ import annotations

from specscope.events.fact import Amount, Fact


class StreamStepped(Fact, frozen=True, kw_only=True, tag="stream"):
    """A chunk of a ``timings_per_token`` stream that specscope's own load reads: running totals of one request."""

    request: str
    slot: int | None = None
    generated: int
    generated_ms: Amount | None = None
    drafted: int | None = None
    accepted: int | None = None


class StreamEnded(Fact, frozen=True, kw_only=True, tag="streamed"):
    """The final ``timings`` of a request of our own. ``ttft_ms`` was measured at the client."""

    request: str
    slot: int | None = None
    generated: int | None = None
    generated_ms: Amount | None = None
    prompt_tokens: int | None = None
    prompt_ms: Amount | None = None
    cached_tokens: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    stop: str | None = None
    ttft_ms: Amount | None = None
