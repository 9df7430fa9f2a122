"""Several drafting methods on the real server: told apart by the trace as the server's own statistics do."""

from __future__ import annotations

from dataclasses import replace

import builders as b
import pytest
from probed import TRACED, needs_probes, until_traced
from watched import target, until, watch

from specscope.events import StatisticsLogged
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.models import model_path
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, NgramSizes, ServerSpec
from specscope.session.estimate import StatisticsBook
from specscope.sources.log_lines import LineParser

pytestmark = [pytest.mark.server, pytest.mark.trace, needs_probes]

TOGETHER = ServerSpec(
    types=("ngram-map-k", "ngram-map-k4v", "dflash"),
    n_max=7,
    rates=LAB_RATES,
    ngram=NgramSizes(match=2),
    slots=2,
    trace=False,
    verbosity=4,
)
PLAN = LoadPlan(requests=4, tokens=250, concurrency=2, repeat=True, sampling={"temperature": 0})


async def test_two_tables_before_a_drafter_are_told_apart_and_set_against_each_other() -> None:
    async with LabServer(TOGETHER) as server, watch(server, TRACED) as pump:
        await until_traced(pump)
        # Long answers: times are told for the number of slots that decoded most, half of them if requests begin apart.
        await run_load(server.url, replace(PLAN, tokens=600))
        await until(lambda: all(r.ended_at is not None for r in target(pump).requests), "all requests ended")
        log = server.log_path.read_bytes()
    seen = target(pump)
    parser, book = LineParser(), StatisticsBook()
    for line in log.split(b"\n"):
        for fact in parser.parse(line, 1.0):
            if isinstance(fact, StatisticsLogged):
                book.logged(fact)
    told = {name: (sums.verified, sums.drafted, sums.accepted) for name, sums in book.sums().items()}
    assert seen.evidence == "exact"
    assert b.by_method(seen) == tuple((name, *told[name]) for name in TOGETHER.server_types)
    assert seen.log_said["implementation_added"] == {"type": ",".join(TOGETHER.server_types)}
    table, _, drafter = seen.by_method
    assert (table.calls, table.drafts) == (book.sums()[table.name].calls, table.cycles)
    assert 0 < table.draft_ms < drafter.draft_ms
    # Nearly every cycle is timed by its turn, and the drafter's have a cost by width.
    times = target(pump).economics.costs
    assert [p.width for p in times if p.cycles > 50] == [7]
    assert sum(p.cycles for p in times) > 0.8 * sum(n for w, _, n in seen.totals.joint if w == 7) / 2
    assert table.gain_pct is not None
    assert table.gain_pct.low < table.gain_pct.value < table.gain_pct.high
    assert f"cycles of {drafter.name}" in table.basis
    assert drafter.collecting == "plain decoding has not been measured"


async def test_tables_alone_have_a_cost_by_width_and_a_plain_time() -> None:
    spec = replace(TOGETHER, types=("ngram-map-k", "ngram-map-k4v"), slots=1, verbosity=None)
    async with LabServer(spec) as server, watch(server, TRACED) as pump:
        await until_traced(pump)
        await run_load(server.url, replace(PLAN, concurrency=1))
        await until(lambda: all(r.ended_at is not None for r in target(pump).requests), "all requests ended")
    economics = target(pump).economics
    table = target(pump).by_method[0]
    assert economics.plain.how == "this run"
    assert economics.plain.steps > 0.8 * target(pump).totals.plain_steps
    widths = {p.width: p for p in economics.costs}
    assert len(widths) > 1
    assert widths[max(widths)].ms > economics.plain.ms
    assert "plain steps" in table.basis


async def test_a_drafter_whose_kind_the_server_finds_by_itself_has_its_own_name() -> None:
    dspark = ServerSpec(types=("dspark",)).draft_model
    assert dspark is not None
    spec = ServerSpec(types=(), trace=False, extra=("-md", str(model_path(dspark)), "--spec-draft-n-max", "4"))
    async with LabServer(spec) as server, watch(server, TRACED) as pump:
        await until_traced(pump)
        await run_load(server.url, LoadPlan(requests=1, tokens=30))
        await until(lambda: all(r.ended_at is not None for r in target(pump).requests), "the request ended")
    assert [row.name for row in target(pump).by_method] == ["draft-dspark"]
    assert target(pump).config.types == ("draft-dspark",)
