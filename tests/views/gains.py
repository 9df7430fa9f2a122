"""Watches whose economics are known, for the tests of what they look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
from economics_bench import Bench, flat, stepped
from feeds import StillFeed, TracedFeed

if TYPE_CHECKING:
    from specscope import events as ev


def _feed(bench: Bench, *more: ev.Event) -> StillFeed:
    return StillFeed([b.server("ready"), *bench.begin(), *more, *bench.facts()])


def narrower_is_better() -> StillFeed:
    """The kernels' step makes drafts of 7 the best; plain decoding is seen at the ends of requests."""
    return _feed(Bench(cost=stepped, requests=120))


def todays_is_best() -> StillFeed:
    """Width costs nearly nothing."""
    return _feed(Bench(cost=flat, requests=60))


def slower() -> StillFeed:
    """Plain decoding is faster."""
    return _feed(Bench(plain_ms=1.0, requests=60))


def unknown() -> StillFeed:
    """One width alone is seen, and no plain step."""
    return _feed(Bench(ends=False))


def open_still() -> StillFeed:
    """A narrower width is better than today's, and one whose cost is not seen may be better still."""
    return _feed(Bench(cost=stepped, requests=60))


def parted() -> StillFeed:
    """The server counted other cycles than those that the figures rest on."""
    bench = Bench(cost=stepped)
    return TracedFeed([b.server("ready"), *bench.begin(), *bench.facts()], cycle_evidence="parted")


def collecting() -> StillFeed:
    """Too few cycles yet."""
    return _feed(Bench(requests=1, tokens=60))


def many_widths() -> StillFeed:
    """A drafter without a block, whose width may be doubled: more widths than a chart has columns."""
    rates = tuple(0.97 - 0.005 * i for i in range(24))
    return _feed(Bench(method="draft-mtp", block=None, n_max=24, rates=rates, tokens=300, requests=80))


def labelled() -> StillFeed:
    """Two kinds of work, as the user marked them."""
    facts: list[ev.Event] = [b.server("ready"), *Bench().begin()]
    at, task = 1.0, 1
    for label, rates in (("code", (0.95,) * 15), ("tool calls", (0.5,) * 15)):
        told = list(Bench(rates=rates, requests=6).facts(at=at, first_task=task))
        facts += [b.mark(label, at), *told]
        at, task = told[-1].at - b.T0 + 1, task + 10
    return StillFeed(facts)


def two_slots() -> StillFeed:
    """Two slots that decode at once, in cycles of 20 ms that alternate."""
    facts = [b.server("ready"), *Bench().begin()]
    facts += [b.busy(0.5 + slot / 100, slot=slot, task=1 + slot, fill_tokens=100) for slot in (0, 1)]
    facts += [b.step(0.6 + slot / 100, 1, slot=slot, task=1 + slot, fill_tokens=101) for slot in (0, 1)]
    for i in range(600):
        for slot in (0, 1):
            facts.append(b.cycle(1 + 0.02 * i + 0.001 * slot, 15, (3 * i + slot) % 7, slot=slot, task=1 + slot))
    return StillFeed(facts)


def hopeless() -> StillFeed:
    """Hardly a drafted token is accepted; plain decoding is not seen."""
    return _feed(Bench(rates=(0.008,) + (0.1,) * 6, n_max=7, block=8, ends=False, requests=14))
