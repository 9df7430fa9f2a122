"""The parts of a turn of the server's loop on the screen: their letters and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.turn_parts import OTHER, durations, is_by_cpu, is_plain, names_of, unseen
from specscope.views.figures import MARKS, decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.turn_state import Anatomy

LETTERS: Final = "DSVFHO"
"""What stands for a part where colour is not enough: draft, submit, verify, features, host sampling, other."""
STEP_LETTERS: Final = "DSCFHO"
"""The same for plain steps, in which nothing is verified: the device computes."""

_TWO_DIGITS: Final = 10.0
"""Turns shorter than so many milliseconds are written with hundredths."""

TOLD_FROM: Final = 0.1
"""Share of drafting from which on the sampling in it is told."""


class Part(NamedTuple):
    """One part of a turn.

    Attributes:
        place: from the first part on, and among the ink's styles.
        letter: what stands for it; name and short: what it is called.
        ms: its mean duration; share: of the turn.
        written: the duration as text, without its mark.
    """

    place: int
    letter: str
    name: str
    short: str
    ms: float
    share: float
    written: str

    @property
    def percent(self) -> str:
        """Its share as text, ``26 %``."""
        return "<1 %" if 0 < self.share < 0.005 else f"{100 * self.share:.0f} %"  # noqa: PLR2004  rounds down to none


def letters_of(anatomy: Anatomy) -> str:
    """The letters of the parts."""
    letters = STEP_LETTERS if is_plain(anatomy) else LETTERS
    return letters[:OTHER] + "R" if unseen(anatomy) else letters


def parts_of(anatomy: Anatomy) -> tuple[Part, ...]:
    """The parts that take any time; one that would be written as nothing is left out."""
    digits, names, letters = digits_of(anatomy), names_of(anatomy), letters_of(anatomy)
    every = durations(anatomy.parts, by_cpu=is_by_cpu(anatomy))
    whole = sum(every) or 1.0
    return tuple(
        Part(place, letters[place], *names[place], ms, ms / whole, decimal(ms, digits))
        for place, ms in enumerate(every)
        if ms / whole >= 0.005 or ms >= 0.5 * 10**-digits  # noqa: PLR2004  half a percent rounds down to none
    )


def whole_ms(anatomy: Anatomy) -> str:
    """The whole turn with its unit and mark: ``13.0 ms=``."""
    return f"{decimal(anatomy.parts.whole_ms, digits_of(anatomy))} ms{mark(anatomy)}"


def digits_of(anatomy: Anatomy) -> int:
    """Decimals that a duration is written with."""
    return 1 if anatomy.parts.whole_ms >= _TWO_DIGITS else 2


def mark(anatomy: Anatomy) -> str:
    """How the figures are known, in one character."""
    return MARKS[anatomy.evidence].strip()


def part_text(part: Part, sign: str) -> str:
    """A part's letter, name and figures: ``D draft 3.4= 26 %``."""
    return f"{part.letter} {part.name} {part.written}{sign} {part.percent}"


def largest(parts: Sequence[Part]) -> Part | None:
    """The part that takes the most time."""
    return max(parts, key=lambda part: part.ms, default=None)


def drafting_phrase(anatomy: Anatomy) -> str:
    """How much of drafting is sampling on the host, where it is more than next to nothing."""
    draft, own = anatomy.parts.draft_ms, anatomy.parts.draft_sampling_ms
    if not draft or own is None or own < TOLD_FROM * draft:
        return ""
    return f"of draft, {decimal(own, digits_of(anatomy))}{mark(anatomy)} ms are sampling on the host"


def unprobed(anatomy: Anatomy) -> str:
    """Which parts were not seen apart, in words; empty when all were."""
    names = names_of(anatomy)
    hidden = ", ".join(names[place][0] for place in unseen(anatomy))
    return f"the rest holds what was not seen apart: {hidden}" if hidden else ""
