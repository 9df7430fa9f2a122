"""The context was full and was shifted: the server dropped the middle of it and went on.

Looks at: the log's line about each shift, and the tokens that lie in a slot (/slots): they fall by half while its
request goes on.

Why it matters: the model goes on without half of what it was told, and with positions it was not trained on; answers
begin to repeat themselves (llama.cpp issue 25026), drafts are accepted because the text loops, or no longer at all,
and what the slot held is of no use to the next turn.

What to do: a larger ``--ctx-size``, or ``--no-context-shift``, which ends the answer instead (the default since August
2025); limit answers with ``n_predict``.

Evidence: the shifts of the latest 20 requests, each of which the server did on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.as_written import as_written
from specscope.findings.room import latest, slot_context
from specscope.findings.rule import Rule
from specscope.findings.unjudged import wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen

LINK: Final = "https://github.com/ggml-org/llama.cpp/issues/25026"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    shifted = [request for request in latest(target) if request.room.shifts]
    if not shifted:
        return () if latest(target) else wait(target, "a request")
    shifts, said = sum(request.room.shifts for request in shifted), target.log_said.get("context_shift", {})
    evidence = [("shifts", f"{shifts} in {len(shifted)} of the latest {len(latest(target))} request(s)")]
    if "n_discard" in said and "n_keep" in said:
        evidence.append(("log", f"n_keep = {said['n_keep']}, n_discard = {said['n_discard']} (the latest)"))
    each = slot_context(target)
    if each is not None:
        evidence.append(("context of a slot", f"{each:,} tokens"))
    larger = as_written(target, "ctx", "--ctx-size")
    return (
        RULE.found(
            case,
            "the context ran full and was shifted: the model lost half of what it was told",
            tuple(evidence),
            f"raise {larger}, or use --no-context-shift, which ends the answer instead",
            link=LINK,
        ),
    )


RULE = Rule("SPC406", "context_shift", "warning", look)
