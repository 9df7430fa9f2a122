"""Only n-gram tables draft here, and they have not made one draft: no text repeated itself for long enough.

Looks at: the methods in force, and how many tokens the server has generated without a draft.

Why it matters: a table drafts only when the last tokens were there before: 12 of them by default, 24 for ngram-mod,
which also keeps drafts back that are shorter than 48. Short answers and prose never repeat so much. The search is not
free either: one report saw 3 % less speed and no draft at all.

What to do: for chat and prose use a drafter, or a table that matches less (``--spec-ngram-map-k4v-size-n`` 8 to 12);
keep ngram-mod for edits of text that is in the prompt.

Evidence: at least 2,000 tokens since the server started and no draft, by its own counters or by a log or a trace that
shows each cycle: several answers, or one that would have repeated itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import switches
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.undrafted import has_drafted, undrafted_tokens
from specscope.findings.unjudged import DRAFTS, no_method, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

LINK = "https://github.com/ggml-org/llama.cpp/pull/19164"

MIN_TOKENS: Final = 2000
"""Four answers of the usual length. A table that has found nothing in so much text does not fit its work."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    types = target.config.types
    if not types or not all(name.startswith("ngram-") for name in types):
        return no_method(target) or Inapplicable("a drafter drafts, not n-gram tables alone")
    tokens = undrafted_tokens(target)
    if tokens is None:
        return () if has_drafted(target) else wait(target, DRAFTS)
    if tokens < MIN_TOKENS:
        return wait(target, f"{MIN_TOKENS:,} generated tokens ({tokens:,} so far, without a draft)")
    return (
        RULE.found(
            case,
            f"n-gram speculation has made no draft in {tokens:,} tokens",
            (
                ("methods", ", ".join(types)),
                ("generated", f"{tokens:,} tokens"),
                ("drafts", "0"),
                *((name, needs) for name in types if (needs := _needs(target, name))),
            ),
            "for chat or prose use a drafter, or --spec-type ngram-map-k4v with --spec-ngram-map-k4v-size-n 8; "
            f"else run without {switches(target)}",
            link=LINK,
        ),
    )


def _needs(target: Target, name: str) -> str:
    """What a table waits for, by its settings; empty where it has none (ngram-cache)."""
    prefix = f"spec_{name.replace('-', '_')}_"
    match = _value(target, prefix + ("n_match" if name == "ngram-mod" else "size_n"))
    least = _value(target, prefix + "n_min")
    if match is None:
        return ""
    return f"needs {match} tokens that were there before" + (
        f", and drafts of at least {least}" if least is not None else ""
    )


def _value(target: Target, name: str) -> int | None:
    setting = target.provenance.setting(name)
    return setting.value if setting is not None and isinstance(setting.value, int) else None


RULE = Rule("SPC105", "ngram_never_drafts", "warning", look)
