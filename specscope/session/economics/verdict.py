"""The verdict's figures: the speedup, the tau from which speculation pays, and what both rest on, in words."""

from __future__ import annotations

from dataclasses import replace
from math import exp, hypot, log
from typing import TYPE_CHECKING, Final

from specscope.session.economics.state import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.economics.state import CostPoint, Economics, PlainTime


EVEN: Final = 0.005
"""Half a hundredth: an end of the speedup's interval that is as near to 1 reads 1.00, and so small a gain or loss could
not be confirmed (repeated runs of one server differ by 4 %)."""


def pays(speedup: Span) -> bool | None:
    """Whether speculation is faster than plain decoding (False: slower); None: too close to tell.

    The speedup's own interval is what decides: those of tau and of break-even may overlap while their ratio, which is
    the speedup, is surely above or below 1.
    """
    if speedup.low > 1 + EVEN:
        return True
    return False if speedup.high < 1 - EVEN else None


def bounded(economics: Economics) -> Economics:
    """With the share of the bandwidth bound in plain decode time."""
    floor, plain = economics.floor_ms, economics.plain
    return economics if floor is None or plain is None else replace(economics, bound_share=floor / plain.ms)


def speedup_of(tau: Span, cycle: Span, plain: PlainTime, plain_share: float) -> tuple[Span, Span]:
    """(speedup, break-even tau of a cycle), with plain steps in between where not every step had a draft."""
    step_ms = (1 - plain_share) * cycle.value + plain_share * plain.ms
    tokens = (1 - plain_share) * tau.value + plain_share
    value = tokens * plain.ms / step_ms
    dear, cheap = log(cycle.high / cycle.value), log(cycle.value / max(cycle.low, 1e-9))
    down, up = log(plain.ms / max(plain.low, 1e-9)), log(plain.high / plain.ms)
    low, high = hypot(log(tau.value / tau.low), dear, down), hypot(log(tau.high / tau.value), cheap, up)
    even = cycle.value / plain.ms
    return (
        Span(value, value * exp(-low), value * exp(high)),
        Span(even, even * exp(-hypot(cheap, up)), even * exp(hypot(dear, down))),
    )


def basis_of(economics: Economics) -> str:
    """What the verdict rests on, in words."""
    seen = [p for p in economics.costs if p.how == "seen"]
    words = [f"{economics.cycles:,} cycles, time seen at {_listed(seen)}"]
    cut = [p for p in economics.costs if p.how == "cut"]
    if cut:
        words.append(f"of drafts that were cut at {_listed(cut)}")
    recorded = [p for p in economics.costs if p.how == "recorded"]
    if recorded:
        words.append(f"recorded at {_listed(recorded)}")
    if economics.plain is not None:
        words.append(f"plain: {economics.plain.basis}")
    if economics.depth is not None:
        words.append(f"at {economics.depth:,.0f} resident tokens")
    if economics.slots > 1:
        words.append(f"{economics.slots} slots at once")
    return "; ".join(words)


def _listed(points: Sequence[CostPoint]) -> str:
    if len(points) == 1:
        return f"width {points[0].width}"
    return f"{len(points)} widths, {points[0].width} to {points[-1].width}" if points else "no width"
