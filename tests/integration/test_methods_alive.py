"""Every drafting method that reads the target's hidden states, on the real server with the lab's models.

What ``--spec-draft-p-min`` does on b11549 (common/speculative.cpp; figures in ``scripts/long/results/methods.md``):

* DFlash 2: ends a draft where the softmax over the selector's candidates is below it;
* DSpark: where the confidence head is below it;
* EAGLE-3 and MTP: where the likeliest token's probability is below it, as draft-simple and DFlash 1.

So all of them get narrower drafts, and often none, which is a plain step. The random weights say *that* they do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import builders as b
import pytest
from probed import TRACED, needs_probes, until_traced
from watched import target, until, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

if TYPE_CHECKING:
    from specscope.session.state import Target

pytestmark = pytest.mark.server

ASKED = 10
PLAN = LoadPlan(requests=2, tokens=250)


@dataclass(frozen=True)
class Method:
    """A method of the lab, and what the server makes of it."""

    name: str
    named: str
    width: int

    @property
    def spec(self) -> ServerSpec:
        """A server of it, asked for more than most can draft."""
        return ServerSpec(types=(self.name,), n_max=ASKED)


METHODS = [
    Method("dflash2", "draft-dflash", 7),
    Method("dspark", "draft-dspark", 8),
    Method("eagle3", "draft-eagle3", ASKED),
    Method("mtp", "draft-mtp", ASKED),
    Method("mtp3", "draft-mtp", 3),
]
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)


@pytest.mark.trace
@needs_probes
@each_method
async def test_a_method_is_named_counted_and_clamped_as_the_server_does(method: Method) -> None:
    spec = replace(method.spec, rates=LAB_RATES, trace=False)
    async with LabServer(spec) as server, watch(server, TRACED) as pump:
        await until_traced(pump)
        await run_load(server.url, PLAN)
        await until(lambda: _is_over(target(pump)), "all requests ended")
        found = {f.name: dict(f.evidence) for f in pump.diagnosis(final=True).findings}
    seen = target(pump)
    count = seen.referee.count
    assert count is not None, seen.referee.waiting
    counted = (count.cycles, count.drafted, count.accepted)
    assert (seen.totals.cycles, seen.totals.drafted, seen.totals.accepted) == counted
    assert seen.evidence == seen.cycle_evidence == "exact"
    assert {c.seen_by for c in seen.cycles} == {"trace"}
    assert b.by_method(seen) == ((method.named, *counted),)
    assert seen.config.types == (method.named,)
    assert seen.config.n_max_requested == ASKED
    assert seen.config.n_max_effective == seen.totals.width_max == spec.width == method.width
    assert ("draft_width_clamped" in found) == (method.width < ASKED)
    _has_the_tau_of_its_rates(seen, spec)


def _is_over(view: Target) -> bool:
    return bool(view.requests) and all(r.ended_at is not None for r in view.requests)


def _has_the_tau_of_its_rates(seen: Target, spec: ServerSpec) -> None:
    """Of cycles of full width; a rate is the probability that at least so many tokens are accepted."""
    rates = spec.rates_in_force
    expected = sum(rates)
    variance = sum((2 * i + 1) * rate for i, rate in enumerate(rates)) - expected**2
    full = [(a, n) for w, a, n in seen.totals.joint if w == spec.width]
    cycles = sum(n for _, n in full)
    assert cycles > 50
    assert abs(sum(a * n for a, n in full) / cycles - expected) < 3.5 * math.sqrt(variance / cycles)


@each_method
async def test_p_min_shortens_drafts_of_a_method_that_is_healthy(method: Method) -> None:
    spec = ServerSpec(types=(method.name,), n_max=min(7, method.width), extra=("--spec-draft-p-min", "0.85"))
    async with LabServer(spec) as server, watch(server) as pump:
        await run_load(server.url, LoadPlan(requests=1, tokens=150))
        await until(lambda: _is_over(target(pump)), "the request ended")
        assert [f.name for f in pump.diagnosis(final=True).findings] == []
    seen = target(pump)
    assert seen.config.types == (method.named,)
    assert seen.config.n_max_effective == spec.width
    steps = (seen.totals.cycles or 0) + (seen.totals.plain_steps or 0)
    full = sum(n for w, _, n in seen.totals.joint if w == spec.width)
    assert steps > 100
    assert full < steps / 2
