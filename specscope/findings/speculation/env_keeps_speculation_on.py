"""The command line ends in ``--spec-type none``, and the server speculates all the same.

Looks at: every ``--spec-type`` of the command line, ``LLAMA_ARG_SPEC_TYPE``, and what /slots shows.

Why it matters: the values of environment and command line add up, and ``none`` takes nothing away; the server's own
warning that the variable "will be overwritten" is wrong here. A run meant as the baseline without speculation is none.

What to do: unset ``LLAMA_ARG_SPEC_TYPE`` (and drop earlier ``--spec-type`` flags) instead of adding ``none``.

Evidence: ``none`` as the last value on the command line, a method before it, and a slot with ``"speculative": true``
(measured on b10434; the same code in b11434, common/arg.cpp).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.refusal import speculates
from specscope.findings.rule import Rule
from specscope.findings.unjudged import COMMAND_LINE, SLOTS, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.flags import ServerFlags, Told

VARIABLE: Final = "LLAMA_ARG_SPEC_TYPE"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if target.flags is None:
        return wait(target, COMMAND_LINE)
    told = _told(target.flags)
    if not told or told[-1].origin != "command line" or told[-1].value != ("none",):
        return ()
    before = [one for one in told if one.value != ("none",)]
    if not before:
        return ()
    at_work = speculates(target)
    if at_work is None:
        return wait(target, SLOTS)
    if not at_work:
        return ()
    types = target.config.types or ()
    by_environment = any(one.origin == "environment" for one in before)
    return (
        RULE.found(
            case,
            f"speculation is still on ({', '.join(types)}): --spec-type none does not switch it off",
            (
                *((one.name, _words(one)) for one in told),
                ("in force", ", ".join(types) or "speculation, by /slots"),
                *(_warning(target.log_said) if by_environment else ()),
            ),
            f"unset {VARIABLE} in the server's environment" if by_environment else "drop the earlier --spec-type flags",
            settled=True,
        ),
    )


def _told(flags: ServerFlags) -> list[Told]:
    """Each time that methods were given, in the order in which the server takes them."""
    return [one for one in flags.told if one.field == "spec_types"]


def _words(one: Told) -> str:
    return ",".join(str(name) for name in one.value) if isinstance(one.value, tuple) else str(one.value)


def _warning(said: dict[str, dict[str, str]]) -> tuple[tuple[str, str], ...]:
    """The server's own line about it, which says the opposite."""
    line = said.get("env_overridden", {})
    if line.get("variable") != VARIABLE:
        return ()
    return (("log, not true here", f"{VARIABLE} .. will be overwritten by {line.get('argument', '--spec-type')}"),)


RULE = Rule("SPC107", "env_keeps_speculation_on", "critical", look)
