"""Prompts apart from decoding: speed, cache, time to first token, and what the drafter takes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from specscope.session.economics.state import Prefill

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from specscope.session.economics.state import Economics, RecordedRun
    from specscope.session.request import Request

LEAST_TOKENS: Final = 512
"""Computed prompt tokens before prefill speeds of two runs are compared: llama.cpp's default micro-batch."""

ALIKE: Final = 1.5
"""Prompts of two runs are compared when their mean lengths are within this factor: a forward of few rows costs about as
much as one of many, so that a token of a short prompt costs more."""


def prefill(ended: Sequence[Request], runs: Sequence[RecordedRun], *, drafts: bool) -> Prefill | None:
    """What is known of the prompts of ended requests; None before the first that began in sight.

    Args:
        ended: the requests.
        runs: recorded ones; one without a drafter tells what prompts take then.
        drafts: whether a drafter is at work.
    """
    whole = [r for r in ended if r.whole]
    if not whole:
        return None
    both = [(r.prompt_tokens, r.cached_tokens) for r in whole]
    pairs = [(p, c) for p, c in both if p is not None and c is not None]
    all_tokens = sum(p + c for p, c in pairs)
    told = [(r.prompt_tokens, r.prompt_ms) for r in whole]
    prompts = [(tokens, ms) for tokens, ms in told if tokens is not None and ms]
    tokens, took_ms = sum(n for n, _ in prompts), sum(ms for _, ms in prompts)
    waits = sorted(wait for r in whole if (wait := r.row().ttft_ms) is not None)
    part_ms, share, basis = _drafter(runs if drafts else (), tokens, took_ms, len(prompts))
    return Prefill(
        requests=len(whole),
        tokens=_total(p for p, _ in both),
        cached_tokens=_total(c for _, c in both),
        cache_share=sum(c for _, c in pairs) / all_tokens if all_tokens else None,
        tok_s=1000 * tokens / took_ms if took_ms > 0 else None,
        ttft_ms=waits[len(waits) // 2] if waits else None,
        ttft_p95_ms=waits[min(len(waits) - 1, int(0.95 * len(waits)))] if waits else None,
        drafter_ms=part_ms,
        drafter_share=share,
        basis=basis,
    )


def paid_back(told: Prefill, economics: Economics) -> Prefill:
    """With the output tokens after which decoding has gained the drafter's part again."""
    saved_ms = _saved_ms(economics)
    if told.drafter_ms is None or not saved_ms:
        return told
    return replace(told, pays_back_tokens=told.drafter_ms / saved_ms)


def _drafter(
    runs: Sequence[RecordedRun], tokens: int, took_ms: float, requests: int
) -> tuple[float | None, float | None, str]:
    """(milliseconds per request, share of prompt time, basis) of the drafter's part."""
    each = tokens / requests if requests else 0.0
    alike = (r for r in runs if r.prompt_tokens and each <= ALIKE * r.prompt_tokens and r.prompt_tokens <= ALIKE * each)
    plain = next((r for r in alike if r.prefill_tok_s and not r.drafts), None)
    if plain is not None and plain.prefill_tok_s and tokens >= LEAST_TOKENS and took_ms:
        extra = took_ms - 1000 * tokens / plain.prefill_tok_s
        if extra <= 0:  # other prompts, another load: the runs differ by more than the drafter takes
            return None, None, f"not told apart: prompts were no faster in {plain.name}, without a drafter"
        return extra / requests, extra / took_ms, f"prompt speed beside that of {plain.name}, without a drafter"
    return None, None, ""


def _saved_ms(economics: Economics) -> float | None:
    """What a token gains over plain decoding; None: unknown, or nothing."""
    if economics.plain is None or economics.speedup is None or economics.speedup.value <= 1:
        return None
    return economics.plain.ms * (1 - 1 / economics.speedup.value)


def _total(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
