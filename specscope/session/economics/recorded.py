"""What a recorded run tells of other runs of the same server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.session.economics.drafted_by import feeds
from specscope.session.economics.state import RecordedRun

if TYPE_CHECKING:
    from specscope.session.state import Target


def recorded_run(target: Target, name: str) -> RecordedRun:
    """What another run can be compared with, taken from a recording's last state."""
    economics, drafts = target.economics, bool(target.totals.cycles)
    return RecordedRun(
        name=name,
        plain=() if feeds(target.config.types, drafts=drafts) else economics.plain_points,
        costs=tuple(p for p in economics.costs if p.how in ("seen", "cut")),
        depth=economics.depth,
        slots=economics.slots,
        joint=target.totals.joint,
        prefill_tok_s=target.prefill.tok_s if target.prefill is not None else None,
        prompt_tokens=_mean_prompt(target),
        drafts=drafts,
    )


def _mean_prompt(target: Target) -> float | None:
    told = [r.prompt_tokens for r in target.requests if r.prompt_tokens is not None and r.whole]
    return sum(told) / len(told) if told else None
