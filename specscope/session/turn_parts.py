"""The parts of a turn of the server's loop in the order in which they happen, by one set of names everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.session.turn_state import Anatomy, Parts

PARTS: Final = 6
SUBMIT, VERIFY, SAMPLING, OTHER = 1, 2, 4, 5
"""Places of some parts."""

_NAMES: Final = (
    ("draft", "draft"),
    ("submit", "submit"),
    ("verify on device", "verify"),
    ("features", "features"),
    ("host sampling", "sampling"),
    ("other", "other"),
)
_REST: Final = ("the rest", "rest")
"""The last part where others are within it."""
_VERIFY_NAMES: Final = {
    (False, True): ("verify (computed by the CPU)", "verify (CPU)"),
    (True, False): ("compute on device", "compute"),
    (True, True): ("compute (by the CPU)", "compute"),
}
"""The names of the third part by (plain steps, computed by the CPU)."""


def is_by_cpu(anatomy: Anatomy) -> bool:
    """Whether the CPU computes within the submit, so that there is no device to wait for."""
    return anatomy.asynchronous is False


def is_plain(anatomy: Anatomy) -> bool:
    """Whether it is of plain steps, in which nothing is verified."""
    return anatomy.turns > 0 and not anatomy.cycles


def names_of(anatomy: Anatomy) -> list[tuple[str, str]]:
    """The names of the parts, long and short."""
    names = list(_NAMES)
    names[VERIFY] = _VERIFY_NAMES.get((is_plain(anatomy), is_by_cpu(anatomy)), names[VERIFY])
    if unseen(anatomy):
        names[OTHER] = _REST
    return names


def durations(parts: Parts, *, by_cpu: bool = False) -> tuple[float, ...]:
    """The durations in order; what was not seen apart is none here, and lies within ``other``.

    What the CPU computes within the submit is verifying.
    """
    submit, wait = parts.submit_ms or 0.0, parts.wait_ms or 0.0
    if by_cpu:
        submit, wait = 0.0, submit + wait
    found = (parts.draft_ms or 0.0, submit, wait, parts.features_ms or 0.0, parts.sampling_ms or 0.0, parts.other_ms)
    return found if min(found) >= 0 else tuple([max(0.0, ms) for ms in found])


def unseen(anatomy: Anatomy) -> list[int]:
    """The places of parts that were not seen apart."""
    parts, by_cpu = anatomy.parts, is_by_cpu(anatomy)
    seen = (
        parts.draft_ms,
        0.0 if by_cpu else parts.submit_ms,
        parts.submit_ms if by_cpu else parts.wait_ms,
        parts.features_ms,
        parts.sampling_ms,
    )
    return [place for place, ms in enumerate(seen) if ms is None]


def seen_parts(anatomy: Anatomy) -> tuple[tuple[str, float], ...]:
    """The short name and the mean milliseconds of each part that was seen apart, and of what is left."""
    hidden, every = unseen(anatomy), durations(anatomy.parts, by_cpu=is_by_cpu(anatomy))
    names = [short for _, short in names_of(anatomy)]
    skipped = {*hidden, *([SUBMIT] if is_by_cpu(anatomy) else [])}
    return tuple((names[place], ms) for place, ms in enumerate(every) if place not in skipped)
