"""A drafting method's part in what a server does, as the frozen state has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specscope.session.economics.state import Span
    from specscope.session.state import Evidence


@dataclass(frozen=True, eq=False, slots=True)
class MethodRow:
    """One drafting method. The server asks them in a fixed order, each where those before it found nothing.

    The counts are those of the watch where a trace names the method of each cycle; else they are the log's own
    statistics (-lv 4), which count since the server started. What nothing tells is None.

    Attributes:
        name: by --spec-type; ``draft-dflash or draft-dspark`` where nothing tells which.
        evidence: of the counts.
        cycles: its drafts that were verified; drafted, accepted: tokens of them.
        tau: tokens per cycle of it.
        calls: how often it was asked, by the statistics (for all slots together); drafts: that it made then.
        draft_ms: drafting time for each draft that it made: by the statistics its own, asking in vain included; else by
            the trace that of all methods asked for it.
        cycle_ms: of its cycles, with as many slots at work and at the depth of the server's economics.
        tok_s: tokens per second of one slot in its cycles.
        without_tok_s: the same of what the server does without it: of the steps in which it found nothing.
        gain_pct: of the first over the second.
        gain_at_most_pct: over plain decoding, where its tokens a cycle alone tell that it cannot pay.
        share_time: of the decoding time, spent in its cycles.
        server_gain_pct: by how much it makes the server faster: its gain times that share.
        basis: what the gain rests on; collecting: what is missing for it. One of them is empty.
    """

    name: str
    evidence: Evidence
    cycles: int | None
    drafted: int
    accepted: int
    tau: Span | None = None
    calls: int | None = None
    drafts: int | None = None
    draft_ms: float | None = None
    cycle_ms: Span | None = None
    tok_s: Span | None = None
    without_tok_s: Span | None = None
    gain_pct: Span | None = None
    gain_at_most_pct: float | None = None
    share_time: float | None = None
    server_gain_pct: Span | None = None
    basis: str = ""
    collecting: str = ""

    @property
    def acceptance(self) -> float | None:
        """Accepted over drafted tokens."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def tau_draft(self) -> float | None:
        """Tokens per cycle; None without one."""
        return 1 + self.accepted / self.cycles if self.cycles else None
