"""The server's own counters are off, so that no figure here can be checked against them.

Looks at: /props ``endpoint_metrics``, or what /metrics answers.

Why it matters: the counters of /metrics are the referee: cycles captured are called exact only when they equal the
server's count (without them the totals that the log prints for each request are what is left to compare with), and
where nothing shows cycles one by one, they are the only count of drafts, widths and accepted positions. Reading them
costs the server nothing that could be measured.

What to do: start the server with ``--metrics``, or with ``LLAMA_ARG_ENDPOINT_METRICS=1`` in its environment, which also
reaches servers that another program starts (ollama starts its own without); a server inside Python has a parameter for
it.

Evidence: the server's own word for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.rule import Rule
from specscope.findings.unjudged import not_off
from specscope.session.endpoint_off import endpoint_off, switch_on

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    evidence = endpoint_off("metrics", target.props, target.sources)
    if not evidence:
        return not_off(target, "metrics")
    cycles = "seen one by one" if target.tier in ("cycles", "trace") else "not seen one by one either"
    return (
        RULE.found(
            case,
            f"/metrics is off: {_unchecked(target)}",
            (*evidence, ("cycles", cycles), *_checked(target)),
            switch_on("metrics", target.process, target.flags),
            settled=True,
        ),
    )


def _unchecked(target: Target) -> str:
    """What is lost: the log's totals of each request are counts of the server's too, where it is read."""
    if target.referee.requests_checked:
        return "only the log's totals of each request check the cycles that were seen"
    if any(s.name == "log" and s.state == "attached" for s in target.sources):
        return "only the log's totals of each request can check the cycles, and none was compared yet"
    return "nothing can be checked against the server's own counts"


def _checked(target: Target) -> tuple[tuple[str, str], ...]:
    """How many requests were as the log counts them."""
    checked, parted = target.referee.requests_checked, target.referee.requests_parted
    return (("requests", f"{checked - parted:,} of {checked:,} = the log's totals"),) if checked else ()


RULE = Rule("SPC601", "metrics_disabled", "info", look)
