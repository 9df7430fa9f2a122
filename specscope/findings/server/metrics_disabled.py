"""The server's own counters are off, so that no figure here can be checked against them.

Looks at: /props ``endpoint_metrics``, or what /metrics answers.

Why it matters: the counters of /metrics are the referee: cycles captured are called exact only when they equal the
server's count, and where nothing shows cycles one by one, they are the only count of drafts, widths and accepted
positions. Reading them costs the server nothing that could be measured.

What to do: start the server with ``--metrics``, or with ``LLAMA_ARG_ENDPOINT_METRICS=1`` in its environment, which
also reaches servers that another program starts (ollama starts its own without).

Evidence: the server's own word for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.endpoint_off import endpoint_off, switch_on
from specscope.findings.rule import Rule

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen


def look(case: Case) -> Seen:
    """Judge one server."""
    evidence = endpoint_off(case.target, "metrics")
    if not evidence:
        return ()
    cycles = "seen one by one" if case.target.tier in ("cycles", "trace") else "not seen one by one either"
    return (
        RULE.found(
            case,
            "/metrics is off: nothing can be checked against the server's own counts",
            (*evidence, ("cycles", cycles)),
            switch_on(case.target, "metrics"),
            settled=True,
        ),
    )


RULE = Rule("SPC601", "metrics_disabled", "info", look)
