"""What follows from figures of which some are unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_DIGITS: Final = 18
"""Of a whole number in the log: more are no count of anything."""

Number = TypeVar("Number", int, float)


def sum_if_known(values: Sequence[Number | None]) -> Number | None:
    """The sum; None when one of them is unknown, or when there is none."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(values) else None


def most_if_known(values: Sequence[Number | None]) -> Number | None:
    """The greatest; None when one of them is unknown, or when there is none."""
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def number_said(said: Mapping[str, Mapping[str, str]], code: str, field: str) -> int | None:
    """A whole number that a line of the log told; None without the line, the field, or a number in it."""
    text = said.get(code, {}).get(field, "")
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None
