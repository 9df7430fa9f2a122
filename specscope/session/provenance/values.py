"""Values of settings: as they were written, and when two of them are the same."""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.flags import Value

TOLERANCE: Final = 1e-6
"""The server widens float32 to double: 0.05 is printed as 0.05000000074505806."""

RANDOM_SEED: Final = 2**32 - 1
"""``LLAMA_DEFAULT_SEED`` (include/llama.h): a random seed; on the command line it is -1."""


def as_value(name: str, value: Any) -> Value | None:  # noqa: ANN401  free JSON
    """A value from JSON as somebody would write it; None for what is no setting's value."""
    if name == "seed" and value == RANDOM_SEED:
        return -1
    if isinstance(value, float):
        return as_written(value)
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return _of_words(cast("list[object]", value))
    return None


def _of_words(words: list[object]) -> Value | None:
    """A list of names, or one of numbers."""
    if all(isinstance(word, (int, float)) for word in words):
        return tuple(float(cast("float", word)) for word in words)
    return tuple(str(word) for word in words)


@lru_cache(maxsize=512)
def as_written(value: float) -> float:
    """The shortest decimal that becomes this value as float32; the value itself where it is no float32."""
    try:
        bits = struct.pack("f", value)
    except OverflowError:
        return value
    if not math.isfinite(value) or struct.unpack("f", bits)[0] != value:
        return value
    shorter = (float(f"{value:.{digits}g}") for digits in range(6, 10))
    return next((short for short in shorter if struct.pack("f", short) == bits), value)


def written(value: Value | None) -> str:
    """A value as somebody would write it; a dash where it is not known."""
    match value:
        case None:
            return "—"
        case bool():
            return "on" if value else "off"
        case float():
            return f"{value:g}"
        case tuple():
            return ", ".join(word if isinstance(word, str) else f"{word:g}" for word in value)
        case _:
            return str(value)


def any_of(values: Iterable[Value]) -> str:
    """Values of which any is right, in words."""
    return " or ".join(written(value) for value in values)


def same(one: Value | None, other: Value | None) -> bool:
    """Whether two values mean the same to the server, as far as their numbers tell."""
    if one is None or other is None:
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return one == other
