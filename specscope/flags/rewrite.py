"""A server's arguments made into those of another run: without speculation, or with another value of a flag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.flags.parse import NAMES, grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from specscope.flags.server_flags import ServerFlags

SPEC_TYPE: Final = "LLAMA_ARG_SPEC_TYPE"
"""The one variable that no flag overrides: ``--spec-type`` adds to it, and ``none`` clears nothing (llama.cpp b11434,
common/arg.cpp)."""

_SHORT: Final = frozenset(
    ["-td", "-tbd", "-Cd", "-Crd", "-Cbd", "-Crbd", "-cd", "--ctx-size-draft", "-lcs", "--lookup-cache-static"]
) | {"-lcd", "--lookup-cache-dynamic"}
"""Flags of the drafter, and of n-gram tables on disk, whose names do not say so."""

PRESETS: Final = ("--fim-qwen-7b-spec", "--fim-qwen-14b-spec")
"""Bare flags that bring model and drafter together: neither can be had without the other."""

WIDTH_FLAGS: Final = {
    "ngram-simple": "--spec-ngram-simple-size-m",
    "ngram-map-k": "--spec-ngram-map-k-size-m",
    "ngram-map-k4v": "--spec-ngram-map-k4v-size-m",
    "ngram-mod": "--spec-ngram-mod-n-max",
}
"""By method, the flag of its width (common_speculative_n_max() of common/speculative.cpp, llama.cpp b11434).

Those that begin with ``draft-`` share one; ngram-cache has none.
"""

DRAFT_WIDTH: Final = "--spec-draft-n-max"
NGRAM_MOD_LEAST: Final = 48
"""The server's own least width of ngram-mod (common/common.h, b11434)."""

RATES: Final = "--spec-synth-rates"
"""Acceptance by chance, one rate for each position: the server refuses another number of them."""


class Rewritten(NamedTuple):
    """Arguments of another run, and what was left out of them, by argument."""

    arguments: list[str]
    left_out: list[list[str]]


def without(arguments: Sequence[str], unwanted: Callable[[str], bool]) -> Rewritten:
    """The arguments less those whose name is not wanted, with their values."""
    kept: list[str] = []
    left_out: list[list[str]] = []
    for name, words in grouped(arguments):
        if unwanted(name):
            left_out.append(words)
        else:
            kept += words
    return Rewritten(kept, left_out)


def is_speculative(name: str) -> bool:
    """Whether a flag is about drafting: the method, the drafter, its width, its memory, its threads."""
    if name in NAMES:
        return NAMES[name][0].field.startswith(("spec_", "draft_"))
    return name.startswith("--spec-") or "-draft" in name or name in _SHORT


def speculative_variables(env: Mapping[str, str]) -> list[str]:
    """The variables that set up drafting, of those that a server was started with."""
    return [n for n in env if n.startswith("LLAMA_ARG_") and ("_SPEC_" in n or "DRAFT" in n or n == SPEC_TYPE)]


def with_value(arguments: Sequence[str], flag: str, value: str) -> list[str]:
    """The arguments with a flag set to a value, under whatever name it was given before."""
    field = NAMES[flag][0].field if flag in NAMES else None
    same = {n for n, (known, _) in NAMES.items() if known.field == field} if field is not None else {flag}
    return [*without(arguments, lambda name: name in same).arguments, flag, value]


def with_width(arguments: Sequence[str], flags: ServerFlags, types: Collection[str], width: int) -> list[str]:
    """The arguments with drafts of at most ``width`` tokens, for each of the methods in force.

    A least width above that would leave no draft at all, so it is lowered too.
    """
    changed = list(arguments)
    rates = next((words[1] for name, words in grouped(arguments) if name == RATES and words[1:]), None)
    if rates is not None:
        changed = with_value(changed, RATES, ",".join(rates.split(",")[:width]))
    wanted = [DRAFT_WIDTH if name.startswith("draft-") else WIDTH_FLAGS.get(name) for name in types]
    for flag in dict.fromkeys(wanted):
        if flag is not None:
            changed = with_value(changed, flag, str(width))
    least = {"--spec-draft-n-min": flags.spec_draft_n_min or 0, "--spec-ngram-mod-n-min": 0}
    if "ngram-mod" in types:
        given = flags.spec_ngram_mod_n_min
        least["--spec-ngram-mod-n-min"] = NGRAM_MOD_LEAST if given is None else given
    for flag, tokens in least.items():
        changed = with_value(changed, flag, str(width)) if tokens > width else changed
    return changed
