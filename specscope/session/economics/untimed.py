"""Why the cycles that were seen have no time of their own, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.session.cycle_book import CycleBook

BETWEEN: Final = "no cycle's own time is seen: plain steps lie between cycles, or a prompt (a trace tells them apart)"
"""Of a server that does not draft in each step."""


def why_untimed(book: CycleBook, *, seen_widths: bool) -> str:
    """What hides the time of the steps seen; ``seen_widths``: some drafts' widths were seen."""
    if not book.tally.joint:
        return "no cycle was seen yet"
    if book.costs.sparse:
        return BETWEEN
    if not seen_widths and book.width_limit is None:
        return "polling sees no draft widths, and the limit in force is not known (LLAMA_TRACE=1, or a trace)"
    if book.costs.mixed:
        return "in the time of each step so far lies another slot's prompt"
    return "each step so far is the first of its request, which has no time of its own"
