"""Speed and tau by KV depth: what a long context costs each step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from specscope.session.request import Request
    from specscope.session.window import Gain

BAND_TOKENS: Final = 1024
"""Width of the first band; each further one is as wide as all before it together, since what a step reads of the KV
cache grows with depth and the rest of it does not: a doubling is what can be told from noise."""

MIN_STEPS: Final = 20
"""Steps before a band has a speed: with an accepted length's standard deviation near its mean, tau is then known to
about a fifth."""

PAUSE: Final = 20
"""Times the mean of its band: the slowest steps seen (another slot's prompt between two of them) are below that."""

LONGEST_MS: Final = 60_000
"""Before a band has a mean: no model that anybody waits for takes a minute a step."""

Bands: TypeAlias = dict[int, list[float]]
"""Tokens, steps and milliseconds by band."""


class DepthRow(NamedTuple):
    """Decoding at one depth. ``tok_s`` is of one slot; ``tokens`` is where the band begins, ``to_tokens`` its end."""

    tokens: int
    to_tokens: int
    tok_s: float
    tau: float
    steps: int


@dataclass(eq=False)
class DepthBook:
    """Steps of all requests by the resident tokens that they attended to."""

    bands: Bands = field(default_factory=dict[int, "list[float]"])

    def add(self, gain: Gain) -> None:
        """Count what one request gained at once. Steps of unknown time or depth tell nothing.

        Written out, because there can be hundreds of cycles a second and hundreds of thousands in a recording.
        """
        request, tokens, steps, gap_ms = gain.request, gain.tokens, gain.steps, gain.gap_ms
        if gap_ms is None or not steps:
            return
        base = request.fill_base if request.fill_base is not None else request.resident_before()
        if base is None:
            return
        band = ((base + (request.tokens() or 0) - tokens // 2) // BAND_TOKENS).bit_length()
        whole, own = self.bands.get(band), request.depths.get(band)
        if whole is None or whole[1] < MIN_STEPS:
            paused = gap_ms > LONGEST_MS * steps
        else:
            paused = gap_ms > PAUSE * steps * whole[2] / whole[1]
        if paused:  # a suspended machine, a stopped process
            return
        if whole is None:
            whole = self.bands[band] = [0, 0, 0.0]
        if own is None:
            own = request.depths[band] = [0, 0, 0.0]
        whole[0] += tokens
        whole[1] += steps
        whole[2] += gap_ms
        own[0] += tokens
        own[1] += steps
        own[2] += gap_ms

    def take_back(self, request: Request) -> None:
        """Forget a request's steps: another source will tell them again."""
        for band, sums in request.depths.items():
            kept = self.bands[band]
            for i, value in enumerate(sums):
                kept[i] -= value
            if kept[1] <= 0:
                del self.bands[band]
        request.depths = {}

    def rows(self) -> tuple[DepthRow, ...]:
        """The bands with enough steps, shallowest first."""
        return tuple(
            DepthRow(
                tokens=BAND_TOKENS << band >> 1 if band else 0,
                to_tokens=BAND_TOKENS << band,
                tok_s=1000 * tokens / ms,
                tau=tokens / steps,
                steps=round(steps),
            )
            for band, (tokens, steps, ms) in sorted(self.bands.items())
            if steps >= MIN_STEPS and ms > 0
        )
