"""A multimodal projector is loaded, and with it this build does not speculate.

Looks at: the methods asked for, /props ``modalities.vision``, whether the slots speculate, drafts made, and the log.

Why it matters: older builds and ik_llama.cpp switch speculation off when a projector is loaded, for text requests
too. Newer ones speculate; some drafters then fail on image turns only.

What to do: serve text without the projector (``--no-mmproj``, or drop ``--mmproj``), or update the server.

Evidence: the log's ``speculative decoding is not supported by multimodal``; or a model that reads images whose slots
do not speculate for no other reason seen; or no draft in 200 tokens by a drafter that should make one at each
(llama.cpp issue 17066).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.refusal import not_refused, refusal, speculates
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.undrafted import has_drafted, undrafted_tokens
from specscope.findings.unjudged import DRAFTS, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.state import Target

LINK = "https://github.com/ggml-org/llama.cpp/issues/17066"

MIN_TOKENS: Final = 200
"""Generated without a draft: a drafter drafts before each of them."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    why = refusal(target)
    if why is not None:
        return _found(case, why.evidence, settled=True) if why.cause == "projector" else ()
    if not speculates(target):
        return not_refused(target)
    if target.props is None:
        return wait(target, "/props, which tells whether the model reads images")
    if not target.props.vision:
        return Inapplicable("the model reads no images: no projector is loaded")
    if not _always_drafts(target.config.types or ()):
        return ()
    tokens = undrafted_tokens(target)
    if tokens is None:
        return () if has_drafted(target) else wait(target, DRAFTS)
    if tokens < MIN_TOKENS:
        return wait(target, f"{MIN_TOKENS} generated tokens ({tokens} so far, without a draft)")
    return _found(case, (("/props", "the model reads images"), ("generated", f"{tokens:,} tokens"), ("drafts", "0")))


def _always_drafts(types: tuple[str, ...]) -> bool:
    return bool(types) and all(name.startswith("draft-") for name in types)


def _found(case: Case, evidence: tuple[tuple[str, str], ...], *, settled: bool = False) -> tuple[Finding, ...]:
    flags = case.target.flags
    projector = (("projector", flags.mmproj),) if flags is not None and flags.mmproj else ()
    return (
        RULE.found(
            case,
            "a multimodal projector is loaded, and the server does not speculate with it",
            (("asked for", _asked(case.target)), *projector, *evidence),
            "for text start the server with --no-mmproj (or without --mmproj), or update it",
            settled=settled,
            link=LINK,
        ),
    )


def _asked(target: Target) -> str:
    return ", ".join(target.config.asked)


RULE = Rule("SPC111", "projector_disables_speculation", "warning", look)
