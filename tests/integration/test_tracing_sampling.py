"""What sorting the whole vocabulary costs on a real server, by the probes and by the server's own clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from probed import TRACED, needs_probes, until_traced
from watched import watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

if TYPE_CHECKING:
    from specscope.lab.streaming import RequestOutcome

pytestmark = [pytest.mark.server, pytest.mark.trace, needs_probes]

NARROW = {"temperature": 1.0, "top_p": 0.95, "top_k": 40, "min_p": 0.05}
WIDE = NARROW | {"top_k": 0}
"""min_p comes after top_p: it narrows nothing before that sorts."""


async def test_a_sorted_vocabulary_is_named_with_what_it_costs() -> None:
    spec = ServerSpec(n_max=7, rates=LAB_RATES, size="wordy", trace=False)
    async with LabServer(spec) as server:
        async with watch(server, TRACED) as pump:
            await until_traced(pump)
            (narrow,) = await run_load(server.url, LoadPlan(requests=1, tokens=60, sampling=NARROW))
            assert "full_vocabulary_sort" not in {f.name for f in pump.diagnosis().findings}
            (wide,) = await run_load(server.url, LoadPlan(requests=1, tokens=900, sampling=WIDE))
        found = {f.name: f for f in pump.diagnosis(final=True).findings}
    finding = found["full_vocabulary_sort"]
    assert finding.severity == "warning"
    assert finding.summary == "sampling works on all 49,152 tokens of the vocabulary at each verified position"
    assert finding.cost_ms is not None
    # The window of the trace holds some cycles of the narrow request; both clocks run on a machine that others share.
    measured_ms = _ms_a_step(wide) - _ms_a_step(narrow)
    assert 0.4 * measured_ms < finding.cost_ms < 1.6 * measured_ms


def _ms_a_step(outcome: RequestOutcome) -> float:
    steps = outcome.timings["predicted_n"] - outcome.timings["draft_n_accepted"]
    return float(outcome.timings["predicted_ms"]) / steps
