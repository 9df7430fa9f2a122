"""Economics, regimes and prefill in the snapshot."""

from __future__ import annotations

import builders as b
import msgspec
import pytest
from economics_bench import Bench, stepped
from methods_bench import DRAFTER, TABLE, Server

from specscope.findings.engine import diagnose
from specscope.reports.snapshot import snapshot
from specscope.session.economics.recorded import recorded_run

ECONOMICS = """
plain_ms plain_how plain_interval_ms plain_floor_ms bandwidth_share break_even_tau break_even_interval tau tau_interval
cycle_ms n_max slots depth_tokens cycles cycles_timed costs drafter width_curve best_n_max gain_pct interval_pct sure
hidden_by_width tau_at_most basis assumes try_next collecting
"""


def made(server: Bench, *runs: object) -> dict:
    session = server.fold(*runs).view()
    return snapshot(session, diagnose(session))


def test_every_figure_stands_beside_its_interval_and_its_basis() -> None:
    off = recorded_run(Bench(n_max=0, requests=10, seed=9).target(), "off.jsonl")
    snap = made(Bench(cost=stepped, requests=120), off)
    economics, throughput = snap["economics"], snap["throughput"]
    assert list(economics) == ECONOMICS.split()
    assert economics["best_n_max"] == 7
    assert economics["interval_pct"][0] < economics["gain_pct"] < economics["interval_pct"][1]
    assert economics["gain_pct"] == pytest.approx(45, abs=3)
    assert [p["n_max"] for p in economics["width_curve"]] == list(range(16))
    for point in economics["width_curve"]:
        assert point["low"] <= point["tok_s"] <= point["high"]
        assert point["evidence"] in ("this run", "recorded", "seen", "cut", "between", "suggested")
    assert throughput["plain_tok_s"] == pytest.approx(125, rel=0.02)
    assert throughput["speedup_low"] < throughput["speedup"] < throughput["speedup_high"]
    assert throughput["prefill_tok_s"] == pytest.approx(2000)
    assert "plain" in economics["basis"]
    assert snap["prefill"]["prompt_tokens"] == 12_000
    assert [r["name"] for r in snap["regimes"]] == ["all"]
    assert msgspec.json.decode(msgspec.json.encode(snap)) is not None


def test_what_is_unknown_is_null_with_the_run_that_would_settle_it() -> None:
    economics = made(Bench(ends=False))["economics"]
    assert (economics["best_n_max"], economics["gain_pct"], economics["sure"]) == (None, None, None)
    assert economics["try_next"]["n_max"] == 7
    assert [p["tok_s"] is None for p in economics["width_curve"]] == [True] * 15 + [False]
    assert (economics["plain_ms"], economics["break_even_tau"]) == (None, None)


def test_nothing_seen_is_null() -> None:
    session = b.fold(b.found()).view()
    snap = snapshot(session, diagnose(session))
    assert (snap["economics"], snap["regimes"], snap["prefill"]) == (None, None, None)


def test_what_is_still_missing_is_said() -> None:
    economics = made(Bench(requests=1))["economics"]
    assert economics["collecting"].endswith("of 100 cycles for a verdict")
    assert economics["width_curve"] == []


METHOD = """
method cycles drafted_tokens accepted_tokens acceptance tau_draft tau_draft_interval calls_since_start
drafts_since_start draft_ms cycle_ms cycle_ms_interval tok_s tok_s_interval without_tok_s without_tok_s_interval
gain_pct gain_interval_pct gain_at_most_pct share_time server_gain_pct server_gain_interval_pct basis collecting
evidence
"""


def test_each_method_has_its_counts_its_times_and_its_gain() -> None:
    session = b.fold(*(server := Server()).begin(), *server.facts(), b.statistics(99.0, 700, 42.0, method=TABLE.name))
    table, drafter = snapshot(session.view(), diagnose(session.view()))["speculation"]["by_method"]
    assert list(table) == list(drafter) == METHOD.split()
    assert (table["method"], drafter["method"]) == (TABLE.name, DRAFTER.name)
    assert table["cycles"] + drafter["cycles"] == 40 * 60
    assert table["tau_draft"] == pytest.approx(1 + table["accepted_tokens"] / table["cycles"])
    assert (table["drafts_since_start"], table["draft_ms"]) == (700, pytest.approx(0.06))
    for figure in ("tok_s", "without_tok_s", "cycle_ms"):
        low, high = table[f"{figure}_interval"]
        assert low < table[figure] < high
    assert table["gain_interval_pct"][0] < table["gain_pct"] < table["gain_interval_pct"][1]
    assert table["server_gain_pct"] == pytest.approx(table["share_time"] * table["gain_pct"])
    assert (table["collecting"], drafter["gain_pct"], drafter["basis"]) == (None, None, None)
    assert drafter["collecting"] == "plain decoding has not been measured"


def test_without_a_trace_or_statistics_no_method_is_told() -> None:
    assert made(Bench(requests=2, told=False))["speculation"]["by_method"] is None
