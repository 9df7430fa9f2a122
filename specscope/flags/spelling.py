"""Today's names of flags in the words of builds from before they were renamed."""

from __future__ import annotations

from typing import Final

RENAMED: Final = 9000
"""The build from which flags of drafting have their present names, to about a hundred builds (llama.cpp PR 22397)."""

_OLD: Final = {
    "--spec-draft-n-max": "--draft-max",
    "--spec-draft-n-min": "--draft-min",
    "--spec-draft-p-min": "--draft-p-min",
    "--spec-draft-model": "-md",
    "--spec-draft-type-k": "-ctkd",
    "--spec-draft-type-v": "-ctvd",
    "--spec-ngram-mod-n-max": "--draft-max",
    "--spec-ngram-mod-n-min": "--draft-min",
    "--spec-ngram-mod-n-match": "--spec-ngram-size-n",
}
"""What llama.cpp b11434 says in place of its removed flags (common/arg.cpp), the other way round."""


def old_name(flag: str) -> str:
    """The name that a flag had before: sizes of n-gram tables were the same for all tables."""
    table, size, what = flag.partition("-size-")
    if not size:
        table, size, what = flag.partition("-min-hits")
    if size and table.startswith("--spec-ngram-"):
        return f"--spec-ngram{size}{what}"
    return _OLD.get(flag, flag)
