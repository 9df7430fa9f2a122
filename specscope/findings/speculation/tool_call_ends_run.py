"""Some answers ended far too early in a run of long ones: a call of a tool ends an answer.

Looks at: chat requests of one limit that ended by themselves, beside the others of that limit.

Why it matters: a model that may call tools stops where it calls one. In a benchmark of long agent answers one session
ended that way after 1,134 tokens where others ran to 50,000 and more; its depth, acceptance and speed are those of a
shallow run, and an average with the others is of two workloads.

What to do: send the measured requests with ``"tool_choice": "none"`` or without tools, or leave those answers out
(``check --against`` compares with a run of whole ones).

Evidence: at least 3 long answers (a median of 1,000 tokens or more) and, as a quarter of all or fewer, answers of a
tenth of that or less which ended by themselves. Whether a chat has tools is seen on builds of 2025 and under
LLAMA_SERVER_SLOTS_DEBUG; elsewhere the long ones must all have run to their limit, as in a run of forced length.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Rule
from specscope.findings.unjudged import wait

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.findings.rule import Case, Seen
    from specscope.session.request_state import RequestRow

LINK: Final = "https://github.com/ggml-org/llama.cpp/blob/master/docs/function-calling.md"

LATEST: Final = 64
LEAST_LONG: Final = 3
LONG_TOKENS: Final = 1000
"""Answers that are long: a chat's seldom are, an agent's or a forced run's are."""

TENTH: Final = 0.1
SELDOM: Final = 0.25
"""More of them are the work itself: most answers of an agent are calls."""


def look(case: Case) -> Seen:
    """Judge one server."""
    comparable = False
    for kind in _alike(case.target.requests[-LATEST:]):
        usual = median(row.generated or 0 for row in kind)
        early = [row for row in kind if _ended_itself(row) and (row.generated or 0) <= TENTH * usual]
        others = [row for row in kind if row not in early]
        comparable = comparable or (usual >= LONG_TOKENS and len(others) >= LEAST_LONG)
        if not early or usual < LONG_TOKENS or len(others) < LEAST_LONG or len(early) > SELDOM * len(kind):
            continue
        tools = all(row.asked.kind == "tools" for row in early)
        if not tools and any(row.stop != "limit" for row in others):
            continue
        least = min(early, key=lambda row: row.generated or 0)
        return (
            RULE.found(
                case,
                f"{len(early)} of {len(kind)} long answers ended after {least.generated:,} tokens: a tool call?",
                (
                    ("ended early", ", ".join(f"{row.generated:,} tokens" for row in early[:LEAST_LONG])),
                    ("the others", f"{usual:,.0f} tokens (median)"),
                    ("ended by", "the model itself: an end token, a stop word or a call of a tool"),
                    ("tools", "offered in these requests" if tools else "not seen: this build does not show them"),
                ),
                'send measured requests with "tool_choice": "none" or without tools, or leave these answers out of the '
                "figures (--against a run of whole ones shows what they change)",
                link=LINK,
            ),
        )
    if comparable or case.raised:  # what was raised is over once its answers are no longer among the latest
        return ()
    return wait(case.target, f"{LEAST_LONG} long chat answers of one limit ({LONG_TOKENS:,} tokens and more)")


def _alike(rows: Iterable[RequestRow]) -> list[list[RequestRow]]:
    """Ended chats of the same limit."""
    kinds: dict[tuple[int | None, bool], list[RequestRow]] = {}
    for row in rows:
        ended = row.ended_at is not None and row.whole and row.stop not in ("cancelled", "lost")
        if ended and row.generated and row.asked.kind in ("chat", "tools"):
            kinds.setdefault((row.asked.limit, row.asked.kind == "tools"), []).append(row)
    return list(kinds.values())


def _ended_itself(row: RequestRow) -> bool:
    return row.stop in ("finished", "eos", "word")


RULE = Rule("SPC133", "tool_call_ends_run", "info", look)
