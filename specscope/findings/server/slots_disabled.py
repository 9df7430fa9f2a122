"""/slots is off, so that live figures, KV fill and the sampling of requests cannot be seen.

Looks at: /props ``endpoint_slots``, or what /slots answers.

Why it matters: /slots is what needs neither root nor a flag nor a log: the accepted length of nearly every cycle by
polling, how full each slot's context is, which methods are in force, and the parameters that each request is really
sampled with. It shows no text of requests.

What to do: drop ``--no-slots``; builds from before August 2025 need ``--slots``.

Evidence: the server's own word for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.rule import Rule
from specscope.findings.unjudged import not_off
from specscope.session.endpoint_off import endpoint_off, switch_on

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    evidence = endpoint_off("slots", target.props, target.sources)
    if not evidence:
        return not_off(target, "slots")
    cycles = "seen by the log or a trace" if target.tier in ("cycles", "trace") else "not seen"
    return (
        RULE.found(
            case,
            "/slots is off: KV fill and the requests' sampling cannot be seen",
            (*evidence, ("cycles", cycles)),
            switch_on("slots", target.process, target.flags),
            settled=True,
        ),
    )


RULE = Rule("SPC602", "slots_disabled", "info", look)
