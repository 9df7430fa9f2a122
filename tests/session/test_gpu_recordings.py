"""What was traced on an H200 (scripts/long/on_a_gpu.py), replayed: the same facts must go on telling the same."""

from __future__ import annotations

import pytest
from replayed import replayed

from specscope.findings.engine import diagnose


@pytest.mark.parametrize(
    ("name", "cycles", "drafted", "accepted"),
    [
        ("h200_dflash", 505, 7472, 2487),
        ("h200_host_argmax", 505, 7472, 2487),
        ("h200_top_k_0", 193, 2849, 1004),
    ],
)
def test_the_probes_and_the_servers_counters_agree(name: str, cycles: int, drafted: int, accepted: int) -> None:
    target = replayed(name).targets[0]
    assert (target.tier, target.evidence, target.cycle_evidence) == ("trace", "exact", "exact")
    assert (target.totals.cycles, target.totals.drafted, target.totals.accepted) == (cycles, drafted, accepted)
    count = target.referee.count
    assert count is not None
    assert (count.cycles, count.drafted, count.accepted) == (cycles, drafted, accepted)


def test_a_plain_server_has_parts_and_no_drafting() -> None:
    target = replayed("h200_plain").targets[0]
    assert (target.evidence, target.totals.cycles, target.rates.tau) == ("counted", None, 1.0)
    assert target.anatomy is not None
    parts = target.anatomy.parts
    assert parts.whole_ms == pytest.approx(2.93, abs=0.01)
    assert parts.wait_ms == pytest.approx(2.46, abs=0.01)
    assert parts.draft_ms in (None, 0.0)
    assert [(c.bytes_each, c.meaning) for c in target.copies if c.per_turn > 0.5] == [(196_608, "logits of 1 row")]


def test_where_the_milliseconds_of_a_drafting_turn_go() -> None:
    target = replayed("h200_dflash").targets[0]
    assert target.anatomy is not None
    parts = target.anatomy.parts
    told = (parts.draft_ms, parts.submit_ms, parts.wait_ms, parts.features_ms, parts.sampling_ms, parts.other_ms)
    assert sum(p or 0.0 for p in told) == pytest.approx(parts.whole_ms, rel=1e-6)
    assert parts.wait_ms == pytest.approx(5.6, abs=0.1)
    assert target.anatomy.asynchronous is True
    usual = {(c.owner, c.bytes_each): c.meaning for c in target.copies if c.per_turn > 0.5}
    assert usual["target", 16 * 49_152 * 4] == "logits of 16 rows"
    assert usual["target", 16 * 4096 * 4] == "features of one layer, 16 rows"
    assert usual["drafter", 40].startswith("top 10 chosen on the device")
    assert (target.backend_path.draft, target.backend_path.target) == ("device", "host")


def test_the_drafters_logits_on_the_host_show() -> None:
    session = replayed("h200_host_argmax")
    target = session.targets[0]
    logits = [c for c in target.copies if c.bytes_each == 16 * 49_152 * 4 and c.per_turn > 0.5]
    assert {c.owner for c in logits} == {"target", "drafter"}
    assert (target.backend_path.draft, target.backend_path.target) == ("host", "host")
    assert "host_argmax" in {f.name for f in diagnose(session).findings}


def test_a_sorted_vocabulary_is_named_with_what_it_costs() -> None:
    findings = {f.name: f for f in diagnose(replayed("h200_top_k_0")).findings}
    assert findings["full_vocabulary_sort"].cost_ms == pytest.approx(19.0, abs=0.5)
    assert "host_sampling_dominates" in findings
    assert "full_vocabulary_sort" not in {f.name for f in diagnose(replayed("h200_dflash")).findings}


def test_the_cycle_in_which_a_graph_is_captured_is_not_what_a_width_costs() -> None:
    # Requests of 1 to 24 tokens (scripts/long/sweep.py): nearly every cycle of full width is the second of its request.
    economics = replayed("h200_short_requests").targets[0].economics
    assert economics is not None
    widest = next(p for p in economics.costs if p.width == 15)
    # A server of n_max 15 took 10.8 ms a step over long requests, by its own clock (10.5 .. 11.0).
    assert (widest.how, widest.low < 10.8 < widest.high) == ("seen", True)
    assert widest.high < 12
