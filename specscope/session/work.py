"""What each server did while the energy of its devices was measured, and what a token of it took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.gpu_state import Energy
from specscope.session.unknowns import sum_if_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.energy import EnergyBook
    from specscope.session.state import Rates, Totals
    from specscope.session.target_fold import TargetFold

UNNAMED: Final = 0.05
"""Of the decode energy: with more of it spent in requests of which nobody saw whether they were in their prompt, what
was generated in that time cannot be set against it."""


@dataclass(eq=False)
class _Work:
    """What one server did while one device's energy was measured.

    ``seen`` is its running count at the last read. Accepted tokens are taken back and told again when a better source
    takes over, so that only what is beyond ``accepted_most`` is new.
    """

    tokens: int = 0
    accepted: int | None = None
    seen: tuple[int, int | None] | None = None
    accepted_most: int = 0


class Share(NamedTuple):
    """What one device spent on one server, and what that one did in the same time."""

    decode_j: float
    prefill_j: float | None
    tokens: int
    accepted: int | None
    counted: bool
    apart: bool

    @property
    def j_per_token(self) -> float | None:
        """Joules of this device for a generated token."""
        return self._per(self.tokens)

    @property
    def j_per_accepted(self) -> float | None:
        """Joules of this device for an accepted draft token."""
        return self._per(self.accepted)

    def _per(self, count: int | None) -> float | None:
        """Decode energy over a count; None where too much energy could not be told apart from a prompt's."""
        return self.decode_j / count if count and self.decode_j > 0 and self.apart else None


@dataclass(eq=False)
class WorkBook:
    """The work of each server on each device."""

    _work: dict[tuple[str, int], _Work] = field(default_factory=dict["tuple[str, int]", _Work])

    def begin(self, target: TargetFold, index: int) -> None:
        """A server is seen to use a device: what it does counts from here on, not from the next read of the energy."""
        work = self._work.setdefault((target.id, index), _Work())
        if work.seen is None:
            work.seen = target.work_done()

    def settle(self, target: TargetFold, index: int, *, settled: bool) -> None:
        """The energy of a device was read: what was generated since the read before is set against it, if settled."""
        work = self._work.setdefault((target.id, index), _Work())
        before, work.seen = work.seen, target.work_done()
        if settled and before is not None and work.seen[0] >= before[0]:
            work.tokens += work.seen[0] - before[0]
            if work.seen[1] is not None:
                most = max(work.accepted_most, before[1] or 0)
                work.accepted = (work.accepted or 0) + max(0, work.seen[1] - most)
        work.accepted_most = max(work.accepted_most, work.seen[1] or 0)

    def forget(self, index: int) -> None:
        """Another device has this number now."""
        self._work = {key: work for key, work in self._work.items() if key[1] != index}

    def devices(self, target_id: str) -> list[int]:
        """The devices that a server was seen to use."""
        return sorted(index for who, index in self._work if who == target_id)

    def share(self, target_id: str, index: int, energy: EnergyBook) -> Share | None:
        """What one device spent on one server; None before it was seen to decode."""
        work = self._work.get((target_id, index))
        decode_j = energy.joules.get((target_id, "decode"))
        if work is None or decode_j is None:
            return None
        return Share(
            decode_j=decode_j,
            prefill_j=energy.joules.get((target_id, "prefill")),
            tokens=work.tokens,
            accepted=work.accepted,
            counted=energy.counted,
            apart=energy.joules.get((target_id, "unknown"), 0.0) <= UNNAMED * decode_j,
        )


def energy_of(shares: Sequence[Share | None], live_w: float | None, rates: Rates, totals: Totals) -> Energy | None:
    """The energy of all devices of a server; None without any, or where one of them has no figure yet.

    Args:
        shares: of each device.
        live_w: power of all of them now, while it decodes.
        rates: the server's speed.
        totals: its drafts.
    """
    known = [share for share in shares if share is not None]
    if not known or len(known) < len(shares):
        return None
    per_token = sum_if_known([share.j_per_token for share in known])
    rejected = _rejected_share(totals)
    accepted = [share.accepted for share in known if share.accepted is not None]
    return Energy(
        decode_j=sum(share.decode_j for share in known),
        prefill_j=sum_if_known([share.prefill_j for share in known]),
        tokens=max(share.tokens for share in known),
        accepted=max(accepted) if accepted else None,
        counted=all(share.counted for share in known),
        j_per_token=per_token,
        j_per_accepted=sum_if_known([share.j_per_accepted for share in known]),
        live_j_per_token=live_w / rates.tok_s if live_w is not None and rates.tok_s else None,
        rejected_share=rejected,
        rejected_j_per_token=rejected * per_token if rejected is not None and per_token is not None else None,
    )


def _rejected_share(totals: Totals) -> float | None:
    """Of the rows that the target verified in cycles, those of rejected draft tokens."""
    if totals.drafted is None or totals.accepted is None or not totals.cycles:
        return None
    return (totals.drafted - totals.accepted) / (totals.drafted + totals.cycles)
