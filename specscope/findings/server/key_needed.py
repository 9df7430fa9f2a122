"""The server wants a key, and none that it takes was given: nothing can be seen.

Looks at: what /props, /metrics and /slots answer.

Why it matters: with ``--api-key`` a llama-server answers nothing but /health without the key. Each try with a wrong
one is a warning in its log, so specscope tries once and then waits until the server has been away.

What to do: give the key with ``--api-key-file FILE``, or in ``LLAMA_API_KEY``, and start specscope again.

Evidence: the server's answer (status 401 or 403).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.rule import Collecting, Inapplicable, Rule

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if target.server == "unknown":
        return Collecting("the server's first answer")
    if target.server == "down":
        return Inapplicable("the server is down")
    if target.server != "needs_key":
        return ()
    told = target.flags is not None and (target.flags.has_api_key or target.flags.api_key_file is not None)
    return (
        RULE.found(
            case,
            "the server wants a key: nothing of it can be seen",
            (
                ("answer", target.server_detail or "401 Unauthorized"),
                *((("command line", "a key is set there"),) if told else ()),
            ),
            "give the key that the server was started with: --api-key-file FILE or LLAMA_API_KEY",
        ),
    )


RULE = Rule("SPC604", "key_needed", "warning", look)
