"""The target's compute graph is built anew for most forwards instead of being used again.

Looks at: the log's ``graphs reused`` after each request, against the forwards that the request took (generated less
accepted tokens); LLAMA_GRAPH_REUSE_DISABLE in the environment; and on ik_llama.cpp, whether ``-gr`` was given.

Why it matters: a graph can be used again when the next forward has as many rows as the one before. Building it, and on
a GPU capturing it, takes the host a part of a millisecond to some milliseconds for each cycle. Drafts whose width
changes from cycle to cycle (``--spec-draft-p-min`` above 0) and slots that come and go prevent it.

What to do: drafts of one width (``--spec-draft-p-min 0``) where that measures faster; unset the variable; ``-gr`` on
ik_llama.cpp.

Evidence: at least 100 forwards of requests that ran alone, in half of which or less a graph was reused. At constant
width it is 94-96 % (an H200 with DFlash: 399 of 418), without a drafter 99 %; with widths that change between 1 and 15
it was 28 % on the same server (b11549, p_min 0.3). N-gram tables draft what they find, so that their widths change by
nature; they are not judged. What it costs here was not measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.as_written import as_written
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.state import Target

LINK: Final = "https://github.com/ggml-org/llama.cpp/blob/master/src/llama-context.cpp"
VARIABLE: Final = "LLAMA_GRAPH_REUSE_DISABLE"

RARELY: Final = 0.5
"""Of the forwards, those that reuse a graph: no more than build theirs, and midway between the two figures above."""
MORE: Final = 0.65
"""Above it, a raised finding is cleared."""

LEAST_FORWARDS: Final = 100

IK_FLAGS: Final = frozenset({"-gr", "--graph-reuse"})
"""Of ik_llama.cpp, where reuse is off by default (its pull request 947); no build of llama.cpp knows them."""


def look(case: Case) -> Seen:
    """Judge one server."""
    off = _switched_off(case)
    if off is not None:
        return (off,)
    target, graphs = case.target, case.target.graphs
    if any(t.startswith("ngram") for t in target.config.types or ()):
        return Inapplicable("n-gram tables draft what they find: widths change by nature")
    if graphs is None or graphs.forwards < LEAST_FORWARDS:
        forwards = graphs.forwards if graphs is not None else 0
        return wait(target, f"{LEAST_FORWARDS} forwards of requests that run alone, by the log ({forwards} so far)")
    if not case.holds(graphs.share, raise_at=RARELY, clear_at=MORE):
        return ()
    evidence = [
        ("graphs reused", f"{graphs.reused:,} of {graphs.forwards:,} forwards of {graphs.requests} request(s)"),
        ("forwards that built theirs", f"{1 - graphs.share:.0%}"),
    ]
    widths = sorted({width for width, _, _ in target.totals.joint if width > 0})
    if len(widths) > 1:
        evidence.append(("draft widths", f"{len(widths)} different ones, {widths[0]} to {widths[-1]}"))
    evidence.append(("cost", "not measured here"))
    return (
        RULE.found(
            case,
            f"the compute graph is built anew in {1 - graphs.share:.0%} of the forwards",
            tuple(evidence),
            _advice(target),
            link=LINK,
        ),
    )


def _switched_off(case: Case) -> Finding | None:
    """Where reuse is switched off, or was never switched on."""
    target = case.target
    env = target.process.env if target.process is not None else None
    value = env.get(VARIABLE, "").strip() if env is not None else ""
    by_value = value.isdecimal() and int(value) > 0
    if by_value or "graph_reuse_disabled" in target.log_said:
        told = ("environment", f"{VARIABLE}={value}") if by_value else ("log", "graph reuse disabled")
        return _off(case, told, f"take {VARIABLE} out of the server's environment")
    ik = target.props is not None and target.props.kind == "ik_llama.cpp"
    if ik and target.flags is not None and not IK_FLAGS & {*target.flags.unknown}:
        return _off(case, ("command line", "neither -gr nor --graph-reuse"), "start the server with --graph-reuse")
    return None


def _off(case: Case, told: tuple[str, str], advice: str) -> Finding:
    evidence = (told, ("cost", "not measured here"))
    return RULE.found(
        case, "compute graphs are never reused: it is switched off", evidence, advice, settled=True, link=LINK
    )


def _advice(target: Target) -> str:
    p_min = target.flags.spec_draft_p_min if target.flags is not None else None
    if p_min:
        constant = as_written(target, "spec_draft_p_min", "--spec-draft-p-min", "0")
        return f"compare with {constant}, which keeps drafts at one width; keep what is faster"
    return "drafts of one width (--spec-draft-p-min 0) and requests one at a time (--parallel 1) keep graphs: compare"


RULE = Rule("SPC508", "graphs_rebuilt", "info", look)
