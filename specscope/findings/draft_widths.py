"""How much of the draft width asked for the drafts of a single drafter have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.findings.rule import Collecting

if TYPE_CHECKING:
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


def draft_widths(target: Target, least_cycles: int) -> DraftWidths | Collecting | None:
    """The drafts of the one drafter in force; None: several methods draft, or the width in force is not known."""
    types, totals, limit = target.config.types, target.totals, width_in_force(target)
    if types is None or len(types) != 1 or not types[0].startswith("draft-") or not limit:
        return None
    cycles, drafted, accepted = totals.cycles or 0, totals.drafted, totals.accepted
    if cycles < least_cycles or (drafted is not None and drafted < LEAST_DRAFTED):
        return Collecting(f"{least_cycles} draft cycles and {LEAST_DRAFTED} draft tokens ({cycles} cycles so far)")
    if drafted is None or accepted is None:
        return Collecting("the widths of the drafts: --metrics, or LLAMA_TRACE=1 in the server's environment")
    return DraftWidths(cycles, drafted, accepted, limit, drafted / cycles)


def width_in_force(target: Target) -> int | None:
    """The draft width after clamping; the server's default where it was told none."""
    if target.config.n_max_effective is not None:
        return target.config.n_max_effective
    setting = target.provenance.setting("spec_draft_n_max")
    return setting.value if setting is not None and isinstance(setting.value, int) else None
