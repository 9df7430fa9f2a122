"""A slot's context is nearly full: drafts get narrower, then the answer ends or the context is shifted.

Looks at: the tokens that lie in a slot that was at work during the watch, against its context (/slots); answers that
ended there (the log's ``truncated = 1``), and prompts that were refused because they are longer than it.

Why it matters: drafts are cut to what still fits (``n_ctx - n_tokens - 2``, llama.cpp tools/server/server-context.cpp),
so that the last cycles verify less and less. Then the answer is cut off in the middle, or the context is shifted.

What to do: a larger ``--ctx-size``. Where each slot has only its part of it, ``--kv-unified`` lets one use what others
leave, and fewer ``--parallel`` slots make the parts larger.

Evidence: 95 % or more of the slot filled: a context of 4,096 then has room for one answer of 200 tokens. It is a
warning where the slot's latest answer was cut off there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.as_written import as_written
from specscope.findings.room import latest, slots_share
from specscope.findings.rule import Rule
from specscope.findings.unjudged import wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.request_state import RequestRow, Slot

NEARLY: Final = 0.95
NOT_SO: Final = 0.9
"""Below it, a raised finding is cleared."""

LEFT_FREE: Final = 2
"""Tokens that no draft takes."""


def look(case: Case) -> Seen:
    """Judge the slots of one server."""
    worked = {request.slot: request for request in latest(case.target)}
    slots = [slot for slot in case.target.slots if slot.id in worked]
    if not any(slot.fill_tokens is not None and slot.n_ctx for slot in slots):
        return wait(case.target, "a slot at work, with what lies in it (/slots)")
    looks = [_look_at(case, slot, worked[slot.id]) for slot in slots]
    return tuple(finding for finding in looks if finding is not None)


def _look_at(case: Case, slot: Slot, request: RequestRow) -> Finding | None:
    filled, most, part = slot.fill_tokens, slot.n_ctx, f"slot {slot.id}"
    if filled is None or not most or not case.holds(filled / most, raise_at=NEARLY, clear_at=NOT_SO, part=part):
        return None
    cut_off = bool(request.room.truncated) and not request.room.shifts
    evidence = [("filled", f"{filled:,} of {most:,} tokens ({filled / most:.1%})")]
    if case.target.config.types != ():
        evidence.append(("drafts that still fit", f"{max(0, most - filled - LEFT_FREE)} tokens at most"))
    if cut_off:
        evidence.append(("the latest answer", f"cut off by it after {request.generated or 0:,} tokens"))
    refused = case.target.log_heard.get("request_too_long")
    if refused is not None:
        evidence.append(("prompts refused as too long", str(refused.times)))
    said = "is full: its answer was cut off" if cut_off else "is nearly full"
    return RULE.found(
        case,
        f"the context of slot {slot.id} {said} ({filled:,} of {most:,} tokens)",
        tuple(evidence),
        _advice(case),
        part=part,
        severity="warning" if cut_off else None,
    )


def _advice(case: Case) -> str:
    target = case.target
    larger = f"raise {as_written(target, 'ctx', '--ctx-size')}"
    if len(target.slots) > 1 and slots_share(target) is False:
        fewer = as_written(target, "parallel", "--parallel")
        return f"{larger}, --kv-unified to let a slot use what others leave, or fewer slots ({fewer})"
    return larger


RULE = Rule("SPC407", "context_nearly_full", "info", look)
