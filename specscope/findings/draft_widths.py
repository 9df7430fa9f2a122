"""How much of the draft width asked for the drafts of a single drafter have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.findings.rule import Collecting, Inapplicable
from specscope.findings.unjudged import TABLES_ALONE, WIDTHS, no_method, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Unjudged
    from specscope.session.state import Target

LEAST_DRAFTED: Final = 200
"""Draft tokens before any verdict on acceptance: its standard error is then 0.035 at most."""


class DraftWidths(NamedTuple):
    """The drafts so far. ``share``: their mean width, of the width in force."""

    cycles: int
    drafted: int
    accepted: int
    limit: int
    mean: float

    @property
    def share(self) -> float:
        """Of the width in force."""
        return self.mean / self.limit

    @property
    def acceptance(self) -> float:
        """Accepted over drafted tokens."""
        return self.accepted / self.drafted


_LIMIT: Final = Collecting("the draft width in force (the command line or the log)")


def draft_widths(target: Target, least_cycles: int) -> DraftWidths | Unjudged:
    """The drafts of the one drafter in force, where the width in force is known."""
    types, totals, limit = target.config.types, target.totals, width_in_force(target)
    if not types:
        return no_method(target) or _LIMIT
    if len(types) != 1:
        return Inapplicable("several methods draft")
    if not types[0].startswith("draft-"):
        return TABLES_ALONE
    if not limit:
        return wait(target, _LIMIT)
    cycles, drafted, accepted = totals.cycles or 0, totals.drafted, totals.accepted
    if cycles < least_cycles or (drafted is not None and drafted < LEAST_DRAFTED):
        return wait(target, f"{least_cycles} draft cycles and {LEAST_DRAFTED} draft tokens ({cycles} cycles so far)")
    if drafted is None or accepted is None:
        return WIDTHS
    return DraftWidths(cycles, drafted, accepted, limit, drafted / cycles)


def width_in_force(target: Target) -> int | None:
    """The draft width after clamping; the server's default where it was told none."""
    if target.config.n_max_effective is not None:
        return target.config.n_max_effective
    setting = target.provenance.setting("spec_draft_n_max")
    return setting.value if setting is not None and isinstance(setting.value, int) else None
