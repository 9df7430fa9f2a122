"""Settings in the JSON and in the text: all claims, who won, what deviates, what varies, what is not as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as b
from replayed import replayed

from specscope.findings.engine import diagnose
from specscope.reports.config_text import against_lines, config_lines
from specscope.reports.snapshot import snapshot
from specscope.reports.snapshot_config import against_json
from specscope.session.fold import Fold
from specscope.session.provenance.against import Against, Moved, compare
from specscope.session.provenance.recommend import Advice
from specscope.settings import Profile

if TYPE_CHECKING:
    from specscope.session.state import Session

CARD = {"card": Profile(match="", sampling={"min_p": 0.0, "top_k": 64}, source="the model card")}
DEFAULTS = {"temperature": 0.8, "top_k": 40, "min_p": 0.05, "samplers": ["top_k", "temperature"]}
FACTS = [
    b.found(),
    b.process("-m m.gguf --top-k 20", env={"LLAMA_ARG_TOP_K": "50", "LLAMA_ARG_CTX_SIZE": "8192"}),
    b.model(sampling={"temp": 0.5, "top_k": 70}),
    b.props(build="b1-7e4c0a9", defaults=DEFAULTS | {"top_k": 20, "temperature": 0.5}, n_ctx=8192, total_slots=1),
    b.idle(0.1, task=None),
    b.busy(1.0, task=1, params=DEFAULTS | {"top_k": 20, "temperature": 0.5, "stream": True, "chat_format": "peg"}),
    b.idle(2.0, task=1),
    b.busy(3.0, task=2, params=DEFAULTS | {"top_k": 30, "temperature": 0.5, "stream": False, "chat_format": "peg"}),
]


def session(advice: Advice | None = None) -> Session:
    fold = Fold(advice)
    for fact in FACTS:
        fold.apply(fact)
    return fold.view()


def config(advice: Advice | None = None) -> dict[str, Any]:
    seen = session(advice)
    return snapshot(seen, diagnose(seen))


def test_one_setting_in_the_json() -> None:
    snap = config(Advice(CARD))
    (row,) = (s for s in snap["config"]["settings"] if s["name"] == "top_k")
    assert row == {
        "name": "top_k",
        "group": "sampling",
        "flag": "--top-k",
        "value": 30,
        "known_by": "request",
        "origin": "request",
        "certain": True,
        "note": None,
        "claims": [
            {"origin": "request", "name": '"top_k"', "value": 30, "won": True, "why": None},
            {"origin": "command line", "name": "--top-k", "value": 20, "won": False, "why": "the request set its own"},
            {
                "origin": "environment",
                "name": "LLAMA_ARG_TOP_K",
                "value": 50,
                "won": False,
                "why": "the command line goes before it",
            },
            {
                "origin": "GGUF",
                "name": "general.sampling.top_k",
                "value": 70,
                "won": False,
                "why": "the command line goes before it",
            },
            {
                "origin": "server default",
                "name": "built in",
                "value": 40,
                "won": False,
                "why": "the command line goes before it",
            },
        ],
        "recommended": {
            "by": "profile",
            "values": [64],
            "modes": [],
            "who": 'profile "card"',
            "source": "the model card",
        },
        "other_recommendations": [
            {"by": "GGUF", "values": [70], "modes": [], "who": "the model file", "source": "general.sampling.top_k"}
        ],
        "deviates": True,
    }
    assert (snap["config"]["build"], snap["config"]["latest_request"]) == (10434, {"slot": 0, "task": 2})


def test_the_requests_in_the_json() -> None:
    requests = config()["config"]["requests"]
    assert (requests["seen"], requests["varying"], requests["changes_count"]) == (2, ["top_k"], 1)
    assert [(s["requests"], s["values"], s["kinds"]) for s in requests["sets"]] == [
        (1, {"top_k": 20}, {"chat, streamed": 1}),
        (1, {"top_k": 30}, {"chat, at once": 1}),
    ]
    assert requests["changes"] == [
        {"at": b.T0 + 3, "slot": 0, "task": 2, "settings": [{"name": "top_k", "before": 20, "now": 30}]}
    ]


def test_the_drift_in_the_json() -> None:
    sampling = config(Advice(CARD))["sampling"]
    assert sampling["provenance"]["temperature"] == "GGUF"
    assert sampling["drift"] == [
        {
            "kind": "recommended",
            "name": "top_k",
            "value": 30,
            "recommended": [64],
            "by": 'profile "card"',
            "source": "the model card",
        },
        {
            "kind": "recommended",
            "name": "min_p",
            "value": 0.05,
            "recommended": [0.0],
            "by": 'profile "card"',
            "source": "the model card",
        },
        {"kind": "requests", "name": "top_k", "values": [20, 30]},
    ]


def test_a_list_in_the_json_is_a_list() -> None:
    (row,) = (s for s in config()["config"]["settings"] if s["name"] == "samplers")
    assert (row["value"], row["origin"]) == (["top_k", "temperature"], "unknown")


def test_the_summary_tells_what_was_set_out_of_sight() -> None:
    (target,) = session(Advice(CARD)).targets
    assert config_lines(target) == [
        "  set by the model file: temperature 0.5",
        "  set by the latest request: top_k 30",
        "  set by the environment: ctx_size 8192",
        (
            '  not as recommended by profile "card": '
            "top_k 30 instead of 64 (request), min_p 0.05 instead of 0 (server default)"
        ),
        "  2 requests sampled in 2 ways (1 change): top_k 20 / 30",
    ]


def test_a_server_that_is_as_its_command_line_says_needs_no_words() -> None:
    (target,) = (
        b.fold(b.found(), b.process("-m m.gguf --min-p 0", env={}), b.props(defaults={"min_p": 0.0})).view().targets
    )
    assert config_lines(target) == []


TOO_FEW = "too few whole requests (3 in both runs, for acceptance 200 drafted tokens as well)"


def test_that_nothing_differs_is_not_said_of_what_was_not_compared() -> None:
    lines = against_lines(Against(too_few=("tau", "tok_s")))
    assert lines == [
        f"NO FIGURE WAS COMPARED, {TOO_FEW}: tau, tok/s",
        "configuration: nothing differs of what both runs show",
    ]
    moved = Moved("tau", "", 3.0, 2.0, 0.1, beyond=True)
    assert against_lines(Against(figures=(moved,), too_few=("tok_s",))) == [
        "compared: tau",
        f"not compared, {TOO_FEW}: tok/s",
        "configuration: nothing differs of what both runs show",
        "tau: 3 then, 2 now (-33.3%, ±0.1)",
    ]


def test_what_is_not_as_it_was() -> None:
    (now,), (before,) = replayed("h200_top_k_0").targets, replayed("h200_dflash").targets
    found = compare(now, before)
    lines = against_lines(found)
    assert lines[0] == f"NO FIGURE WAS COMPARED, {TOO_FEW}: tau, acceptance, tok/s, ms per step"
    assert lines[1:] == ["top_k: 40 then, 0 now", "min_p: 0.05 then, 0 now"]
    assert against_json(found)["settings"] == [
        {"what": "top_k", "before": 40, "now": 0},
        {"what": "min_p", "before": 0.05, "now": 0.0},
    ]


def test_large_figures_have_no_power_of_ten() -> None:
    fast = Moved("tok_s", "", 1049.7, 657.4, 123.0, beyond=True)
    slow = Moved("step_ms", "", 0.9524, 8.96, 0.481, beyond=True)
    assert against_lines(Against(figures=(fast, slow)))[2:] == [
        "tok/s: 1,050 then, 657 now (-37.4%, ±123)",
        "ms per step: 0.952 then, 8.96 now (+840.8%, ±0.48)",
    ]


def test_the_same_again() -> None:
    (now,), (before,) = replayed("dflash").targets, replayed("dflash").targets
    assert against_lines(compare(now, before)) == [
        "compared: tau, acceptance, tok/s, ms per step: no change beyond noise",
        "configuration: nothing differs of what both runs show",
    ]
    assert {m["beyond_noise"] for m in against_json(compare(now, before))["figures"]} == {False}
