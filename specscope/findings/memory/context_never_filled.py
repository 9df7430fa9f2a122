"""The context is ten times as large as anything it ever held: its memory could serve something else.

Looks at: the most tokens that any slot held (/slots over the watch, and the server's own high-water mark on /metrics),
against the context of a slot, and the memory of its cache.

Why it matters: the cache is taken at load, for the whole context (llama.cpp src/llama-kv-cache.cpp; an H200's memory
did not grow by 10 MiB while 31,000 tokens came in). What never fills could hold a larger quant, a drafter, or more
slots. And figures measured at an empty context say nothing of a full one: attention costs grow with what is in it.

What to do: a smaller ``--ctx-size``, if longer prompts are not to come.

Evidence: at least an hour of work with 20 requests or 10,000 generated tokens, at most a tenth of the context filled,
and 256 MiB or more of cache that was never used. Below a tenth, even a context of half the size would be far too large.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from specscope.findings.as_written import as_written
from specscope.findings.room import slot_context, slots_share
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

HARDLY: Final = 0.1
MORE: Final = 0.15
"""Above it, a raised finding is cleared."""

LEAST_S: Final = 3600.0
LEAST_REQUESTS: Final = 20
LEAST_TOKENS: Final = 10_000

WORTH_BYTES: Final = 256 << 20
"""Less than that lets nothing else in: the smallest drafters take as much."""

STEP: Final = 1024
"""Contexts are advised in such steps."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    each, most = slot_context(target), _most(target)
    if not each:
        return wait(target, "the context of a slot (/slots)")
    reserved = target.memory.kv.reserved_bytes
    if reserved is not None and reserved < WORTH_BYTES:
        return Inapplicable(f"the whole KV cache takes less than {WORTH_BYTES >> 20} MiB")
    if most and most >= MORE * each:
        return ()
    idle = _idle_bytes(target, (most or 0) / each)
    if idle is not None and idle < WORTH_BYTES:
        return ()
    worked_s, worked = _worked(case)
    if not most or worked_s < LEAST_S or not worked:
        return wait(target, f"an hour of work, with {LEAST_REQUESTS} requests or {LEAST_TOKENS:,} tokens")
    if not case.holds(most / each, raise_at=HARDLY, clear_at=MORE):
        return ()
    evidence = [
        ("the most in a slot", f"{most:,} of {each:,} tokens ({most / each:.1%})"),
        ("seen for", f"{worked_s / 3600:.1f} h"),
    ]
    if idle is not None:
        evidence.append(("cache never used", f"{idle / 2**20:,.0f} MiB"))
    wanted = as_written(target, "ctx", "--ctx-size", str(_wanted(target, most)))
    return (
        RULE.found(
            case,
            f"the context is {each / most:.0f} times as large as anything it held",
            tuple(evidence),
            f"{wanted} holds twice the most that was seen; keep it only for prompts that are still to come",
        ),
    )


def _most(target: Target) -> int | None:
    """The most tokens that one slot held."""
    seen = [slot.fill_max_tokens for slot in target.slots if slot.fill_max_tokens is not None]
    counted = target.counters.tokens_max if target.counters is not None else None
    return max([*seen, *([counted] if counted is not None else [])], default=None)


def _idle_bytes(target: Target, filled: float) -> float | None:
    reserved = target.memory.kv.reserved_bytes
    return None if reserved is None else reserved * (1 - filled)


def _worked(case: Case) -> tuple[float, bool]:
    """For how long the high-water mark is known, and whether enough was done in that time."""
    target, at = case.target, case.session.at
    counters, process = target.counters, target.process
    since = max([case.session.started_at, *target.restarts[-1:]])
    ended = (request for request in target.requests if request.ended_at is not None)
    enough = next(islice(ended, LEAST_REQUESTS - 1, None), None) is not None
    if counters is not None and counters.tokens_max is not None:
        enough = enough or (counters.generated or 0) >= LEAST_TOKENS
        since = min(since, process.started) if process is not None and process.started is not None else since
    return at - since, enough


def _wanted(target: Target, most: int) -> int:
    """A context that holds twice as much, for all slots."""
    together = target.memory.kv.fill_max_tokens or most
    if slots_share(target):
        return _rounded(2 * max(most, together))
    return _rounded(2 * most) * max(1, len(target.slots))


def _rounded(tokens: int) -> int:
    return -(-tokens // STEP) * STEP


RULE = Rule("SPC404", "context_never_filled", "info", look)
