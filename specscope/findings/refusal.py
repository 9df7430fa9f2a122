"""Why a server that was told to speculate does not, so that each cause is told by one rule.

A server whose speculation cannot be set up goes on without it, and its slots say so (tools/server/server-context.cpp,
b11434). The log names most causes at its default verbosity; where it cannot be read, flags and files are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from specscope.findings.drafter_file import NEEDS_DRAFTER, misfit, vocabularies_differ, without_heads
from specscope.findings.rule import Inapplicable
from specscope.findings.unjudged import SLOTS, no_method, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Seen
    from specscope.session.state import Target

Cause: TypeAlias = Literal[
    "projector", "vocabulary", "heads", "architecture", "no drafter", "context", "failed", "unknown"
]

_REASONS: Final[tuple[tuple[str, Cause], ...]] = (
    ("vocab", "vocabulary"),
    ("is not eagle3", "architecture"),
    ("requires a draft context", "no drafter"),
)
"""What stands in the server's own reasons (common/speculative.cpp, b11434)."""


class Refusal(NamedTuple):
    """Why, and what shows it."""

    cause: Cause
    evidence: tuple[tuple[str, str], ...]


def speculates(target: Target) -> bool | None:
    """Whether any slot speculates, as /slots says; None: it does not say."""
    told = [slot.speculative for slot in target.slots if slot.speculative is not None]
    return any(told) if told else None


def refusal(target: Target) -> Refusal | None:
    """Why it does not; None: it was not told to, or it does, or nothing shows that it does not."""
    at_work = speculates(target)
    if not target.config.asked or at_work:
        return None
    by_log = _by_log(target)
    if by_log is not None or at_work is None:
        return by_log
    return _by_files(target)


def not_refused(target: Target, method: str = "") -> Seen:
    """What a rule says that tells of one reason, on a server that shows no such reason.

    Args:
        target: the server.
        method: the only one that the reason is about; empty: any.
    """
    asked = target.config.asked
    if not asked and (target.config.types is None or target.server == "down"):
        return no_method(target) or ()
    if not asked:
        return Inapplicable("no drafting method was asked for")
    if method and method not in asked:
        return Inapplicable(f"{method} was not asked for")
    return wait(target, SLOTS) if speculates(target) is None else ()


def lacks_drafter(target: Target) -> tuple[str, ...]:
    """The methods asked for that need a draft model, on a server that was given none.

    Not known where its flags are out of sight, or where a model is fetched by its repository's name, because that may
    bring a drafter with it (common/arg.cpp, b11434).
    """
    flags = target.flags
    if flags is None or flags.draft_model or flags.draft_repo or flags.model_repo or "drafter" in target.models:
        return ()
    if "draft_model_loading" in target.log_said:
        return ()
    return tuple(method for method in target.config.asked if method in NEEDS_DRAFTER)


def _by_log(target: Target) -> Refusal | None:
    said = target.log_said
    by = said.get("speculation_not_supported", {}).get("by")
    reason = said.get("speculation_failed", {}).get("reason")
    shown = (("log", f"failed to initialize speculative decoding context: {reason}"),) if reason is not None else ()
    if by == "multimodal":
        return Refusal("projector", (("log", "speculative decoding is not supported by multimodal"),))
    if "vocab_incompatible" in said:
        part = said["vocab_incompatible"].get("part", "vocabularies")
        return Refusal("vocabulary", (("log", f"draft model {part} must match the target's"),))
    if reason is not None:
        return Refusal(_cause(reason), shown)
    if by == "context":
        return Refusal("context", (("log", "speculative decoding not supported by this context"),))
    return None


def _cause(reason: str) -> Cause:
    for text, cause in _REASONS:
        if text in reason:
            return cause
    return "failed"


def _by_files(target: Target) -> Refusal:
    asked = target.config.asked
    headless = without_heads(target) if "draft-mtp" in asked else None
    if headless is not None:
        return Refusal("heads", (("file", headless.path),))
    wrong = [(method, why) for method in asked if (why := misfit(target, method))]
    if wrong:
        return Refusal("architecture", tuple((f"drafter for {method}", why) for method, why in wrong))
    differ = vocabularies_differ(target) if "draft-simple" in asked else ()
    if differ:
        return Refusal("vocabulary", differ)
    lacking = lacks_drafter(target)
    if lacking:
        return Refusal("no drafter", (("draft model", "none given"),))
    if target.props is not None and target.props.vision:
        return Refusal("projector", (("/props", "the model reads images"),))
    return Refusal("unknown", ())
