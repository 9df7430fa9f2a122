"""Prompts are computed again from their beginning, although the slot held nearly all of them.

Looks at: the log's line that says how much of a new prompt the chosen slot held already (similarity), against what was
taken from the cache and what was computed (/slots, the log), and the line that forces a full re-processing (-lv 4).

Why it matters: a chat or an agent sends its whole history with each turn, and only the end is new. Targets that cannot
drop the end of a sequence (sliding windows, recurrent and hybrid models) can only go back to a checkpoint; without one
they begin at zero, and each turn waits for its whole history (llama.cpp issues 21831, 22746, 25567).

What to do: keep more checkpoints (``--ctx-checkpoints``), keep the whole window (``--swa-full``, on models with one),
leave the model's reasoning in the history that is sent, and do not send ``"cache_prompt": false``.

Evidence: at least 2 of the latest 20 requests with prompts of 2,000 tokens or more of which the slot held 80 % and
less than 10 % was taken from the cache (thresholds of those reports). What it took is told; it is no time of a cycle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.as_written import as_written
from specscope.findings.room import latest
from specscope.findings.rule import Collecting, Rule
from specscope.findings.unjudged import wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.request_state import RequestRow
    from specscope.session.state import Target

LINK: Final = "https://github.com/ggml-org/llama.cpp/issues/21831"

HELD: Final = 0.8
REUSED: Final = 0.1
LONG_TOKENS: Final = 2000
"""A shorter prompt is computed in less than a second on most machines."""

AGAIN: Final = 2
"""Once may be a slot that was just restored or cleared."""
ONCE: Final = 1
"""A raised finding stays while one of the latest requests did so."""

WINDOW: Final = "attention.sliding_window"
"""A key of the header of models with a sliding window."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    again = [request for request in latest(target) if _is_again(request)]
    held = [request for request in latest(target) if _is_held(request)]
    if not case.holds(len(again), raise_at=AGAIN, clear_at=ONCE):
        if again:
            return Collecting("a second prompt that is computed again")
        if case.raised or len(held) >= AGAIN:  # what was raised is over once it is no longer among the latest
            return ()
        needs = f"{AGAIN} prompts of {LONG_TOKENS:,} tokens or more which their slot held, by the log"
        return wait(target, f"{needs} ({len(held)} so far)")
    last, forced = again[-1], sum(request.room.forced for request in again)
    evidence = [
        ("computed again", f"{len(again)} of {len(held)} long prompts that their slot held"),
        ("the latest", _told(last)),
    ]
    waits = [request.ttft_ms for request in again if request.ttft_ms is not None]
    if waits:
        evidence.append(("until the first token", f"{sum(waits) / len(waits) / 1000:.1f} s on average"))
    if forced:
        evidence.append(("log", f"forcing full prompt re-processing, for {forced} of them"))
    return (
        RULE.found(
            case,
            "prompts are computed again from their beginning although their slot held them",
            tuple(evidence),
            _advice(target),
            link=LINK,
        ),
    )


def _is_held(request: RequestRow) -> bool:
    long = (request.prompt_tokens or 0) + (request.cached_tokens or 0) >= LONG_TOKENS
    return long and request.room.similarity is not None and request.room.similarity >= HELD


def _is_again(request: RequestRow) -> bool:
    if not _is_held(request):
        return False
    computed, cached = request.prompt_tokens or 0, request.cached_tokens
    return request.room.forced if cached is None else cached < REUSED * (computed + cached)


def _told(request: RequestRow) -> str:
    held = f"{request.room.similarity:.0%} of it held" if request.room.similarity is not None else ""
    cached = f", {request.cached_tokens:,} from the cache" if request.cached_tokens is not None else ""
    return f"{held}, {request.prompt_tokens or 0:,} tokens computed{cached}"


def _advice(target: Target) -> str:
    more = as_written(target, "ctx_checkpoints", "--ctx-checkpoints")
    given = target.flags.ctx_checkpoints if target.flags is not None else None
    now = f" (now {given})" if given is not None else ""
    model = target.models.get("target")
    window = model is None or not model.hparams or bool(model.hparams.get(WINDOW))
    whole = ", --swa-full to keep the whole window" if window else ""
    return (
        f"keep more checkpoints with {more}{now}{whole}, leave the reasoning in the history that is sent, and do not "
        'send "cache_prompt": false'
    )


RULE = Rule("SPC405", "prompt_reprocessed", "warning", look)
