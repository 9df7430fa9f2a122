"""The state and the findings in words: every figure that is known, and a dash for what is not."""

from __future__ import annotations

import re

import builders as b
from economics_bench import Bench, stepped
from methods_bench import DRAFTER, TABLE, Kind, Server
from simulated import Load, Work

from specscope import events as ev
from specscope.reports.text import MARKS, referee_sentence, summary
from specscope.session.fold import Fold

LOAD = Load((Work(0, 1, 1.0, ((15, 5),) * 1500),))
TRACED = [b.found(), b.server("ready"), b.attached("log", "cycles")]
COUNTS = LOAD.counters(0.0, last=False), LOAD.counters(99.0)
SPC103 = b.process("--spec-synth-len 3.5")
BEST_UNKNOWN = "width 15: best not known, try 7 (1 width seen)"
SYNTHETIC = "SYNTHETIC acceptance: drafts are accepted by chance, the output is not valid"


def words(*facts: object) -> str:
    return summary(b.fold(*facts).view())


def sentence(*facts: object) -> str:
    return referee_sentence(b.seen(*facts))


# --- the summary -----------------------------------------------------------------------------------------------------


def test_the_figures_of_a_watch_with_how_they_are_known() -> None:
    text = words(*TRACED, b.process("--spec-type draft-dflash"), COUNTS[0], *LOAD.work[0].log(), COUNTS[1])
    assert text.splitlines() == [
        "http://127.0.0.1:8080  ready  speculation: draft-dflash  evidence: cycles, exact",
        "  last 10 s of decoding: 300.0 tok/s, tau 6.00, median 20.0 ms/cycle",
        "  1,500 cycles=, drafted 22,500=, accepted 7,500=, acceptance 33.3%, tau 6.00, tau_draft 6.00",
        "  cycles 1,500 = server 1,500",
        f"  speedup not known (no plain decode seen: specscope recipe plain); {BEST_UNKNOWN}",
        "  1 request ended, 9,001 tokens in it",
    ]


def test_what_was_not_seen_is_a_dash_and_not_nought() -> None:
    text = words(b.found())
    assert text.splitlines() == [
        "http://127.0.0.1:8080  unknown  speculation: —  evidence: none",
        "  no decoding was seen",
        "  0 requests ended, 0 tokens in them",
    ]


def test_tokens_of_requests_that_nobody_counted_are_a_dash() -> None:
    uncounted = [b.launched(1.0, task=1), b.released(1.5, task=1)]
    counted = [b.launched(2.0, task=2), b.logged(2.5, task=2, generated=12)]
    assert "  1 request ended, — tokens in it" in words(*TRACED, *uncounted)
    assert "  2 requests ended, 12 tokens in 1 of them" in words(*TRACED, *uncounted, *counted)


def test_polled_cycles_have_no_widths() -> None:
    work = Work(0, 1, 1.0, ((15, 5), (15, 3)))
    text = words(b.found(), b.attached("slots", "polled"), *work.polls())
    assert "2 cycles°, drafted —°, accepted 8°, acceptance —, tau 3.67, tau_draft 5.00" in text


def test_a_server_that_does_not_draft_has_no_line_about_cycles() -> None:
    plain = [b.idle(0.1, task=None, speculative=False), b.busy(0.5, speculative=False), b.step(0.6, 1), b.step(0.8, 21)]
    text = words(b.found(), *plain)
    assert "speculation: none" in text
    assert "cycles" not in text
    assert "tau 1.00" in text


def test_what_speculation_gains_stands_beside_its_basis() -> None:
    (line,) = [x for x in summary(Bench(cost=stepped, requests=120).fold().view()).splitlines() if "plain" in x]
    assert re.fullmatch(
        r"  1\.\d+x plain decode~ \(1\.\d+x to 2\.\d+x, plain 18\d tok/s with drafter fed\);"
        r" width 15 -> 7 is best, \+4\d %~ \(\+\d\d to \+\d\d %, 15 widths seen\)",
        line,
    )


def test_regimes_are_told_where_there_are_several() -> None:
    facts, at = [*Bench().begin()], 1.0
    for label, rates in (("code", (0.95,) * 15), ("prose", (0.5,) * 15)):
        told = list(Bench(rates=rates, requests=5).facts(at=at, first_task=1 if label == "code" else 11))
        facts += [b.mark(label, at), *told]
        at = told[-1].at - b.T0 + 1
    (line,) = [x for x in words(*facts).splitlines() if "regime" in x]
    assert re.fullmatch(
        r"  by regime: code 50% of the tokens, \d\d% of the time, tau \d+\.\d\d, [\d.]+ tok/s;"
        r" prose 50% of the tokens, \d\d% of the time, tau [12]\.\d\d, [\d.]+ tok/s",
        line,
    )
    assert "regime" not in words(*Bench(requests=3).begin(), *Bench(requests=3).facts())


def test_a_traced_turn_its_copies_and_who_waits() -> None:
    turns = [b.turn(1 + i / 75, 13_000, draft_us=3_400, wait_us=4_700, sampling_us=2_900) for i in range(9)]
    copies = b.copies(2.0, [("target", 3_145_728, 75), ("drafter", 40, 2_400)], turns=75, apart=[(630_784, 64)])
    server = [b.model(n_vocab=49_152, n_embd=4096), b.process("--spec-type draft-dflash --spec-draft-n-max 15")]
    text = words(*TRACED, *server, *turns, copies, b.stalls(3.0, 0.61, 0.3))
    assert [line.strip() for line in text.splitlines()[2:-1]] == [
        "collecting: no cycle was seen yet",
        "a turn of 13.0 ms=: draft 3.4, verify 4.7, sampling 2.9, rest 2.0 (probes on the server's own functions)",
        "copies to the host: 3.15 MB a turn, most of it 1 x 3,145,728 bytes (logits of 16 rows)",
        "copied besides, in no turn: 40.37 MB, most of it 64 x 630,784 bytes",
        "chosen on: draft device, target host=",
        "host waits for the device 61%, device idle 30% of the time",
    ]


def test_what_the_cpu_computes_within_the_submit_is_verifying_as_on_the_screen() -> None:
    parts = {"draft_us": 3_400, "submit_us": 7_000, "wait_us": 300, "features_us": 0, "sampling_us": 200}
    turns = [b.tracing(asynchronous=False), *(b.turn(1 + i / 75, 13_000, **parts) for i in range(9))]
    text = words(*TRACED, *turns)
    assert "a turn of 13.0 ms=: draft 3.4, verify (CPU) 7.3, features 0.0, sampling 0.2, other 2.1 (" in text


def test_what_is_estimated_of_a_turn_is_marked_so() -> None:
    cycles = [b.cycle(1 + 0.013 * i, 15, 6) for i in range(100)]
    flag = b.process("--spec-type draft-dflash --no-spec-draft-backend-sampling")
    text = words(*TRACED, flag, *cycles, b.statistics(1.0, 100, 340.0), b.statistics(2.0, 300, 1020.0))
    assert "a turn of 13.0 ms~: draft 3.4, rest 9.6 (turn of 13.0 ms from the time between steps; " in text
    assert "chosen on: draft host, target unknown~" in text
    assert "copies" not in text


def test_several_methods_have_two_lines_each_and_one_has_none() -> None:
    counts = "  ngram-map-k4v: 705 cycles·, accepted 3,442 of 5,576· (61.7%), 5.88 tokens a cycle, "
    table = f"{counts}draft 0.03 ms, cycle 9.17 ms"
    gain = r"    642 tok/s instead of 34[45]~: \+8\d % \(\+7\d to \+9\d\), the server \+2\d % \(705 cycles of ngram"
    lines = words(*Server().begin(), *Server().facts()).splitlines()
    assert table in lines
    assert re.match(gain, lines[lines.index(table) + 1])
    assert "    gain unknown: plain decoding has not been measured" in lines
    alone = Server((DRAFTER,), requests=2)
    assert "gain" not in words(*alone.begin(), *alone.facts())


def test_restarts_are_mentioned() -> None:
    text = words(b.found(), b.started("1"), b.started("2", at=9.0))
    assert "the server restarted once; the figures are of its last run" in text
    assert "restarted" not in words(b.found())


def test_several_servers_one_after_the_other_or_none() -> None:
    fold = b.fold(b.found(url=None, pid=7), b.server("ready"))
    assert summary(fold.view()).startswith("t0  ready")
    assert summary(Fold().view()) == "nothing was seen"


def test_every_way_of_knowing_has_a_sign_of_its_own() -> None:
    signs = list(MARKS.values())
    assert len(set(signs)) == len(signs) == 7
    assert MARKS["exact"] == "="
    assert MARKS["unknown"] == ""


# --- the comparison with the server's own count ---------------------------------------------------------------------


def test_counts_that_agree_and_counts_that_part() -> None:
    lines = Work(0, 1, 1.0, ((15, 5), (15, 3))).log()
    counts = b.counters(0.0, 0, 0, 0), b.counters(9.0, 2, 30, 8)
    assert sentence(*TRACED, counts[0], *lines, counts[1]) == "cycles 2 = server 2"
    assert sentence(*TRACED, counts[0], *lines[:2], b.released(), counts[1]) == "cycles 1 ≠ server 2"


def test_polling_says_how_much_it_saw_and_what_it_took() -> None:
    polls = Work(0, 1, 1.0, ((15, 5), (15, 3))).polls()
    facts = [b.found(), b.counters(0.0, 0, 0, 0, generated=0), *polls, b.counters(9.0, 4, 60, 16, generated=21)]
    assert sentence(*facts) == "polled 50.0% of the server's 4 cycles"
    assert sentence(*facts, b.sampled(polls=3, steps=2)) == "polled 50.0% of the server's 4 cycles, 1.5 polls a step"


def test_without_counters_the_logs_own_totals_speak() -> None:
    assert sentence(*TRACED, *LOAD.work[0].log()) == "1 of 1 requests equal the totals in the log"
    wrong = b.logged(generated=7, drafted=15, accepted=4)
    assert sentence(*TRACED, *b.of_log([(15, 5)]), wrong) == "0 of 1 requests equal the totals in the log"


def test_before_any_comparison_it_says_what_it_waits_for() -> None:
    before = "not compared with the server's own counters: "
    assert sentence(*TRACED) == before + "waiting for all slots to be idle once"
    assert sentence(*TRACED, b.props(endpoint_metrics=False)) == before + "/metrics is off"


# --- devices and memory ----------------------------------------------------------------------------------------------


def test_a_device_its_energy_its_memory_and_the_context_in_words() -> None:
    mib = 1 << 20
    facts: list[ev.Event] = [
        b.found(pid=4242),
        b.server("ready"),
        b.gpu(name="NVIDIA H200", power_limit_w=70.0, sm_clock_max_mhz=2617),
        b.gpu_memory(0.5, 9000 * mib, pids=[(4242, 8000 * mib)], free_bytes=1000 * mib),
        ev.BufferLogged(at=b.T0, device="CUDA0", kind="model", bytes=6000 * mib, model="target"),
        b.busy(1.0, decoded=1, n_ctx=4096, fill_tokens=1024),
        b.gpu_link(1.0, 0.0),
        *(b.gpu_now(1 + i / 10, 69.0, reasons=4, sm_clock_mhz=1410, busy_pct=97) for i in range(41)),
        b.step(4.9, 101, fill_tokens=1124, held_ms=None),
        b.gpu_link(5.0, 276.0),
    ]
    text = summary(b.fold(*facts).view())
    assert (
        "GPU 0 NVIDIA H200, 4 s at work: 69 of 70 W, 1,410 of 2,617 MHz, 97 % busy; power cap 100% of the time" in text
    )
    assert "2.76 J per generated token" in text
    assert "over 100 tokens, by the driver's counter" in text
    assert "device memory, MiB: target weights 6,000, unexplained 2,000" in text
    assert "75.0% of the process's explained; not told: " in text
    assert "context 1,124 of 4,096 tokens (27%), at most 1,124" in text


def test_a_lost_device_says_so() -> None:
    facts = [
        b.found(pid=4242),
        b.gpu(),
        b.gpu_memory(0.5, pids=[(4242, None)]),
        b.said("layers_offloaded", offloaded="9"),
    ]
    text = summary(b.fold(*facts, b.gpu_lost(2.0, "fallen off the bus")).view())
    assert "GPU 0: lost: fallen off the bus" in text


def test_a_method_that_cannot_pay_is_told_so() -> None:
    server = Server((TABLE, Kind("draft-dflash", 1.0, (7,), 0.004, 9.0)), requests=60)
    lines = words(*server.begin(), *server.facts()).splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith("  draft-dflash: ")]
    assert lines[at + 1] == (
        "    gains at most 2 %~ over plain decoding, for no cycle is shorter than a plain step: run without it"
    )


def test_cycles_that_the_count_does_not_cover_are_told() -> None:
    later = [b.cycle(100 + 0.02 * i, 15, 5, task=99) for i in range(7)]
    text = words(*TRACED, b.process("--spec-type draft-dflash"), COUNTS[0], *LOAD.work[0].log(), COUNTS[1], *later)
    assert "  1,507 cycles=" in text
    assert "  cycles 1,500 = server 1,500, 7 more not compared" in text


def test_a_slots_speed_is_called_so_where_there_are_several() -> None:
    code = [b.mark("code", 1.0), *Bench(requests=6).facts()]
    prose = [b.mark("prose", 99.0), *Bench(requests=6).facts(at=99.0, first_task=20)]
    for slots, unit in (([], "tok/s"), ([b.idle(0.5, slot=1, task=None)], "tok/s a slot")):
        (line,) = [x for x in words(*Bench().begin(), *slots, *code, *prose).splitlines() if "regime" in x]
        assert re.search(rf", [\d.]+ {unit};", line)
