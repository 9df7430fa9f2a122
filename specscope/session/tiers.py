"""What the evidence is called, by one set of names on all screens and in all texts: those of the README's table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.events import Tier
    from specscope.session.state import CycleSource, Evidence, Target

TIER_NAMES: Final[dict[Tier, str]] = {
    "trace": "trace",
    "cycles": "cycles",
    "polled": "polled",
    "log": "totals",
    "totals": "totals",
    "none": "none",
}
"""By the tier that a source gives. A log without LLAMA_TRACE tells totals of requests, as /metrics does."""

SEEN_BY_NAMES: Final[dict[CycleSource, str]] = {
    "trace": "trace",
    "log": "cycles",
    "stream": "cycles",
    "polled": "polled",
}
"""By what a single cycle was seen by. Recordings and JSON keep the source's own name."""

COMPARED: Final[dict[Evidence, str]] = {
    "exact": "exact",
    "unconfirmed": "not yet compared",
    "parted": "PARTED",
    "unknown": "nothing seen yet",
}
"""What became of the comparison with the server's own count, where there is anything to say of it."""
SOME_MISSED: Final = "some missed"
"""In the place of ``not yet compared`` where that is why: a source told so, or was lost, with the server or alone."""

COUNT_NAMES: Final[dict[Evidence, str]] = {
    "exact": "exact",
    "unconfirmed": "not yet compared",
    "parted": "PARTED",
    "polled": "polled",
    "counted": "counted",
    "estimated": "estimated",
    "unknown": "not known",
}
"""How a count of cycles is known."""


def tier_of(target: Target) -> str:
    """The best evidence that there is of a server; of one that no source sees any more, what its cycles came from."""
    if target.tier == "none" and target.cycles:
        return SEEN_BY_NAMES[target.cycles[-1].seen_by]
    return TIER_NAMES[target.tier]


def compared(target: Target) -> str:
    """Whether it equals the server's own count; empty where that is no question. Parting is told before all else."""
    if tier_of(target) == "none":
        return ""
    if target.evidence == "unconfirmed" and target.cycle_evidence != "parted" and target.referee.missed:
        return SOME_MISSED
    return COMPARED.get("parted" if target.cycle_evidence == "parted" else target.evidence, "")


def evidence_words(target: Target) -> str:
    """Both: ``trace, exact``."""
    return ", ".join(word for word in (tier_of(target), compared(target)) if word)
