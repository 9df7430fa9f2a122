"""The server was told to speculate and does not, for a reason of its build or its command line.

Looks at: the methods asked for, whether the slots speculate, the server's reason in the log, and whether there is a
draft model for a method that needs one.

Why it matters: a server that cannot set speculation up goes on without it, at plain speed and with the drafter's
memory gone. Builds from before b8900 refuse recurrent and hybrid models outright; a drafting method without a draft
model is left out without a word.

What to do: as the reason says: update the server, give the draft model with ``--spec-draft-model``, or ask for a
method that fits.

Evidence: slots that do not speculate although methods were asked for, or the log's ``speculative decoding not
supported by this context`` and ``failed to initialize speculative decoding context`` (llama.cpp issue 20039; seen on
b11549). Or a drafter that is set up and makes no draft in 200 tokens, although nothing lets it keep drafts back: at
each token it should have made one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.dialect import flag_of
from specscope.findings.drafting import switches
from specscope.findings.refusal import lacks_drafter, not_refused, refusal, speculates
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.undrafted import has_drafted, undrafted_tokens
from specscope.findings.unjudged import DRAFTS, SLOTS, wait

if TYPE_CHECKING:
    from specscope.findings.refusal import Refusal
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.state import Target

LINK = "https://github.com/ggml-org/llama.cpp/issues/20039"

CHECKPOINTS_FROM: Final = 8900
"""From about this build on recurrent and hybrid models are verified with checkpoints (llama.cpp issue 20039)."""

MIN_TOKENS: Final = 200
"""Generated without a draft: a drafter drafts before each of them."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if not target.config.asked:
        return not_refused(target)
    why = refusal(target)
    if why is not None:
        return _refused(case, why) if why.cause in ("context", "failed", "no drafter", "unknown") else ()
    if speculates(target) is None:
        slots = target.provenance.setting("slots")
        off = slots is not None and slots.value is False
        return Inapplicable("/slots is off: it alone tells whether slots speculate") if off else wait(target, SLOTS)
    return _left_out(case) or _silent(case)


def _refused(case: Case, why: Refusal) -> tuple[Finding, ...]:
    target, asked = case.target, ", ".join(case.target.config.asked)
    seen = (("slots with speculation", f"0 of {len(target.slots)}"),) if speculates(target) is False else ()
    return (
        RULE.found(
            case,
            f"{asked} was asked for, but the server does not speculate{_summary(why)}",
            (("asked for", asked), *why.evidence, *seen, *_build(target)),
            _advice(target, why),
            settled=True,
            link=LINK,
        ),
    )


def _summary(why: Refusal) -> str:
    match why.cause:
        case "context":
            return ": its build cannot do it with this model"
        case "no drafter":
            return ": it has no draft model"
        case _:
            return ""


def _advice(target: Target, why: Refusal) -> str:
    model, plain = flag_of(target, "--spec-draft-model"), f"else run without {switches(target)}"
    match why.cause:
        case "no drafter":
            return f"give the draft model with {model}, or take the method out of --spec-type"
        case "context":
            return "update llama.cpp: newer builds verify such models with checkpoints; " + plain
        case "failed":
            return f"do as the log's reason says; {plain}"
        case _:
            return f"start the server with -lv 4: its log then says why; {plain}"


def _build(target: Target) -> tuple[tuple[str, str], ...]:
    build = target.provenance.build
    if build is None:
        return ()
    old = f", before checkpoints (about b{CHECKPOINTS_FROM})" if build < CHECKPOINTS_FROM else ""
    return (("build", f"b{build}{old}"),)


def _left_out(case: Case) -> tuple[Finding, ...]:
    """Others draft, but a method lacks its draft model."""
    lacking = lacks_drafter(case.target)
    if not lacking:
        return ()
    names, model = ", ".join(lacking), flag_of(case.target, "--spec-draft-model")
    return (
        RULE.found(
            case,
            f"{names} was asked for and is left out: it has no draft model",
            (("asked for", ", ".join(case.target.config.asked)), ("draft model", "none given")),
            f"give the draft model with {model}, or take {names} out of --spec-type",
            severity="warning",
            settled=True,
        ),
    )


def _silent(case: Case) -> Seen:
    """A drafter is set up and never drafts. Of a model that reads images the projector is to blame (its own rule)."""
    target = case.target
    types, props = target.config.types or (), target.props
    if not types or not all(name.startswith("draft-") for name in types) or _may_hold_back(target):
        return ()
    tokens = undrafted_tokens(target)
    if has_drafted(target) or (props is not None and props.vision):
        return ()
    if tokens is None:
        return wait(target, DRAFTS)
    if tokens < MIN_TOKENS:
        return wait(target, f"{MIN_TOKENS} generated tokens ({tokens} so far, without a draft)")
    return (
        RULE.found(
            case,
            f"{', '.join(types)} is on and has made no draft in {tokens:,} tokens",
            (("in force", ", ".join(types)), ("generated", f"{tokens:,} tokens"), ("drafts", "0"), *_build(target)),
            "start the server with -lv 4 and read its log; another build may do it; else run without "
            f"{switches(target)}",
            severity="warning",
            link=LINK,
        ),
    )


def _may_hold_back(target: Target) -> bool:
    """p_min and n_min may keep every draft back; where they are not known, so may they."""
    settings = [target.provenance.setting(name) for name in ("spec_draft_p_min", "spec_draft_n_min")]
    return any(setting is None or setting.value != 0 for setting in settings)


RULE = Rule("SPC108", "speculation_refused", "critical", look)
