"""All places that set a setting, strongest first.

The order is that of llama.cpp: a request's own value goes before the server's; the command line before the
environment, which is applied first (``common_params_parse_ex`` of common/arg.cpp); the model file's
``general.sampling.*`` count only where neither set the value (``common_init_sampler_from_model`` of common/common.cpp);
the built-in default comes last. So seen on b10434, and on b11549 for what it has of it.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Final

from specscope.flags import samplers_named
from specscope.session.provenance.known import IK_LLAMA, P_MIN_FELL
from specscope.session.provenance.state import Claim
from specscope.session.provenance.values import as_value

if TYPE_CHECKING:
    from specscope.events import Json
    from specscope.flags import Value
    from specscope.session.provenance.known import Known
    from specscope.session.provenance.seen import Seen
    from specscope.session.provenance.state import Origin

DEFAULT_NAME: Final = "built in"
OVERRIDES_NOTHING: Final = frozenset({"--sampler-seq", "--sampling-seq"})
"""Flags that the server does not remember as the user's: the model file's value goes before them (common/arg.cpp)."""


def claims_on(known: Known, seen: Seen) -> list[Claim]:
    """The server-wide claims to one setting (those of a request are not among them), strongest first."""
    given = _given(known, seen)
    in_file = _in_file(known, seen)
    default = _default(known, seen)
    weak = [claim for claim in given if claim.name in OVERRIDES_NOTHING and in_file]
    strong = [claim for claim in given if claim not in weak]
    return [*strong, *in_file, *weak, *default]


def _given(known: Known, seen: Seen) -> list[Claim]:
    """Flags and variables, the last one first."""
    if seen.flags is None:
        return []
    line: Origin = "preset" if seen.under_router else "command line"
    return [
        Claim("environment" if t.origin == "environment" else line, t.name, _tidy(known, t.value))
        for t in reversed(seen.flags.told)
        if t.field == known.told_as
    ]


def _tidy(known: Known, value: Value) -> Value:
    tidy = as_value(known.name, value)
    return value if tidy is None else tidy


def _in_file(known: Known, seen: Seen) -> list[Claim]:
    """The model file's own sampling."""
    target = seen.models.get("target")
    if not known.gguf or target is None or known.gguf not in target.sampling:
        return []
    value = file_value(known, target.sampling[known.gguf])
    return [] if value is None else [Claim("GGUF", f"general.sampling.{known.gguf}", value)]


def file_value(known: Known, stored: Json) -> Value | None:
    """A value of the model file, as the server reads it: numbers from their text, samplers from a list of names."""
    if known.name == "samplers":
        return samplers_named(stored) if isinstance(stored, str) else None
    if isinstance(stored, str):
        try:
            stored = float(stored)
        except ValueError:
            return None
    if not isinstance(stored, (int, float)) or not isfinite(stored):
        return None
    return as_value(known.name, int(stored) if isinstance(known.default, int) else stored)


def _default(known: Known, seen: Seen) -> list[Claim]:
    value = default_of(known, seen)
    return [] if value is None else [Claim("server default", DEFAULT_NAME, value)]


def default_of(known: Known, seen: Seen) -> Value | None:
    """What the server takes when nobody says anything; None: it has no value of its own, or it is not known."""
    if seen.is_ik:
        if known.group != "sampling" or known.name in ("samplers", "adaptive_target", "adaptive_decay"):
            return None
        return IK_LLAMA.get(known.name, known.default)
    if known.name == "spec_draft_p_min" and seen.build is not None and seen.build < P_MIN_FELL:
        return 0.75
    if known.name == "kv_unified":  # "enabled if number of slots is auto", says its help
        slots = seen.flags.parallel if seen.flags is not None else None
        return None if seen.flags is None else slots is None or slots < 0
    return known.default
