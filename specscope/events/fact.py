"""What all facts share, and the words they are told in."""

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
