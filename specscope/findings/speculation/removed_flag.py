"""The server does not start because its command line or environment has a flag that no longer exists.

Looks at: what the log of a server that is down says of its arguments.

Why it matters: llama.cpp renamed its drafting flags in spring 2026 and refuses the old names: wrappers and unit files
that still pass ``--draft-max`` keep the server in a restart loop.

What to do: replace the name as given in the finding; ``--ctx-size-draft`` has no successor, because the draft context
is as long as the target's.

Evidence: the log's ``error while handling argument "..": the argument has been removed`` or ``error: invalid
argument`` with an old name (both seen on b10434), and a server that is down. A server that runs with such a flag is of
an older build and healthy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.findings.unjudged import no_log
from specscope.flags import names_today

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

LINK = "https://github.com/ggml-org/llama.cpp/pull/22397"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if target.server == "unknown":
        return Collecting("the server's first answer")
    if target.server != "down":
        return Inapplicable("the server has started")
    name = _refused(target)
    today = names_today(name) if name is not None else None
    if name is None or today is None:
        return no_log(target) or ()
    return (
        RULE.found(
            case,
            f"the server does not start: {name} no longer exists",
            (("log", _line(target, name)), ("today", " or ".join(today) or "nothing stands for it")),
            _advice(name, today),
            settled=True,
            link=LINK,
        ),
    )


def _refused(target: Target) -> str | None:
    said = target.log_said
    line = said.get("arg_removed") or said.get("arg_invalid")
    return line.get("argument") if line is not None else None


def _line(target: Target, name: str) -> str:
    return (
        f'"{name}": the argument has been removed' if "arg_removed" in target.log_said else f"invalid argument: {name}"
    )


def _advice(name: str, today: tuple[str, ...]) -> str:
    where = "the server's environment" if name.startswith("LLAMA_") else "its command line"
    if not today:
        return f"remove {name} from {where}"
    return f"in {where} write {today[0]} instead of {name}" + (
        f" ({today[1]} where the n-gram table was meant)" if len(today) > 1 else ""
    )


RULE = Rule("SPC112", "removed_flag", "critical", look)
