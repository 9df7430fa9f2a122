"""The filter of the Cycles screen: words such as ``slot=0 a<3 ms>80``, all of which must hold."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Final

from specscope.session.tiers import SEEN_BY_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from specscope.session.state import Cycle

HINT: Final = "slot=0 task=7 w>=8 a<3 ms>80 by=cycles replay (all must hold)"

_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS: Final[dict[str, Callable[[Cycle], float | None]]] = {
    "slot": lambda c: c.slot,
    "task": lambda c: c.task,
    "w": lambda c: c.drafted,
    "a": lambda c: c.accepted,
    "ms": lambda c: c.gap_ms,
    "pos": lambda c: c.position,
}
_WORD: Final = re.compile(r"(slot|task|w|a|ms|pos)(!=|<=|>=|=|<|>)(\d+(?:\.\d+)?)$")
_BY: Final = re.compile(r"by=(trace|cycles|polled|log|stream)$")
"""The evidence, by its name, or by that of the source as recordings have it."""


class FilterError(ValueError):
    """A word that is no condition; the message names it."""


def parse_filter(text: str) -> Callable[[Cycle], bool] | None:
    """The condition a text stands for; None for an empty one.

    Raises:
        FilterError: a word is no condition.
    """
    conditions = [_condition(word) for word in text.lower().split()]
    if not conditions:
        return None
    return lambda cycle: all(holds(cycle) for holds in conditions)


def _condition(word: str) -> Callable[[Cycle], bool]:
    if word == "replay":
        return lambda cycle: cycle.replayed
    by = _BY.match(word)
    if by:
        return lambda cycle: by[1] in (SEEN_BY_NAMES[cycle.seen_by], cycle.seen_by)
    found = _WORD.match(word)
    if found is None:
        raise FilterError(f"cannot filter by {word!r}; write as {HINT}")
    value, compare, limit = _NUMBERS[found[1]], _COMPARE[found[2]], float(found[3])

    def holds(cycle: Cycle) -> bool:
        number = value(cycle)
        return number is not None and compare(number, limit)

    return holds


def filtered(cycles: Sequence[Cycle], condition: Callable[[Cycle], bool] | None) -> Sequence[Cycle]:
    """The cycles for which the condition holds."""
    return cycles if condition is None else [c for c in cycles if condition(c)]
