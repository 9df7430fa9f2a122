"""What speculation gains at each KV depth: tokens and time of the steps there, beside plain decoding as deep."""

from __future__ import annotations

from math import exp, hypot, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.economics.batches import t95
from specscope.session.economics.cost_book import band_of
from specscope.session.economics.plain import at_depth
from specscope.session.economics.state import DepthGain, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from specscope.session.depth import DepthRow
    from specscope.session.economics.acceptance import Acceptance
    from specscope.session.economics.cost_book import Cell, Key
    from specscope.session.economics.state import PlainPoint

LEAST_STEPS: Final = 50
"""Steps of a band: with an accepted length's standard deviation near its mean, tau is then known to a seventh."""

MIXED: Final = 0.1
"""Share of a band's steps that another number of slots may have made: speed by depth does not tell them apart."""


class _Steps(NamedTuple):
    """The timed steps of a band: their mean depth, and the relative standard error of their mean time."""

    depth: float
    error: float


def gains_by_depth(
    rows: Iterable[DepthRow],
    cells: Mapping[Key, Cell],
    plain: Sequence[PlainPoint],
    acceptance: Acceptance,
    *,
    slots: int,
    plain_share: float,
) -> tuple[DepthGain, ...]:
    """The speedup in each band of depth, as far as it and plain decoding as deep were seen.

    Args:
        rows: speed by depth.
        cells: times of the steps.
        plain: plain decode time by depth, for as many slots.
        acceptance: how much a step's tokens vary.
        slots: at work at once.
        plain_share: of the steps, those without a draft.
    """
    if not any(point.depth is not None for point in plain):
        return ()
    spread = _spread(acceptance, plain_share)
    found: list[DepthGain] = []
    for row in rows:
        steps = _steps(cells, band_of(row.tokens), slots) if row.steps >= LEAST_STEPS else None
        if steps is None:
            continue
        ms, low, high, far = at_depth(plain, steps.depth)
        if far:
            continue
        own = hypot(t95(row.steps / acceptance.clustering) * spread / sqrt(row.steps), 2 * steps.error)
        value = row.tok_s * ms / 1000
        down, up = exp(-hypot(own, 1 - low / ms)), exp(hypot(own, high / ms - 1))
        found.append(DepthGain(row.tokens, row.to_tokens, Span(value, value * down, value * up), row.steps))
    return tuple(found)


def _spread(acceptance: Acceptance, plain_share: float) -> float:
    """Standard deviation of a step's tokens over their mean, dependence between cycles allowed for."""
    cycles = acceptance.cycles
    share = (1 - plain_share) / cycles
    mean = plain_share + share * sum((a + 1) * n for (_, a), n in acceptance.own.items())
    squares = plain_share + share * sum((a + 1) ** 2 * n for (_, a), n in acceptance.own.items())
    return sqrt(acceptance.clustering * max(0.0, squares - mean * mean)) / mean


def _steps(cells: Mapping[Key, Cell], band: int | None, slots: int) -> _Steps | None:
    """The timed steps of a band; None where there are too few, or others with more or fewer slots among them."""
    own = [(key, cell) for key, cell in cells.items() if key.band == band]
    every = sum(cell.steps for _, cell in own)
    told = [(cell, mean) for key, cell in own if key.slots == slots and (mean := cell.times.mean()) is not None]
    mine = sum(cell.steps for cell, _ in told)
    if not mine or mine < (1 - MIXED) * every:
        return None
    time = sum(mean.value * cell.steps for cell, mean in told)
    error = sqrt(sum((mean.se * cell.steps) ** 2 for cell, mean in told)) / time
    return _Steps(sum(cell.depth * cell.steps for cell, _ in told) / mine, error)
