"""The names that llama-server knows its samplers by, and the other spellings it takes for them.

From ``common_sampler_types_from_names``, ``_from_chars`` and ``common_sampler_type_to_chr`` of common/sampling.cpp,
llama.cpp b11434. /props and /slots list them by these names.
"""

from __future__ import annotations

from typing import Final

_LETTERS: Final = {
    "d": "dry",
    "k": "top_k",
    "y": "typ_p",
    "p": "top_p",
    "s": "top_n_sigma",
    "m": "min_p",
    "t": "temperature",
    "x": "xtc",
    "i": "infill",
    "e": "penalties",
    "a": "adaptive_p",
}
_SHORT: Final = {"nucleus": "top_p", "temp": "temperature", "typ": "typ_p"}
_SPELLINGS: Final = _SHORT | {
    spelling: name for name in _LETTERS.values() for spelling in (name, name.replace("_", "-"), name.replace("_", ""))
}


def samplers_named(text: str) -> tuple[str, ...]:
    """The samplers of a list such as ``top_k;temp``, in its order; names that the server does not know are dropped."""
    return tuple(_SPELLINGS[word] for word in text.lower().split(";") if word in _SPELLINGS)


def samplers_lettered(text: str) -> tuple[str, ...]:
    """The samplers of a sequence of letters such as ``kt``."""
    return tuple(_LETTERS[letter] for letter in text if letter in _LETTERS)
