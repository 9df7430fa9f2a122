"""Which sampling parameters change what is sampled, by the samplers that a request runs through.

``--samplers``, and ``"samplers"`` of a request, name the samplers that run and their order; the parameters of any other
are shown on /slots and do nothing. With mirostat only the temperature is left beside it, and a greedy request takes the
likeliest token whatever was cut off before (common/sampling.cpp and src/llama-sampler.cpp, b11434).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.provenance.known import SAMPLERS

if TYPE_CHECKING:
    from specscope.session.state import Target

_NARROWS: Final = {
    "top_k": ("top_k",),
    "top_p": ("top_p",),
    "min_p": ("min_p",),
    "typical_p": ("typ_p", "typical_p"),
    "top_n_sigma": ("top_n_sigma",),
}
"""Parameters that cut off unlikely tokens, each with the names of its sampler on /slots."""

_OTHERS: Final = {
    "temperature": ("temperature",),
    "repeat_penalty": ("penalties",),
    "presence_penalty": ("penalties",),
    "frequency_penalty": ("penalties",),
    "dry_multiplier": ("dry",),
    "xtc_probability": ("xtc",),
}


def chain(target: Target) -> tuple[str, ...]:
    """The samplers that run, in their order: the server's own where it shows none. With mirostat, only what is left."""
    if number(target, "mirostat"):
        return ("temperature",)
    shown = target.config.sampling.get("samplers")
    if not isinstance(shown, (list, tuple)):
        return SAMPLERS
    return tuple(str(name) for name in shown)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def has_effect(target: Target, parameter: str) -> bool:
    """Whether a parameter changes what is sampled. Of one that belongs to no sampler of the chain, it is assumed."""
    samplers = _NARROWS.get(parameter) or _OTHERS.get(parameter)
    if samplers is None:
        return True
    order = chain(target)
    if not any(name in order for name in samplers):
        return False
    return parameter not in _NARROWS or not _is_greedy(target, order)


def _is_greedy(target: Target, order: tuple[str, ...]) -> bool:
    heat = number(target, "temperature")
    return "temperature" in order and heat is not None and heat <= 0 and not number(target, "dynatemp_range")


def number(target: Target, name: str) -> float | None:
    """A numeric sampling parameter in force; None where it is not shown."""
    value = target.config.sampling.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
