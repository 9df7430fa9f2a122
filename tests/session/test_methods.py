"""Several drafting methods whose costs and acceptance are known: what is told of each."""

from __future__ import annotations

import builders as b
import pytest
from economics_bench import Bench
from methods_bench import DRAFTER, SECOND, TABLE, Kind, Server

from specscope.session.economics.methods import LEAST_CYCLES, ORDER, named
from specscope.session.economics.recorded import recorded_run
from specscope.session.fold import Fold


def gain(kind: Kind, without_tok_s: float) -> float:
    return 100 * (kind.tok_s() / without_tok_s - 1)


def test_a_table_is_set_against_the_drafter_that_would_draft_without_it() -> None:
    table, drafter = Server((TABLE, DRAFTER)).target().by_method
    assert (table.name, drafter.name) == (TABLE.name, DRAFTER.name)
    assert table.tau.low < TABLE.tau() < table.tau.high
    assert table.cycle_ms.value == pytest.approx(TABLE.mean_ms(), rel=0.02)
    assert table.gain_pct.low < gain(TABLE, DRAFTER.tok_s()) < table.gain_pct.high
    assert table.gain_pct.high - table.gain_pct.low < 30
    assert table.basis.startswith(f"{table.cycles:,} cycles of {TABLE.name} against {drafter.cycles:,} cycles of")
    # 30 of 100 steps are the table's.
    both = (0.3 * TABLE.tau() + 0.7 * DRAFTER.tau()) / (0.3 * TABLE.mean_ms() + 0.7 * DRAFTER.mean_ms())
    truth = 100 * (1000 * both / DRAFTER.tok_s() - 1)
    assert table.server_gain_pct.low < truth < table.server_gain_pct.high
    assert (table.draft_ms, drafter.draft_ms) == (pytest.approx(0.03), pytest.approx(1.2))
    # What the drafter gains is asked of plain decoding, which this server never does.
    assert (drafter.gain_pct, drafter.collecting) == (None, "plain decoding has not been measured")


def test_a_recorded_run_tells_what_the_drafter_gains() -> None:
    off = recorded_run(Bench(n_max=0, plain_ms=6.0, requests=10).target(), "off.jsonl")
    fold = Fold()
    server = Server((TABLE, DRAFTER))
    for fact in server.begin():
        fold.apply(fact)
    fold.targets["t0"].economics.runs = (off,)
    for fact in server.facts():
        fold.apply(fact)
    (target,) = fold.view().targets
    _, drafter = target.by_method
    assert drafter.gain_pct.low < gain(DRAFTER, 1000 / 6.0) < drafter.gain_pct.high
    assert drafter.basis.endswith("against plain decoding, at 219 resident tokens")
    # And the server's own speedup is of both methods together.
    both = (0.3 * TABLE.tau() + 0.7 * DRAFTER.tau()) / (0.3 * TABLE.mean_ms() + 0.7 * DRAFTER.mean_ms())
    assert target.economics.speedup.low < both * 6.0 < target.economics.speedup.high
    assert target.economics.tau.value == pytest.approx(0.3 * TABLE.tau() + 0.7 * DRAFTER.tau(), rel=0.03)


def test_two_tables_are_set_against_what_comes_after_them_as_it_came() -> None:
    first, second = Server((TABLE, SECOND), requests=80).target().by_method
    after = 0.2 * SECOND.tau() + 0.8, 0.2 * SECOND.mean_ms() + 0.8 * 6.0
    assert first.gain_pct.low < gain(TABLE, 1000 * after[0] / after[1]) < first.gain_pct.high
    assert second.gain_pct.low < gain(SECOND, 1000 / 6.0) < second.gain_pct.high
    assert first.basis.split(" against ")[1].split(",")[0] == f"{second.cycles:,} cycles of {SECOND.name} and 2"
    assert "plain steps" in second.basis


def test_a_table_in_a_drafters_way_costs_more_than_it_gains() -> None:
    _, second, _ = Server((TABLE, SECOND, DRAFTER)).target().by_method
    assert second.gain_pct.high < 0
    assert second.gain_pct.low < gain(SECOND, DRAFTER.tok_s()) < second.gain_pct.high
    assert second.server_gain_pct.high < 0


def test_the_advice_on_width_is_of_the_drafters_cycles_alone() -> None:
    economics = Server((TABLE, DRAFTER)).target().economics
    assert economics.n_max == 7
    assert [p.width for p in economics.costs] == [7]
    assert economics.drafting.by == "block"
    assert economics.drafting.ms == pytest.approx(1.2)
    assert "the draft width is asked of the drafter: its cycles alone tell of it" in economics.assumes


def test_tables_alone_have_a_cost_by_width_and_a_best_one() -> None:
    economics = Server((TABLE,), requests=60).target().economics
    costs = {p.width: p.ms for p in economics.costs}
    assert costs == {w: pytest.approx(TABLE.ms + TABLE.per_token_ms * w, rel=0.02) for w in TABLE.widths}
    assert economics.plain.how == "this run"
    assert economics.plain.ms == pytest.approx(6.0, rel=0.01)
    assert economics.n_max == economics.best_n_max == 12
    step = 0.3 * TABLE.tau() + 0.7, 0.3 * TABLE.mean_ms() + 0.7 * 6.0
    assert economics.speedup.low < step[0] / step[1] * 6.0 < economics.speedup.high


def test_few_cycles_have_counts_and_no_gain() -> None:
    rare = Kind(TABLE.name, 0.02, TABLE.widths, TABLE.rate, TABLE.ms)
    table, drafter = Server((rare, DRAFTER), requests=10).target().by_method
    assert 0 < table.cycles < LEAST_CYCLES
    assert (table.gain_pct, table.tok_s) == (None, None)
    assert table.collecting == f"{table.cycles} of 30 cycles"
    assert drafter.tok_s is not None


def test_a_method_that_found_nothing_is_told_of_too() -> None:
    never = Kind("ngram-simple", 0.0, (4,), 0.5, 6.0)
    first, drafter = Server((never, DRAFTER), requests=5).target().by_method
    assert (first.name, first.cycles, first.drafted, first.collecting) == (
        "ngram-simple",
        0,
        0,
        "it has drafted nothing",
    )
    assert drafter.cycles == 300


def test_a_single_method_gains_what_the_speedup_says() -> None:
    (row,) = Server((DRAFTER,)).target(b.statistics(900.0, 2400, 2880.0)).by_method
    assert row.cycles == 2400
    assert row.cycle_ms.value == pytest.approx(9.0, rel=0.01)
    assert row.draft_ms == pytest.approx(1.2)
    assert row.collecting == "plain decoding has not been measured"


# --- the log's statistics --------------------------------------------------------------------------------------------


def lines(*sums: tuple[str, int, int, int, int, float]) -> list[object]:
    return [
        b.statistics(
            5.0, drafts, took_ms, method=name, drafted=drafted, accepted=accepted, calls=calls, verified=drafts
        )
        for name, calls, drafts, drafted, accepted, took_ms in sums
    ]


TWO = [("draft-dflash", 11, 11, 77, 35, 6.918), ("ngram-map-k", 29, 17, 81, 49, 0.034)]


def test_without_a_trace_the_statistics_tell_the_counts_and_no_time() -> None:
    table, drafter = b.seen(b.found(), *lines(*TWO)).by_method
    assert (table.name, table.cycles, table.drafted, table.accepted) == ("ngram-map-k", 17, 81, 49)
    assert (table.calls, table.drafts, table.draft_ms) == (29, 17, pytest.approx(0.002))
    assert (drafter.name, drafter.draft_ms) == ("draft-dflash", pytest.approx(0.629, abs=0.001))
    assert table.tau_draft == pytest.approx(1 + 49 / 17)
    assert {row.evidence for row in (table, drafter)} == {"counted"}
    assert {row.collecting for row in (table, drafter)} == {"a trace tells what its cycles take"}
    assert (table.tau, table.cycle_ms, table.gain_pct) == (None, None, None)


def test_the_statistics_add_to_what_a_trace_tells() -> None:
    target = Server((TABLE, DRAFTER), requests=10).target(*lines((TABLE.name, 600, 200, 1600, 900, 0.4)))
    table, drafter = target.by_method
    assert (table.calls, table.drafts, table.draft_ms) == (600, 200, pytest.approx(0.002))
    assert table.cycles != 200  # it counts since the server started
    assert table.evidence == "unconfirmed"
    assert (drafter.calls, drafter.draft_ms) == (None, pytest.approx(1.2))


def test_statistics_count_from_a_reset_on() -> None:
    fold = b.fold(b.found(), *lines(*TWO))
    fold.reset()
    for fact in lines(("draft-dflash", 31, 31, 217, 95, 16.918)):
        fold.apply(fact)
    table, drafter = fold.view().targets[0].by_method
    assert (drafter.cycles, drafter.drafted, drafter.accepted, drafter.draft_ms) == (20, 140, 60, pytest.approx(0.5))
    assert (table.cycles, table.drafted, table.draft_ms) == (0, 0, None)


def test_statistics_of_a_server_that_started_anew_are_its_own() -> None:
    fold = b.fold(b.found(), *lines(*TWO))
    fold.reset()
    for fact in lines(("draft-dflash", 4, 4, 28, 9, 2.0)):
        fold.apply(fact)
    assert fold.view().targets[0].by_method[1].cycles == 4


def test_an_older_builds_statistics_do_not_tell_what_was_verified() -> None:
    (row,) = b.seen(b.found(), b.statistics(1.0, 5, 1.25, method="ngram-simple", drafted=187, accepted=73)).by_method
    assert (row.cycles, row.drafted, row.acceptance, row.tau_draft) == (None, 187, pytest.approx(73 / 187), None)


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "types", "name"),
    [
        ("draft-dflash or draft-dspark", ("draft-dspark",), "draft-dspark"),
        ("draft-dflash or draft-dspark", ("ngram-mod", "draft-dflash"), "draft-dflash"),
        ("draft-dflash or draft-dspark", (), "draft-dflash or draft-dspark"),
        ("ngram-map-k", ("draft-dflash",), "ngram-map-k"),
    ],
)
def test_a_method_goes_by_its_own_name_once_it_is_known(told: str, types: tuple[str, ...], name: str) -> None:
    assert named(told, types) == name


def test_a_drafter_that_the_server_detected_is_named_as_the_log_does() -> None:
    cycles = [b.traced(1 + i / 50, 7, 3, method="draft-dflash or draft-dspark") for i in range(3)]
    before = b.fold(b.found(), b.tracing(), *cycles)
    assert b.by_method(before.view().targets[0]) == (("draft-dflash or draft-dspark", 3, 21, 9),)
    before.apply(b.said("spec_type_detected", type="draft-dspark"))
    assert b.by_method(before.view().targets[0]) == (("draft-dspark", 3, 21, 9),)


def test_methods_stand_in_the_order_of_asking_whatever_the_flags_say() -> None:
    names = [row.name for row in Server((DRAFTER, SECOND, TABLE), requests=2).target().by_method]
    assert names == [name for name in ORDER if name in names]
    assert names == [TABLE.name, SECOND.name, DRAFTER.name]


def test_a_method_whose_tokens_are_not_accepted_cannot_pay() -> None:
    poor = Kind("draft-dflash", 1.0, (7,), 0.004, 9.0)
    table, drafter = Server((TABLE, poor), requests=60).target().by_method
    assert drafter.gain_pct is None  # plain decoding was not seen
    assert 0 < drafter.gain_at_most_pct < 3
    assert table.gain_at_most_pct is None
    economics = Server((TABLE, poor), requests=60).target().economics
    assert economics.tau_at_most < 1.05
    assert economics.speedup_at_most is None  # the table's cycles yield more
