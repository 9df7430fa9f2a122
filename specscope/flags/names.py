"""Names of flags and variables that changed: what stands for an old one today, and what a flag was called before.

llama.cpp renamed its drafting flags in spring 2026 (pull request 22397, around b9000); ik_llama.cpp has the old names.
"""

from __future__ import annotations

from typing import Final

from specscope.flags import table

RENAMED_FROM: Final = 9000
"""From about this build on only today's names are taken."""


def names_today(name: str) -> tuple[str, ...] | None:
    """What stands for an old flag or variable, one of these; empty: nothing does. None: it is no old name."""
    old = table.REMOVED_FLAGS | table.REMOVED_VARIABLES
    return old.get(name)


def is_refused(name: str) -> bool:
    """Whether today's builds end at once when they meet this old name, instead of passing it over."""
    return name in table.REMOVED_FLAGS or name in table.REFUSED_VARIABLES


def name_before(flag: str) -> str:
    """What a flag was called before it was renamed; itself where it was not.

    Sizes of n-gram tables were the same for all tables.
    """
    for what in ("-size-", "-min-hits"):
        kind, found, rest = flag.partition(what)
        if found and kind.startswith("--spec-ngram-"):
            return f"--spec-ngram{found}{rest}"
    return table.OLD_NAMES.get(flag, flag)
