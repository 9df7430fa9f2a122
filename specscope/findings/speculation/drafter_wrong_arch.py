"""The draft model's file was made for another method, or for another program.

Looks at: the method asked for against the drafter's ``general.architecture`` and Markov head in its GGUF header, and
the log of a server that does not start.

Why it matters: DFlash, DSpark and EAGLE-3 drafters read the target's hidden states and cannot stand in for each other
or for a plain draft model. Some pairs end the server while it loads. Others load, and draft noise without a word:
a DSpark file as draft-dflash and a DFlash file as draft-dspark, and either as draft-simple, lose with every cycle.
Converters of forks write names (``dflash-draft``) that llama.cpp does not know.

What to do: name the method that the file was made for with ``--spec-type`` (or leave it out: DFlash and DSpark files
are recognised), or convert the drafter anew with this build's ``convert_hf_to_gguf.py``.

Evidence: the two architectures (llama.cpp issue 25116; all pairs tried on b11549), or the log's ``unknown model
architecture`` and ``DFlash model has no target_layer_ids`` while the server is down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.drafter_file import NEEDS_DRAFTER, made_for, misfit
from specscope.findings.refusal import not_refused, refusal, speculates
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import HEADER, no_log

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.state import Target

LINK = "https://github.com/ggml-org/llama.cpp/issues/25116"
CONVERT = "convert the drafter anew with this build's convert_hf_to_gguf.py"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if target.server == "down":
        return _dead(case)
    why = refusal(target)
    if why is not None:
        return _found(case, "speculation is off", why.evidence) if why.cause == "architecture" else ()
    if not speculates(target):
        return not_refused(target)
    # A server that speculates with a file of an architecture unknown here is a build that knows it.
    drafter = target.models.get("drafter")
    if drafter is None:
        needed = any(method in NEEDS_DRAFTER for method in target.config.types or ())
        return HEADER if needed else Inapplicable("no method in force has a drafter of its own")
    if made_for(drafter) == "a model of its own":
        return ()
    wrong = [(method, words) for method in target.config.types or () if (words := misfit(target, method))]
    if not wrong:
        return ()
    evidence = tuple((f"drafter for {method}", words) for method, words in wrong)
    return _found(case, "it drafts noise", (*evidence, *_accepted(target)))


def _dead(case: Case) -> Seen:
    """The server ended while it loaded the drafter."""
    said = case.target.log_said
    if "dflash_layers_missing" in said:
        return _found(case, "the server does not start", (("log", "DFlash model has no target_layer_ids"),))
    arch = said.get("unknown_architecture", {}).get("arch")
    path = said.get("draft_load_failed", {}).get("path")
    if arch is None or path is None:
        return no_log(case.target) or ()
    return _found(
        case, "the server does not start", (("draft model", path), ("log", f"unknown model architecture: '{arch}'"))
    )


def _found(case: Case, outcome: str, evidence: tuple[tuple[str, str], ...]) -> tuple[Finding, ...]:
    summary = f"the draft model was not made for this method: {outcome}"
    return (RULE.found(case, summary, evidence, _advice(case.target), settled=True, link=LINK),)


def _advice(target: Target) -> str:
    drafter = target.models.get("drafter")
    made = made_for(drafter) if drafter is not None and target.server != "down" else "a model of its own"
    if made == "a block drafter":
        return "leave --spec-type out: the server recognises this drafter by itself"
    if made != "a model of its own":
        return f"set --spec-type {made}, which this file was made for"
    return f"set --spec-type to the method that the file was made for (draft-simple for a plain model), or {CONVERT}"


def _accepted(target: Target) -> tuple[tuple[str, str], ...]:
    totals = target.totals
    if totals.acceptance is None or not totals.drafted:
        return ()
    return (("accepted so far", f"{totals.acceptance:.1%} of {totals.drafted:,} draft tokens"),)


RULE = Rule("SPC109", "drafter_wrong_arch", "critical", look)
