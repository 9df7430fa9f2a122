"""The model is forced past its end and repeats itself: nearly every draft is accepted, and it means nothing.

Looks at: the latest requests with ``ignore_eos``, and how much of their drafts was accepted.

Why it matters: a model that may not stop falls into a loop, and a loop is what any drafter and table foresees. A
forced-length run showed +52 % with a flag that gave +1 % on real prompts and -30 % on prose; a loop of numbers had
97 % accepted. Such figures say nothing of real work.

What to do: measure with prompts that end by themselves: leave ``ignore_eos`` out of the requests and
``--ignore-eos`` off the command line.

Evidence: requests of at least 256 tokens and 200 drafted ones with 90 % accepted and more, and 40 % of their tokens
from drafts: a quarter of the latest such forced requests (cleared below an eighth). Acceptance by chance
(``--spec-synth-rates``) is left out. The text itself is never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import is_synthetic
from specscope.findings.rule import Collecting, Rule
from specscope.findings.unjudged import SYNTHETIC, no_method, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.request_state import RequestRow
    from specscope.session.state import Target

LINK: Final = "https://github.com/ggml-org/llama.cpp/issues/26100"

LATEST: Final = 64
"""Requests that are looked at."""

MIN_TOKENS: Final = 256
MIN_DRAFTED: Final = 200

ACCEPTED: Final = 0.9
"""Good pairs have 40 to 80 % on text that goes on."""

OF_DRAFTS: Final = 0.4
"""Share of the tokens that came from drafts: a table that hits seldom is often right."""

SHARE: Final = 0.25
LESS: Final = 0.125


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if is_synthetic(target):
        return SYNTHETIC
    latest = target.requests[-LATEST:]
    forced = [row for row in latest if row.asked.forced and row.drafted != 0 and row.accepted]
    if not forced:
        return () if case.raised else _none_forced(target, latest)  # what was raised is no longer among the latest
    width = target.config.n_max_effective
    long = [row for row in forced if (row.generated or 0) >= MIN_TOKENS and (_drafted(row, width) or 0) >= MIN_DRAFTED]
    if not long:
        most = max(row.generated or 0 for row in forced)
        return Collecting(f"a forced request of {MIN_TOKENS} tokens with {MIN_DRAFTED} drafted ones ({most} so far)")
    loops = [row for row in long if _loops(row, width)]
    if not case.holds(len(loops) / len(long), raise_at=SHARE, clear_at=LESS):
        return ()
    worst = max(loops, key=lambda row: row.generated or 0)
    rate = (worst.accepted or 0) / (_drafted(worst, width) or 1)
    return (
        RULE.found(
            case,
            f"{len(loops)} of {len(long)} requests forced past their end look like loops: {rate:.0%} accepted",
            (
                ("ignore_eos", f"on in {len(long)} of the latest requests"),
                ("longest of them", f"{worst.generated:,} tokens, {worst.accepted:,} accepted of drafts"),
                ("accepted", f"{rate:.1%} of the drafted tokens"),
                *((("tau", f"{worst.tau:.2f}"),) if worst.tau is not None else ()),
            ),
            'leave "ignore_eos" out of the requests (and --ignore-eos off the server), and measure with prompts that '
            "end by themselves",
            link=LINK,
        ),
    )


def _none_forced(target: Target, latest: tuple[RequestRow, ...]) -> Seen:
    """What is said where no request was forced past its end and had tokens of drafts accepted."""
    if not target.config.types and not target.totals.cycles:
        return no_method(target) or ()
    if any(row.asked.forced is not None for row in latest):
        return ()
    return wait(target, "a request whose parameters are seen (/slots)")


def _drafted(row: RequestRow, width: int | None) -> int | None:
    """Tokens drafted for a request; where polling did not see the widths, as many as the drafter drafts each time."""
    if row.drafted is not None or row.cycles is None or width is None:
        return row.drafted
    return row.cycles * width


def _loops(row: RequestRow, width: int | None) -> bool:
    accepted, drafted = row.accepted or 0, _drafted(row, width) or 0
    return accepted >= ACCEPTED * drafted and accepted >= OF_DRAFTS * (row.generated or 0)


RULE = Rule("SPC127", "degenerate_loop", "warning", look)
