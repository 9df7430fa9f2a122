"""Tokens were to be sampled on the device, but some requests do not allow it: they are sampled on the host.

Looks at: the log's ``backend sampling is not compatible with grammar`` (or ``reasoning budget``), and requests that ask
for the probabilities of tokens before sampling (``n_probs``).

Why it matters: ``--backend-sampling`` leaves a few bytes per token to copy. Grammars (JSON schemas and tool calls
become one), reasoning budgets and ``n_probs`` want all logits on the host (llama.cpp pull requests 21870 and 21209,
tools/server/server-context.cpp), so that exactly those requests go the slow way, and comparisons mix both.

What to do: nothing, if such requests are rare. Else keep few candidates for them (``top_k``), or measure how much
``--backend-sampling`` gains for the others. The path is reported; what it costs here was not measured.

Evidence: the log's line within the last ten minutes, or the parameters of the latest request on /slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.as_written import as_written
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

LINK: Final = "https://github.com/ggml-org/llama.cpp/pull/21870"
CODE: Final = "backend_sampling_disabled"

WITHIN_S: Final = 600.0
"""A client that has not asked so for ten minutes has gone."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target, evidence = case.target, list[tuple[str, str]]()
    heard = target.log_heard.get(CODE)
    if heard is not None and case.session.at - heard.at <= WITHIN_S:
        reason = target.log_said.get(CODE, {}).get("reason", "the request")
        evidence.append(("log", f"backend sampling is not compatible with {reason} ({heard.times} times)"))
    if _wants_probabilities(target):
        evidence.append(("the latest request", f"n_probs {target.config.sampling['n_probs']}, before sampling"))
    if not evidence:
        return () if case.raised else _none_seen(target)  # a line of long ago ends what it raised
    evidence.append(("cost", "not measured here"))
    flag = as_written(target, "backend_sampling", "--backend-sampling")
    return (
        RULE.found(
            case,
            "some requests are sampled on the host although sampling on the device is on",
            tuple(evidence),
            f"keep few candidates for them (--top-k 40), or measure what {flag} gains for the others",
            link=LINK,
        ),
    )


def _none_seen(target: Target) -> Seen:
    """What is said where no request was kept from it: nothing only where requests are sampled on the device."""
    flags, asked = target.flags, target.config.sampling
    told = flags is not None and flags.backend_sampling is True
    if target.config.sampling_from == "request":
        on = asked.get("backend_sampling") is True or told
        return () if on else Inapplicable("the latest request is not sampled on the device (--backend-sampling)")
    if flags is not None and not told:
        return Inapplicable("sampling on the device is not asked for (--backend-sampling)")
    return wait(target, "a request whose parameters are seen (/slots)")


def _wants_probabilities(target: Target) -> bool:
    asked = target.config.sampling
    if target.config.sampling_from != "request" or asked.get("backend_sampling") is not True:
        return False
    return bool(asked.get("n_probs")) and not asked.get("post_sampling_probs")


RULE = Rule("SPC505", "backend_sampling_disabled", "info", look)
