"""Counts of cycles by (draft width, accepted length), from which every figure about drafting follows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

LOT: Final = 64
"""Cycles counted at once: counting many takes the standard library a third of the time of counting them one by one."""


@dataclass(eq=False)
class Tally:
    """Cycles counted by width and accepted length, plus plain steps and tokens.

    Attributes:
        plain_steps: forwards without a draft, the prompt's own (first token) included.
        tokens: tokens gained as seen by the steps: accepted + 1 per cycle, 1 per plain step.
        unverified: drafted tokens whose cycle ended before verification (a cancelled replay).
        merged: polled steps that may have held more than one cycle, so that none of them could be told.
    """

    plain_steps: int = 0
    tokens: int = 0
    unverified: int = 0
    merged: int = 0
    _joint: Counter[tuple[int, int]] = field(default_factory=Counter[tuple[int, int]])
    _fresh: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def joint(self) -> Counter[tuple[int, int]]:
        """Cycles by ``(drafted, accepted)``; ``drafted`` is -1 where only the accepted length was seen."""
        if self._fresh:
            self._settle()
        return self._joint

    def add_cycle(self, drafted: int | None, accepted: int) -> None:
        """Count one cycle; ``drafted`` is None when the width was not seen."""
        self.count((-1 if drafted is None else drafted, accepted), accepted + 1)

    def count(self, kind: tuple[int, int], tokens: int) -> None:
        """Count one cycle by its key in ``joint`` and the tokens that it gained."""
        fresh = self._fresh
        fresh.append(kind)
        self.tokens += tokens
        if len(fresh) == LOT:
            self._settle()

    def _settle(self) -> None:
        self._joint.update(self._fresh)
        self._fresh.clear()

    def add_plain(self, steps: int) -> None:
        """Count forwards that gained one token each without a draft."""
        self.plain_steps += steps
        self.tokens += steps

    def merge(self, other: Tally, sign: int = 1) -> None:
        """Add (or with ``sign=-1`` take away) another tally."""
        joint = self.joint
        for key, count in other.joint.items():
            left = joint[key] + sign * count
            if left:
                joint[key] = left
            else:
                del joint[key]
        self.plain_steps += sign * other.plain_steps
        self.tokens += sign * other.tokens
        self.unverified += sign * other.unverified
        self.merged += sign * other.merged

    def copy(self) -> Tally:
        """An independent copy."""
        return Tally(self.plain_steps, self.tokens, self.unverified, self.merged, Counter(self.joint))

    @property
    def cycles(self) -> int:
        """Cycles, as the server's ``drafts_total``: only those with a draft."""
        return sum(self.joint.values())

    @property
    def accepted(self) -> int:
        """Accepted draft tokens."""
        return sum(a * n for (_, a), n in self.joint.items())

    @property
    def drafted(self) -> int | None:
        """Drafted tokens; None when any cycle's width was not seen."""
        if any(w < 0 for w, _ in self.joint):
            return None
        return sum(w * n for (w, _), n in self.joint.items()) + self.unverified

    @property
    def steps(self) -> int:
        """Forwards as one slot sees them: cycles and plain steps."""
        return self.cycles + self.plain_steps

    @property
    def width_max(self) -> int | None:
        """The widest draft seen; None before the first whose width was seen."""
        return max((w for w, _ in self.joint if w >= 0), default=None)

    def tau_draft(self, width: int | None = None) -> float | None:
        """Mean acceptance length, 1 + accepted / cycles, the target's own token included.

        Args:
            width: only cycles of exactly this draft width.
        """
        chosen = {k: n for k, n in self.joint.items() if width is None or k[0] == width}
        cycles = sum(chosen.values())
        return 1 + sum(a * n for (_, a), n in chosen.items()) / cycles if cycles else None

    def histogram(self) -> list[int]:
        """Cycles by accepted length, index 0 first."""
        counts = [0] * (max((a for _, a in self.joint), default=-1) + 1)
        for (_, a), n in self.joint.items():
            counts[a] += n
        return counts

    def survival(self) -> list[PositionRate]:
        """The rate of each draft position, position 0 first."""
        cycles = self.cycles
        width = max((max(w, a) for w, a in self.joint), default=0)
        rates: list[PositionRate] = []
        for i in range(width):
            kept = sum(n for (_, a), n in self.joint.items() if a > i)
            reached = sum(n for (w, _), n in self.joint.items() if w > i)
            known = all(w >= 0 for w, _ in self.joint)
            rates.append(PositionRate(kept / cycles, kept / reached if known and reached else None))
        return rates


@dataclass(eq=False)
class StepCount:
    """How many cycles and plain steps there were, and their tokens: a tally that does not ask how wide or how good."""

    cycles: int = 0
    plain_steps: int = 0
    tokens: int = 0

    def add_plain(self, steps: int) -> None:
        """Count forwards that gained one token each without a draft."""
        self.plain_steps += steps
        self.tokens += steps

    def merge(self, other: Tally, sign: int = 1) -> None:
        """Add (or with ``sign=-1`` take away) what a tally counted."""
        self.cycles += sign * other.cycles
        self.plain_steps += sign * other.plain_steps
        self.tokens += sign * other.tokens

    @property
    def steps(self) -> int:
        """Forwards as one slot sees them: cycles and plain steps."""
        return self.cycles + self.plain_steps


@dataclass(frozen=True)
class PositionRate:
    """How often position i of a draft survives.

    Attributes:
        share: share of all cycles with accepted > i (the server's ``acc per pos``).
        among_wide: the same among cycles whose draft was wider than i; None where widths were not seen.
    """

    share: float
    among_wide: float | None
