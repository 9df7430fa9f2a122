"""The JSON snapshot: its keys are a promise, its nulls are what was not seen."""

from __future__ import annotations

import json
from typing import Any

import builders as b
import msgspec
import pytest
from simulated import Load, Work

from specscope import __version__
from specscope import events as ev
from specscope.findings.engine import diagnose
from specscope.findings.registry import RULES
from specscope.reports.snapshot import SCHEMA_VERSION, encode, snapshot
from specscope.session.fold import Fold

SCHEMA = """
schema_version tool_version at target model speculation requests throughput economics anatomy_ms copies saved
backend_path stalls trace stacks kv gpu energy memory_map memory sampling config findings collecting does_not_apply
failed rules regimes prefill marks epochs sources overhead
"""
PARTS = {
    "target": "id url pid kind build state state_detail evidence",
    "model": "target drafter projector",
    "speculation": """
        types types_from n_max_requested n_max_effective cycles plain_steps generated_tokens referee by_method by_slot
        drafted_tokens accepted_tokens width_mean width_max accepted_mean acceptance tau tau_draft per_position
        accepted_histogram by_width cycle_ms evidence cycle_evidence cycle_completeness polls_per_cycle""",
    "throughput": """
        decode_tok_s tau busy_slots window_s prefill_tok_s plain_tok_s speedup speedup_low speedup_high speedup_at_least
        speedup_at_most basis""",
    "kv": """
        n_ctx slots context_tokens fill_tokens fill_max_tokens fill_max_together_tokens bytes_per_token unknown_why
        reserved_bytes filled_bytes by_depth""",
    "memory": "maps growth at_full_context",
    "sampling": "slots defaults provenance drift",
    "config": "build recommended_by latest_request settings requests",
    "epochs": "current restarts_at",
    "overhead": "cpu_pct rss_bytes requests_per_s",
}
REFEREE = """
cycles drafted_tokens accepted_tokens captured_cycles captured_drafted_tokens captured_accepted_tokens agrees
requests_checked requests_parted missed waiting
"""
REQUEST = """
slot task label started_at ended_at prompt_tokens cached_tokens generated_tokens ttft_ms tok_s cycles drafted_tokens
accepted_tokens tau stop seen_whole agrees seen_by
"""
ANATOMY = """
draft submit verify features sampling copies sync other whole turns cycles evidence basis draft_sampling
"""
FINDING = "code name severity subject summary evidence advice link cost_ms cost_tok_per_s since settled"
MODEL = "path name arch file_bytes tensor_types n_vocab n_embd n_layer n_ctx_train block_size"

LOAD = Load((Work(0, 1, 1.0, ((15, 5), (15, 0), (3, 3)), prompt=37), Work(1, 2, 1.1, ((15, 2),))))
EXACT = [
    b.found(pid=4242),
    b.server("ready"),
    b.started("17"),
    b.attached("slots", "totals"),
    b.attached("log", "cycles", detail="/l.log"),
    b.props(build="b11434", n_ctx=4096, defaults={"min_p": 0.05}),
    b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 32 --top-k 20"),
    b.model("target", name="granite", n_vocab=49_152, tensor_types={"Q4_0": 10}),
    b.model("drafter", arch="dflash", block_size=16),
    b.mark("code", at=0.4),
    LOAD.counters(0.45, last=False),
    b.busy(0.5, task=0, slot=0, n_ctx=2048, params={"temperature": 1.0, "speculative.types": "draft-dflash"}),
    b.idle(0.6, task=0),
    *sorted([f for w in LOAD.work for f in [*w.log(), *w.polls()]], key=lambda f: f.at),
    LOAD.counters(9.0),
    ev.OwnCostSampled(at=b.T0 + 9, cpu_pct=0.8, rss_bytes=61_000_000, requests_per_s=3.2),
]


def made(*facts: ev.Event) -> dict[str, Any]:
    """A snapshot as a program reads it."""
    view = b.fold(*facts).view()
    return json.loads(encode(snapshot(view, diagnose(view))))


@pytest.mark.parametrize("facts", [[b.found()], EXACT], ids=["nothing seen", "much seen"])
def test_the_keys_are_always_the_same(facts: list[ev.Event]) -> None:
    snap = made(*facts)
    assert list(snap) == SCHEMA.split()
    for part, keys in PARTS.items():
        assert list(snap[part]) == keys.split(), part
    assert list(snap["speculation"]["referee"]) == REFEREE.split()
    assert list(snap["speculation"]["cycle_ms"]) == ["p50", "p95"]
    for request in snap["requests"]:
        assert list(request) == REQUEST.split()
    for model in snap["model"].values():
        assert model is None or list(model) == MODEL.split()


def test_the_version_of_the_schema_comes_first() -> None:
    snap = made(b.found())
    assert next(iter(snap)) == "schema_version"
    assert snap["schema_version"] == SCHEMA_VERSION == 1
    assert snap["tool_version"] == __version__


def test_what_was_not_seen_is_null_and_never_nought() -> None:
    snap = made(b.found(url=None))
    assert [
        n for n in _numbers({k: v for k, v in snap.items() if k not in ("schema_version", "epochs", "rules")}) if n == 0
    ] == [
        0,  # requests checked, parted and facts missed: counts that this program makes itself
        0,
        0,
    ]
    speculation = snap["speculation"]
    unknown = (
        "types n_max_effective cycles plain_steps drafted_tokens accepted_tokens acceptance tau tau_draft width_mean"
    )
    assert {speculation[key] for key in unknown.split()} == {None}
    assert (speculation["evidence"], speculation["cycle_evidence"]) == ("unknown", "unknown")
    assert snap["sampling"]["provenance"] is None
    assert {snap["throughput"][key] for key in snap["throughput"]} == {None}
    assert snap["model"] == {"target": None, "drafter": None, "projector": None}
    for part in (
        "economics",
        "anatomy_ms",
        "copies",
        "saved",
        "backend_path",
        "stalls",
        "trace",
        "gpu",
        "memory_map",
        "regimes",
    ):
        assert snap[part] is None


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [n for v in value.values() for n in _numbers(v)]
    if isinstance(value, list):
        return [n for v in value for n in _numbers(v)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def test_the_figures_of_speculation() -> None:
    speculation = made(*EXACT)["speculation"]
    assert (speculation["types"], speculation["types_from"]) == (["draft-dflash"], "slots")
    assert (speculation["n_max_requested"], speculation["n_max_effective"]) == (32, 15)
    assert (speculation["cycles"], speculation["drafted_tokens"], speculation["accepted_tokens"]) == (4, 48, 10)
    assert (speculation["plain_steps"], speculation["generated_tokens"]) == (2, 16)
    assert speculation["tau"] == pytest.approx(16 / 6)
    assert (speculation["tau_draft"], speculation["accepted_mean"]) == (3.5, 2.5)
    assert speculation["acceptance"] == pytest.approx(10 / 48)
    assert (speculation["width_mean"], speculation["width_max"]) == (12.0, 15)
    assert speculation["accepted_histogram"] == [1, 0, 1, 1, 0, 1]
    assert speculation["per_position"][2] == {"position": 2, "share": 0.5, "among_wide": 0.5}
    assert speculation["per_position"][3] == {"position": 3, "share": 0.25, "among_wide": pytest.approx(1 / 3)}
    assert {"width": 15, "accepted": 5, "cycles": 1} in speculation["by_width"]
    assert [(s["slot"], s["cycles"], s["steps"]) for s in speculation["by_slot"]] == [(0, 3, 4), (1, 1, 2)]
    assert (speculation["evidence"], speculation["cycle_completeness"]) == ("exact", 1.0)


def test_the_referee_stands_beside_what_was_captured() -> None:
    referee = made(*EXACT)["speculation"]["referee"]
    assert (referee["cycles"], referee["drafted_tokens"], referee["accepted_tokens"]) == (4, 48, 10)
    assert (referee["captured_cycles"], referee["agrees"], referee["requests_checked"]) == (4, True, 2)
    assert referee["waiting"] is None
    waiting = made(b.found())["speculation"]["referee"]
    assert (waiting["cycles"], waiting["agrees"]) == (None, None)
    assert waiting["waiting"] == "waiting for all slots to be idle once"


def test_counts_that_part_say_how_complete_the_captured_are() -> None:
    dropped = [f for f in EXACT if not (isinstance(f, ev.CycleLogged) and f.slot == 1)]
    speculation = made(*dropped)["speculation"]
    assert (speculation["evidence"], speculation["cycle_completeness"]) == ("parted", 0.75)
    assert (speculation["referee"]["cycles"], speculation["referee"]["captured_cycles"]) == (4, 3)


def test_polled_cycles_say_how_complete_they_are_and_what_they_cost() -> None:
    polls = [f for w in LOAD.work for f in w.polls()]
    counts = LOAD.counters(0.0, last=False), LOAD.counters(9.0)
    snap = made(b.found(), b.attached("slots", "polled"), counts[0], *polls, b.sampled(polls=6, steps=4), counts[1])
    speculation = snap["speculation"]
    assert (speculation["evidence"], speculation["cycle_evidence"]) == ("counted", "polled")
    assert (speculation["cycle_completeness"], speculation["polls_per_cycle"]) == (1.0, 1.5)
    assert speculation["by_width"] == []
    assert snap["requests"][0]["drafted_tokens"] is None


def test_a_server_that_does_not_draft_has_null_for_every_drafting_figure() -> None:
    plain = [b.busy(0.5, speculative=False), b.step(0.6, 1), b.step(0.8, 21), b.idle(0.9, speculative=False)]
    snap = made(b.found(), *plain)
    speculation = snap["speculation"]
    assert (speculation["types"], speculation["tau"], speculation["plain_steps"]) == ([], 1.0, 21)
    drafting = "cycles drafted_tokens accepted_tokens acceptance tau_draft width_mean width_max accepted_mean"
    assert {speculation[key] for key in drafting.split()} == {None}
    assert (snap["requests"][0]["cycles"], snap["requests"][0]["tau"]) == (None, 1.0)


def test_the_other_parts() -> None:
    snap = made(*EXACT)
    assert snap["at"] == "2026-05-28T20:26:49.000+00:00"
    assert snap["target"]["build"] == "b11434"
    assert (snap["target"]["pid"], snap["target"]["state"], snap["target"]["evidence"]) == (4242, "ready", "cycles")
    assert snap["model"]["drafter"]["block_size"] == 16
    assert snap["model"]["target"]["tensor_types"] == {"Q4_0": 10}
    assert snap["kv"]["slots"][0]["fill_tokens"] == 37 + 12
    assert (snap["kv"]["n_ctx"], snap["kv"]["fill_tokens"], snap["kv"]["fill_max_tokens"]) == (4096, 49 + 104, 104)
    assert snap["sampling"]["slots"][0]["params"]["temperature"] == 1.0
    assert snap["sampling"]["provenance"] == {
        "temperature": "request",
        "top_k": "command line",
        "min_p": "server default",
    }
    assert snap["sampling"]["defaults"] == {"min_p": 0.05}
    assert snap["marks"] == [{"at": b.T0 + 0.4, "label": "code"}]
    assert snap["epochs"] == {"current": 1, "restarts_at": []}
    assert snap["overhead"] == {"cpu_pct": 0.8, "rss_bytes": 61_000_000, "requests_per_s": 3.2}
    assert [(s["name"], s["tier"], s["hint"], s["lost_events"]) for s in snap["sources"]] == [
        ("slots", "totals", None, 0),
        ("log", "cycles", None, 0),
    ]
    (request, _) = [r for r in snap["requests"] if r["generated_tokens"]]
    assert (request["label"], request["prompt_tokens"], request["generated_tokens"]) == ("code", 37, 12)
    assert (request["seen_by"], request["agrees"], request["seen_whole"]) == ("log", True, True)
    assert snap["throughput"]["decode_tok_s"] > 0
    assert snap["throughput"]["window_s"] > 0


TRACE = [
    b.found(),
    b.model(n_vocab=49_152, n_embd=4096),
    b.props(total_slots=1),
    b.process("--spec-type draft-dflash --spec-draft-n-max 15"),
    b.tracing("auto", asynchronous=True, missing=["launch"], burst_s=0.5, burst_every_s=10.0),
    b.began(0.9),
    *[b.traced(1 + i / 50, 15, 6, method="draft-dflash") for i in range(60)],
    *[
        b.turn(
            1 + i / 50,
            13_000,
            draft_us=3_400,
            draft_sampling_us=300,
            submit_us=500,
            wait_us=4_700,
            features_us=1_300,
            sampling_us=2_900,
        )
        for i in range(60)
    ],
    b.copies(
        2.0,
        [("target", 3_145_728, 75), ("drafter", 40, 2_400), ("target", 12_345, 75)],
        turns=75,
        apart=[(630_784, 64)],
    ),
    b.stalls(2.2, 0.6, 0.3, span_s=0.5),
]


def test_where_a_turns_time_goes() -> None:
    snap = made(*TRACE)
    anatomy = snap["anatomy_ms"]
    assert list(anatomy) == ANATOMY.split()
    assert [anatomy[k] for k in ("draft", "submit", "verify", "features", "sampling")] == [3.4, 0.5, 4.7, 1.3, 2.9]
    assert (anatomy["whole"], anatomy["other"], anatomy["draft_sampling"]) == (13.0, pytest.approx(0.2), 0.3)
    assert anatomy["copies"] is None  # no time of theirs is seen
    assert anatomy["sync"] == pytest.approx(0.6 * 13.0)
    assert (anatomy["turns"], anatomy["cycles"], anatomy["evidence"]) == (60, 60, "exact")
    assert anatomy["basis"] == "probes on the server's own functions"


def test_copies_paths_stalls_and_the_trace_itself() -> None:
    snap = made(*TRACE)
    assert snap["copies"] == [
        {"owner": "target", "bytes": 3_145_728, "per_cycle": 1.0, "meaning": "logits of 16 rows"},
        {"owner": "target", "bytes": 12_345, "per_cycle": 1.0, "meaning": None},
        {
            "owner": "drafter",
            "bytes": 40,
            "per_cycle": 32.0,
            "meaning": "top 10 chosen on the device",
        },
    ]
    assert snap["saved"] == [{"bytes": 630_784, "copies": 64, "meaning": None}]
    assert snap["backend_path"] == {
        "draft": "device",
        "target": "host",
        "evidence": "exact",
        "draft_why": "32 x 40 bytes a turn: top 10 chosen on the device; no logits",
        "target_why": "1 x 3,145,728 bytes a turn: logits of 16 rows",
    }
    assert snap["stalls"] == {
        "waiting_pct": pytest.approx(60.0),
        "idle_pct": pytest.approx(30.0),
        "burst_s": 0.5,
        "every_s": 10.0,
        "bursts": 1,
    }
    assert snap["trace"] == {"mode": "auto", "missing": ["launch"]}
    (method,) = snap["speculation"]["by_method"]
    assert (method["method"], method["cycles"]) == ("draft-dflash", 60)
    assert (method["drafted_tokens"], method["accepted_tokens"]) == (900, 360)


def test_copies_of_a_turn_are_of_all_its_cycles() -> None:
    both = [b.turn(1 + i / 50, 13_000, cycles=2) for i in range(10)]
    snap = made(b.found(), b.tracing(), *both, b.copies(2.0, [("drafter", 40, 640)], turns=10))
    assert (snap["copies"][0]["per_cycle"], snap["anatomy_ms"]["cycles"]) == (32.0, 20)


def test_an_estimate_has_no_turns_and_says_what_it_rests_on() -> None:
    cycles = [b.cycle(1 + 0.013 * i, 15, 6) for i in range(100)]
    lines = [b.statistics(1.0, 100, 340.0), b.statistics(2.0, 300, 1020.0)]
    snap = made(b.found(), b.attached("log", "cycles"), *cycles, *lines)
    anatomy = snap["anatomy_ms"]
    assert (anatomy["evidence"], anatomy["turns"], anatomy["cycles"]) == ("estimated", None, 200)
    assert anatomy["draft"] == pytest.approx(3.4)
    unknown = ("submit", "verify", "features", "sampling", "copies", "sync", "draft_sampling")
    assert {anatomy[k] for k in unknown} == {None}
    assert "statistics" in anatomy["basis"]


def test_a_path_that_only_a_reason_tells_of() -> None:
    path = made(b.found(), b.busy(params={"speculative.types": "ngram-mod"}))["backend_path"]
    assert (path["draft"], path["target"], path["draft_why"]) == ("unknown", "unknown", "no draft model")
    assert (path["evidence"], path["target_why"]) == ("unknown", None)


def test_findings_and_what_still_waits_are_in_it() -> None:
    snap = made(*EXACT)
    assert [f["code"] for f in snap["findings"]] == ["SPC102"]
    (finding,) = snap["findings"]
    assert list(finding) == FINDING.split()
    assert {"what": "asked for", "seen": "32"} in finding["evidence"]
    waiting = made(b.found(), b.process("-md d.gguf"))
    assert waiting["collecting"][0] == {"code": "SPC101", "name": "speculation_off", "needs": "a look at /slots"}
    assert {"code": "SPC301", "name": "power_limited", "why": "no GPU seen"} in waiting["does_not_apply"]
    assert waiting["failed"] == []
    counts = waiting["rules"]
    assert list(counts) == ["looked", "found", "nothing", "collecting", "does_not_apply", "failed"]
    assert counts["looked"] == len(RULES) == sum(counts.values()) - counts["looked"]
    assert counts["collecting"] == len(waiting["collecting"])
    assert counts["does_not_apply"] == len(waiting["does_not_apply"])


def test_a_snapshot_is_of_one_server() -> None:
    fold = b.fold(b.found(), b.process("--spec-synth-len 3"))
    for fact in (ev.TargetFound(at=b.T0, target="t1", url="http://b"), b.mark("x")):
        fold.apply(fact)
    view = fold.view()
    diagnosis = diagnose(view)
    assert [f["code"] for f in snapshot(view, diagnosis, "t0")["findings"]] == ["SPC103"]
    other = snapshot(view, diagnosis, "t1")
    assert (other["target"]["url"], other["findings"]) == ("http://b", [])
    with pytest.raises(KeyError, match="t2"):
        snapshot(view, diagnosis, "t2")


def test_restarts_are_in_it() -> None:
    snap = made(b.found(), b.started("1"), b.started("2", at=50.0))
    assert snap["epochs"] == {"current": 2, "restarts_at": [b.T0 + 50]}


@pytest.mark.parametrize("facts", [[b.found()], EXACT], ids=["nothing seen", "much seen"])
def test_the_text_is_json_that_comes_back_as_it_was(facts: list[ev.Event]) -> None:
    view = b.fold(*facts).view()
    snap = snapshot(view, diagnose(view))
    text = encode(snap)
    assert json.loads(text) == msgspec.to_builtins(snap)
    assert text.startswith('{\n  "schema_version": 1,')


def test_text_of_any_language_survives() -> None:
    assert made(b.found(), b.mark("Übung — код"))["marks"][0]["label"] == "Übung — код"


def test_without_a_server_there_is_no_snapshot() -> None:
    view = Fold().view()
    with pytest.raises(KeyError):
        snapshot(view, diagnose(view))
