"""A variable in the server's environment sets something, and this server never reads it.

Looks at: the ``LLAMA_ARG_*`` variables of the server's process, which of them its build reads, and the values in
force.

Why it matters: the server says nothing. ``LLAMA_ARG_DRAFT_P_MIN`` was renamed and is passed over; some variables came
only with later builds; a server inside a Python process reads none at all. The setting that was meant is not there.

What to do: use the variable's present name, or the flag on the command line.

Evidence: the variable with its value, the value in force, and why it is not read: so on b10434 (its ``--help``) and
b11434 (common/arg.cpp). Old names count from b10434 on, or where the log shows another value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Rule
from specscope.findings.unjudged import ENVIRONMENT, wait
from specscope.flags import is_refused, names_today
from specscope.session.provenance.values import same, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

KNOWN_FROM: Final = 10434
"""The oldest build of which it is known that it does not read the old names."""

_SETTINGS: Final = {"LLAMA_ARG_DRAFT_P_MIN": "spec_draft_p_min", "LLAMA_ARG_DRAFT_P_SPLIT": "spec_draft_p_split"}


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    ignored = [*_old(target), *_unread(target)]
    if not ignored:
        return wait(target, ENVIRONMENT) if target.process is None or target.process.env is None else ()
    names = ", ".join(name for name, _, _ in ignored)
    return (
        RULE.found(
            case,
            f"this server does not read {names}",
            tuple((name, seen) for name, seen, _ in ignored),
            "; ".join(dict.fromkeys(advice for _, _, advice in ignored)),
            settled=True,
        ),
    )


def _old(target: Target) -> Iterator[tuple[str, str, str]]:
    """Variables by their old names, which today's builds pass over without a word."""
    flags, build = target.flags, target.provenance.build
    for name, text in flags.removed.items() if flags is not None else ():
        today = names_today(name)
        if not name.startswith("LLAMA_") or is_refused(name) or today is None:
            continue
        if (build is None or build < KNOWN_FROM) and not _shown_otherwise(target, name, text):
            continue
        yield (
            name,
            f"{text}: an old name",
            f"use {today[0]}" if today else f"remove {name}: nothing stands for it today",
        )


def _shown_otherwise(target: Target, name: str, text: str) -> bool:
    """Whether the log shows another value than an old variable's."""
    setting = target.provenance.setting(_SETTINGS.get(name, ""))
    if setting is None or setting.known_by != "log" or not isinstance(setting.value, (int, float)):
        return False
    try:
        return not same(setting.value, float(text))
    except ValueError:
        return False


def _unread(target: Target) -> Iterator[tuple[str, str, str]]:
    """Variables that this build, or a server inside Python, does not look at, where another value is in force."""
    inside = target.process is not None and target.process.host == "python"
    for setting in target.provenance.unread:
        claim = setting.claimed("environment")
        if claim is None or setting.value is None or same(claim.value, setting.value):
            continue
        seen = f"{written(claim.value)}, in force {written(setting.value)}: {claim.why}"
        yield (
            claim.name,
            seen,
            f"set it in the program's own parameters instead of {claim.name}"
            if inside
            else (f"give {setting.flag} {written(claim.value)} on the command line"),
        )


RULE = Rule("SPC113", "ignored_environment", "warning", look)
