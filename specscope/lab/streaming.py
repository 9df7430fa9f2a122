"""One ``/completion`` request of the lab, read as a stream."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import httpx
import msgspec

from specscope.events import StreamEnded, StreamStepped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Clock: TypeAlias = Callable[[], float]
    Report: TypeAlias = Callable[[StreamStepped | StreamEnded], None]

Chunk: TypeAlias = "dict[str, Any]"

_DATA = "data:"
_decode = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, kw_only=True)
class RequestOutcome:
    """What became of a request.

    Attributes:
        slot: The server's slot; it names it only in the last chunk, so a cancelled request has none.
        generated: Tokens seen.
        ttft_ms: From sending the request to its first token, at the client.
        timings: The server's last ``timings``, as sent.
        stop: The server's ``stop_type``: ``limit``, ``eos``, ``word``; None if it was cut short.
        cancelled: We hung up.
        error: What went wrong, if anything.
    """

    request: str
    slot: int | None = None
    generated: int = 0
    ttft_ms: float | None = None
    timings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stop: str | None = None
    cancelled: bool = False
    error: str | None = None

    @property
    def drafted(self) -> int:
        """Tokens drafted for it."""
        return int(self.timings.get("draft_n") or 0)

    @property
    def accepted(self) -> int:
        """Draft tokens accepted."""
        return int(self.timings.get("draft_n_accepted") or 0)


class CompletionStream:
    """Reads one request, reporting each change of its running totals and its end.

    Args:
        request: The request's name in every fact.
        clock: Gives the ``at`` of facts, in seconds.
        report: Receives the facts.
        cancel_after: Hang up after this many chunks with a token.
    """

    def __init__(
        self, request: str, *, clock: Clock, report: Report | None = None, cancel_after: int | None = None
    ) -> None:
        self._request = request
        self._clock = clock
        self._report = report
        self._cancel_after = cancel_after
        self._began = 0.0
        self._ttft_ms: float | None = None
        self._timings: Chunk = {}
        self._totals: tuple[object, ...] = ()
        self._generated = 0
        self._slot: int | None = None
        self._stop: str | None = None

    async def run(self, client: httpx.AsyncClient, url: str, body: Mapping[str, object]) -> RequestOutcome:
        """Sends the request and reads it to its end. Whatever fails becomes the outcome's ``error``."""
        self._began = self._clock()
        error: str | None = None
        cancelled = False
        try:
            async with client.stream("POST", f"{url}/completion", json=body) as response:
                if response.is_error:
                    text = (await response.aread()).decode(errors="replace")
                    error = f"status {response.status_code}: {text[:200]}"
                else:
                    cancelled = await self._read(response)
                    error = None if cancelled or self._stop else "the stream ended without a last chunk"
        except httpx.ConnectError as failure:
            error = f"cannot be reached ({failure})"
        except (httpx.HTTPError, msgspec.DecodeError, _ServerSaidError) as failure:
            error = str(failure) or type(failure).__name__
        self._say_ended()
        return RequestOutcome(
            request=self._request,
            slot=self._slot,
            generated=self._generated,
            ttft_ms=self._ttft_ms,
            timings=self._timings,
            stop=self._stop,
            cancelled=cancelled,
            error=error,
        )

    async def _read(self, response: httpx.Response) -> bool:
        """Reads the stream. Returns whether we hung up."""
        chunks = 0
        async for line in response.aiter_lines():
            if line.startswith("error:"):
                raise _ServerSaidError(line)
            if not line.startswith(_DATA):
                continue  # a blank line or a ping
            chunk = _decode(line[len(_DATA) :].strip())
            if "error" in chunk:
                raise _ServerSaidError(json.dumps(chunk["error"]))
            self._take(chunk)
            if chunk.get("stop"):
                return False
            chunks += 1
            if self._cancel_after is not None and chunks >= self._cancel_after:
                return True
        return False

    def _take(self, chunk: Chunk) -> None:
        slot = chunk.get("id_slot", -1)
        self._slot = slot if slot >= 0 else self._slot
        self._generated = chunk.get("tokens_predicted", self._generated)
        if self._ttft_ms is None and self._generated:
            self._ttft_ms = (self._clock() - self._began) * 1000
        if chunk.get("stop"):
            self._stop = chunk.get("stop_type", "unknown")
        timings = cast("Chunk | None", chunk.get("timings"))
        if timings:
            self._timings = timings
            self._say_stepped()

    def _say_stepped(self) -> None:
        timings = self._timings
        totals = tuple(timings.get(key) for key in ("draft_n", "draft_n_accepted", "predicted_n"))
        if totals == self._totals or not self._report:
            return
        self._totals = totals
        self._report(
            StreamStepped(
                at=self._clock(),
                request=self._request,
                slot=self._slot,
                generated=timings.get("predicted_n", self._generated),
                generated_ms=timings.get("predicted_ms"),
                drafted=timings.get("draft_n"),
                accepted=timings.get("draft_n_accepted"),
            )
        )

    def _say_ended(self) -> None:
        if not self._report:
            return
        timings = self._timings
        self._report(
            StreamEnded(
                at=self._clock(),
                request=self._request,
                slot=self._slot,
                generated=timings.get("predicted_n"),
                generated_ms=timings.get("predicted_ms"),
                prompt_tokens=timings.get("prompt_n"),
                prompt_ms=timings.get("prompt_ms"),
                cached_tokens=timings.get("cache_n"),
                drafted=timings.get("draft_n"),
                accepted=timings.get("draft_n_accepted"),
                stop=self._stop,
                ttft_ms=self._ttft_ms,
            )
        )


class _ServerSaidError(Exception):
    """The server sent an error within the stream."""
