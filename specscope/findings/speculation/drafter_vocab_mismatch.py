"""The draft model has another vocabulary than the target, so that the server will not use it.

Looks at: the methods asked for, the server's comparison in the log, and both models' tokenizers in their GGUF headers.

Why it matters: draft-simple hands token numbers from one model to the other. If tokenizer, special tokens or the
number of tokens differ, the server goes on without speculation, with the drafter's memory gone.

What to do: take a draft model of the same family and version as the target, or one converted with the target's
tokenizer; or drop ``--spec-draft-model``.

Evidence: the log's ``draft model .. must match target model to use speculation`` or ``the target and draft vocabs are
not compatible``, or headers that differ in what the server compares (common/speculative.cpp: tokenizer type,
bos and eos where they are added, more than 128 tokens), on a server whose slots do not speculate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.dialect import flag_of
from specscope.findings.drafter_file import vocabularies_differ
from specscope.findings.refusal import not_refused, refusal
from specscope.findings.rule import Rule

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    why = refusal(target)
    if why is None or why.cause != "vocabulary":
        return not_refused(target, "draft-simple")
    headers = tuple(row for row in vocabularies_differ(target) if row not in why.evidence)
    return (
        RULE.found(
            case,
            "the drafter's vocabulary is not the target's: speculation is off",
            (*why.evidence, *headers, ("slots with speculation", f"0 of {len(target.slots)}")),
            f"give a drafter with the target's vocabulary to {flag_of(target, '--spec-draft-model')}, "
            "or drop it to free its memory",
            settled=True,
        ),
    )


RULE = Rule("SPC110", "drafter_vocab_mismatch", "critical", look)
