"""A server without LLAMA_TRACE, traced: the probes alone tell its cycles, and its own counters are the referee."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import builders as b
import pytest
from probed import TRACED, needs_probes, until_traced
from watched import older_build, target, until, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.lab.streaming import RequestOutcome
    from specscope.session.state import Target

pytestmark = [pytest.mark.server, pytest.mark.trace, needs_probes]
stock = pytest.mark.skipif(older_build() is None, reason="the wheel with the b10434 server is not installed")

GREEDY = {"temperature": 0}
WARM = {"temperature": 1}
TAU_DRAFT = 1 + sum(LAB_RATES)
"""6.12: the mean of the synthetic rates at full width."""

DEVIATION = 3.9
"""Standard deviation of the accepted length under these rates."""


@dataclass(frozen=True)
class Row:
    """A server, a load, and what must come out besides equality."""

    name: str
    spec: ServerSpec
    plan: LoadPlan = field(default_factory=lambda: LoadPlan(requests=3, tokens=100))
    accepts: bool = True
    replays: bool = False
    finished: bool = True
    early: bool = False


def _spec(*types: str, **changes: object) -> ServerSpec:
    return ServerSpec(types=types, **{"trace": False} | changes)  # type: ignore[arg-type]


def _plan(**changes: object) -> LoadPlan:
    return LoadPlan(**{"requests": 3, "tokens": 100} | changes)  # type: ignore[arg-type]


RATES = _spec("dflash", n_max=15, rates=LAB_RATES)
TWO_SLOTS = _spec("dflash", n_max=15, rates=LAB_RATES, slots=2)
SIMPLE = _spec("draft-simple", n_max=4)
PROBABILISTIC = _spec("draft-simple", n_max=4, probabilistic=True)
AGAIN = _plan(requests=4, repeat=True, sampling=GREEDY)

# scripts/long/every_mode.py --by trace has the other modes, a minute each.
ROWS = [
    Row("two slots", TWO_SLOTS, _plan(requests=4, concurrency=2)),
    Row("draft-simple greedy, temperature 0", SIMPLE, _plan(sampling=GREEDY)),
    Row("draft-simple probabilistic, temperature 1", PROBABILISTIC, _plan(sampling=WARM)),
    Row("ngram-mod", _spec("ngram-mod"), AGAIN),
    Row("replay", _spec("ngram-simple", target="mamba"), _plan(tokens=160, repeat=True, sampling=GREEDY), replays=True),
    Row("cancelled streams", RATES, _plan(cancel_after=20), finished=False, early=True),
    Row(
        "two slots, cancelled streams",
        TWO_SLOTS,
        _plan(requests=4, concurrency=2, cancel_after=15),
        finished=False,
        early=True,
    ),
    Row("stop words", RATES, _plan(requests=4, stop=("e", "a")), early=True),
    Row("end of sequence", SIMPLE, _plan(requests=1, seed=4, tokens=400, ignore_eos=False), early=True),
]
STOCK = [
    Row("b10434", _spec("dflash", n_max=15, binary=older_build()), _plan(tokens=40), accepts=False),
    Row(
        "b10434, two slots",
        _spec("ngram-simple", slots=2, binary=older_build()),
        _plan(requests=4, concurrency=2, repeat=True, sampling=GREEDY),
    ),
]


async def _traced(
    spec: ServerSpec,
    plan: LoadPlan,
    settings: Settings = TRACED,
    enough: Callable[[Target], bool] = lambda _: True,
) -> tuple[Target, list[RequestOutcome]]:
    """What was seen of a load that lay wholly inside the watch, and the load's own figures."""
    async with LabServer(spec) as server, watch(server, settings) as pump:
        await until_traced(pump)
        outcomes = await run_load(server.url, plan)
        await until(lambda: _is_over(target(pump)) and enough(target(pump)), "all requests ended, and enough seen")
    return target(pump), outcomes


def _is_over(view: Target) -> bool:
    """A request that its client cancelled goes on for some cycles."""
    return bool(view.requests) and all(r.ended_at is not None for r in view.requests)


def _equals_the_counters(seen: Target) -> None:
    count = seen.referee.count
    assert count is not None, seen.referee.waiting
    assert count.cycles > 0
    counted = (count.cycles, count.drafted, count.accepted)
    assert (count.captured_cycles, count.captured_drafted, count.captured_accepted) == counted
    assert (seen.totals.cycles, seen.totals.drafted, seen.totals.accepted) == counted
    assert seen.evidence == seen.cycle_evidence == "exact"
    assert seen.tier == "trace"
    assert {c.seen_by for c in seen.cycles} == {"trace"}


@pytest.mark.parametrize("row", [*ROWS, *(pytest.param(r, marks=stock) for r in STOCK)], ids=lambda row: row.name)
async def test_what_the_probes_see_equals_the_counters(row: Row) -> None:
    seen, outcomes = await _traced(row.spec, row.plan)
    _equals_the_counters(seen)
    count = seen.referee.count
    assert count is not None
    (method,) = row.spec.server_types
    assert b.by_method(seen) == ((method, count.cycles, count.drafted - _unverified(seen), count.accepted),)
    assert (count.accepted > count.cycles / 20) or not row.accepts
    assert any(c.replayed for c in seen.cycles) == row.replays
    assert any(o.generated < row.plan.tokens for o in outcomes) == row.early
    if row.finished:
        told, counted = sum(o.generated or 0 for o in outcomes), sum(r.generated or 0 for r in seen.requests)
        # Accepted tokens behind a stop are not sent; where no poll of /slots saw the end, they are counted too.
        unsent = row.spec.width * len(outcomes) if row.early else 0
        assert told <= counted <= told + unsent
        assert count.drafted == sum((o.timings or {}).get("draft_n", 0) for o in outcomes)


def _unverified(seen: Target) -> int:
    """Drafted tokens whose request was cancelled before they were verified: the server counts them as drafted."""
    return (seen.totals.drafted or 0) - sum(c.drafted or 0 for c in seen.cycles)


async def test_synthetic_rates_give_the_tau_known_in_advance() -> None:
    seen, _ = await _traced(RATES, _plan(requests=4, tokens=350))
    _equals_the_counters(seen)
    full = [(a, n) for w, a, n in seen.totals.joint if w == RATES.width]
    cycles = sum(n for _, n in full)
    tau_draft = 1 + sum(a * n for a, n in full) / cycles
    assert cycles > 120
    assert abs(tau_draft - TAU_DRAFT) < 3 * DEVIATION / math.sqrt(cycles)


@pytest.mark.parametrize("mode", ["cheap", "full"])
async def test_more_or_less_to_see_counts_the_same(mode: Literal["cheap", "full"]) -> None:
    seen, _ = await _traced(
        RATES, _plan(requests=4, tokens=350), Settings(trace=mode), lambda view: bool(view.copies) or mode == "cheap"
    )
    _equals_the_counters(seen)
    assert seen.trace is not None
    assert seen.trace.mode == mode
    assert bool(seen.copies) == (mode == "full")
    assert seen.anatomy is not None
    parts = seen.anatomy.parts
    assert 0 < parts.submit_ms < parts.whole_ms
    assert (parts.draft_sampling_ms is not None) == (mode == "full")


async def test_a_server_that_does_not_draft_has_turns_and_no_drafting_figures() -> None:
    seen, outcomes = await _traced(_spec(), _plan(tokens=400))
    assert seen.tier == "trace"
    assert seen.totals.generated == sum(o.generated for o in outcomes) == 3 * 400
    assert seen.totals.tau == pytest.approx(1.0)
    for figure in ("cycles", "drafted", "accepted", "tau_draft", "acceptance", "width_mean"):
        assert getattr(seen.totals, figure) is None
    assert seen.cycles == seen.by_method == seen.totals.joint == ()
    assert seen.rates.tau_draft is None
    assert seen.anatomy is not None
    assert seen.anatomy.evidence == "exact"
    assert seen.anatomy.cycles == 0
    parts = seen.anatomy.parts
    assert parts.draft_ms == 0.0
    assert 0 < parts.submit_ms < parts.whole_ms
    assert parts.sampling_ms is not None
    assert seen.anatomy.samples is not None
    assert seen.anatomy.samples == seen.anatomy.turns
