"""Drives load: streamed completions, several at once, each reported as it goes."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

from specscope.lab.prompts import lab_prompt
from specscope.lab.streaming import CompletionStream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from specscope.lab.streaming import Clock, Report, RequestOutcome

REQUEST_TIMEOUT_S = 600.0


@dataclass(frozen=True, kw_only=True)
class LoadPlan:
    """What to ask of a server.

    Attributes:
        requests: How many in all; None for as many as fit in ``duration_s``.
        tokens: Tokens to generate in each.
        concurrency: How many at once.
        duration_s: No request starts later than this; the ones under way are read to their end.
        seed: Of the first request's sampling and prompt; each further request has the next one.
        sampling: Fields of the request body such as ``temperature``; the server's defaults count for others.
        repeat: Prompts that say a phrase over and over, for n-gram methods.
        cancel_after: Hang up after this many chunks.
        stop: Stop words.
        cache_prompt: Let the server reuse what a slot already holds.
    """

    requests: int | None = 8
    tokens: int = 128
    concurrency: int = 1
    duration_s: float | None = None
    seed: int = 1
    sampling: Mapping[str, object] = field(default_factory=dict[str, object])
    ignore_eos: bool = True
    repeat: bool = False
    cancel_after: int | None = None
    stop: tuple[str, ...] = ()
    cache_prompt: bool = True

    def body(self, number: int) -> dict[str, object]:
        """Returns the body of request ``number``, counted from 0."""
        seed = self.seed + number
        return {
            "prompt": lab_prompt(seed, repeat=self.repeat),
            "n_predict": self.tokens,
            "seed": seed,
            "ignore_eos": self.ignore_eos,
            "stop": list(self.stop),
            "cache_prompt": self.cache_prompt,
            "stream": True,
            "timings_per_token": True,
            **self.sampling,
        }


async def run_load(
    url: str,
    plan: LoadPlan,
    *,
    api_key: str | None = None,
    clock: Clock = time.time,
    report: Report | None = None,
) -> list[RequestOutcome]:
    """Sends the plan's requests and reads every stream.

    Args:
        url: Base URL of the server.
        plan: What to ask.
        api_key: Sent as a bearer token.
        clock: Gives the ``at`` of facts, in seconds.
        report: Called with a ``StreamStepped`` for every change of a request's totals, and a
            ``StreamEnded`` last.

    Returns:
        The outcomes, in the order in which requests started. A failed request is an outcome with an
        ``error``, and no further request starts in its place.

    Raises:
        ValueError: The plan has no end: neither ``requests`` nor ``duration_s``.
    """
    if plan.requests is None and plan.duration_s is None:
        raise ValueError("a load needs a number of requests or a duration")
    numbers = iter(range(plan.requests)) if plan.requests is not None else itertools.count()
    deadline = None if plan.duration_s is None else time.monotonic() + plan.duration_s
    outcomes: dict[int, RequestOutcome] = {}
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    limits = httpx.Limits(max_connections=plan.concurrency, max_keepalive_connections=plan.concurrency)
    timeout = httpx.Timeout(REQUEST_TIMEOUT_S, connect=10.0)

    async def work() -> None:
        for number in _until(numbers, deadline):
            stream = CompletionStream(f"r{number}", clock=clock, report=report, cancel_after=plan.cancel_after)
            outcomes[number] = await stream.run(client, url.rstrip("/"), plan.body(number))
            if outcomes[number].error:
                return

    async with httpx.AsyncClient(headers=headers, limits=limits, timeout=timeout, trust_env=False) as client:
        await asyncio.gather(*(work() for _ in range(plan.concurrency)))
    return [outcomes[number] for number in sorted(outcomes)]


@dataclass(frozen=True, kw_only=True)
class LoadSummary:
    """A load in figures.

    Attributes:
        tok_s: Tokens generated per second of wall time, prompts included.
        drafted: Tokens drafted.
        accepted: Draft tokens accepted.
        ttft_ms: Median time to the first token, at the client.
    """

    requests: int
    failed: int
    cancelled: int
    generated: int
    drafted: int
    accepted: int
    seconds: float
    ttft_ms: float | None

    @property
    def tok_s(self) -> float:
        """Tokens generated per second of wall time, prompts included."""
        return self.generated / self.seconds if self.seconds > 0 else 0.0


def summarize(outcomes: Sequence[RequestOutcome], seconds: float) -> LoadSummary:
    """Returns the figures of a load that took ``seconds``."""
    waits = sorted(outcome.ttft_ms for outcome in outcomes if outcome.ttft_ms is not None)
    return LoadSummary(
        requests=len(outcomes),
        failed=sum(outcome.error is not None for outcome in outcomes),
        cancelled=sum(outcome.cancelled for outcome in outcomes),
        generated=sum(outcome.generated for outcome in outcomes),
        drafted=sum(outcome.drafted for outcome in outcomes),
        accepted=sum(outcome.accepted for outcome in outcomes),
        seconds=seconds,
        ttft_ms=waits[len(waits) // 2] if waits else None,
    )


def _until(numbers: Iterator[int], deadline: float | None) -> Iterator[int]:
    """Yields numbers until they run out or the deadline (of the monotonic clock) passes."""
    for number in numbers:
        if deadline is not None and time.monotonic() >= deadline:
            return
        yield number
