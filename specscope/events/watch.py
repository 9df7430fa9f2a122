"""Facts about the watch itself: its targets, its sources, its cost, the user's marks."""

from __future__ import annotations

from specscope.events.fact import Amount, Fact, Tier


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

    cpu_pct: Amount | None = None
    rss_bytes: int | None = None
    requests_per_s: Amount | None = None


class Marked(Fact, frozen=True, kw_only=True, tag="mark"):
    """The user named what the server does from here on (code, prose, ...)."""

    label: str


class WatchEnded(Fact, frozen=True, kw_only=True, tag="ended"):
    """The watch closed in an orderly way."""
