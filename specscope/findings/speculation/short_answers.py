"""Most answers are so short that not even one full draft fits into them.

Looks at: how many tokens the latest requests generated, beside the draft width.

Why it matters: the first token comes with the prompt, and the last drafts are cut to what is left. An answer no
longer than a draft tells nothing of tau, cycle time or speed, and speculation has nothing to gain on it. A test at
64,000 tokens of context was run with answers of one token, and its figures were those of the prompt.

What to do: measure with answers of a few hundred tokens (``"n_predict"`` of the requests, ``--n-predict`` of the
server); if the work is such answers, judge it by time to first token.

Evidence: at least 8 requests that ended, and half of the latest 64 generated no more than the draft width and one
token (cleared below 30 %). Cancelled and lost ones are left out.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import SPECULATION
from specscope.findings.rule import Rule
from specscope.findings.unjudged import no_method, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

LATEST: Final = 64
MIN_REQUESTS: Final = 8

SHORT: Final = 0.5
FEWER: Final = 0.3

WIDEST: Final = 15
"""Of the drafters' trained blocks: tables may draft 48 or 64 tokens, and answers of 40 are not short."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    none = no_method(target)
    if none is not None and (target.config.types == () or not target.totals.cycles):
        return none
    ended = [r for r in target.requests[-LATEST:] if r.ended_at is not None and r.stop not in ("cancelled", "lost")]
    lengths = [row.generated for row in ended if row.generated is not None and row.whole]
    at_most = min(_width(target), WIDEST) + 1
    short = [n for n in lengths if n <= at_most]
    if len(lengths) < MIN_REQUESTS:
        return wait(target, f"{MIN_REQUESTS} requests that ended ({len(lengths)} so far)")
    if not case.holds(len(short) / len(lengths), raise_at=SHORT, clear_at=FEWER):
        return ()
    prompts = [row.prompt_tokens + (row.cached_tokens or 0) for row in ended if row.prompt_tokens is not None]
    return (
        RULE.found(
            case,
            f"{len(short)} of the latest {len(lengths)} answers have {at_most} tokens or fewer: no full draft fits",
            (
                ("answers", f"{median(lengths):.0f} tokens (median)"),
                *((("prompts", f"{median(prompts):,.0f} tokens (median)"),) if prompts else ()),
                ("draft width", f"{_width(target)}"),
                *_waits(target),
            ),
            'measure with answers of some hundred tokens ("n_predict", --n-predict); judge such short ones by time to '
            "first token",
            link=SPECULATION,
        ),
    )


def _width(target: Target) -> int:
    return target.economics.n_max or target.config.n_max_effective or WIDEST


def _waits(target: Target) -> tuple[tuple[str, str], ...]:
    prefill = target.prefill
    if prefill is None or prefill.ttft_ms is None:
        return ()
    return (("time to first token", f"{prefill.ttft_ms:.0f} ms (median)"),)


RULE = Rule("SPC132", "short_answers", "info", look)
