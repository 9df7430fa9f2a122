"""What all facts share, and the words they are told in."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = Any
"""A JSON value as a server sent it."""

Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=253_402_000_000)]
"""Seconds since the Unix epoch, at most the year 9999; the bound refuses damaged recordings."""

Amount: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
"""A measured number of any unit: sums and products of such stay finite. The bound refuses damaged recordings."""

Small: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
"""A slot, a draft width, an accepted length: the server keeps accepted lengths in 16 bits."""

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A count of tokens, or a task id."""

Tier: TypeAlias = Literal["none", "totals", "log", "polled", "cycles", "trace"]
"""The evidence ladder, lowest first: what a source can show at its best."""

TIERS: tuple[Tier, ...] = ("none", "totals", "log", "polled", "cycles", "trace")

ServerState: TypeAlias = Literal[
    "unknown", "loading", "ready", "sleeping", "hung", "down", "needs_key", "router", "not_llama", "error"
]


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="k"):
    """What all facts have: when it was seen and on which target."""

    at: Seconds
    target: str = "t0"
