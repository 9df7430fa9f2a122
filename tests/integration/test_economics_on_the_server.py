"""What is said of draft widths and of speculation, judged by the real server's own clock: a short sweep.

``scripts/long/sweep.py`` is the long form; figures of whole runs are in ``scripts/long/results/sweep.md``. All servers
are up at once and work in turns, so that a busy machine is as busy for each of them.
"""

from __future__ import annotations

import asyncio
import json
import statistics
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
import sweep
from sweep_tables import VARIED, meets, ratio_of

from specscope.cli.main import main
from specscope.lab.models import model_path
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.session.economics.state import Span

if TYPE_CHECKING:
    from pathlib import Path

    from sweep_tables import Measured

pytestmark = pytest.mark.server

TARGET = ServerSpec().target_model
"""Of the quick pair; as its own drafter it makes a cycle of one drafted token as dear as three plain steps."""

LOW = (0.85, 0.75, 0.6, 0.4, 0.25, 0.2, 0.1)
"""Of seven drafted tokens 3.15 are accepted, 45 %."""


HALVES: Final = 1.3
"""By which a server's halves may differ before other work is taken to have slowed one of them."""

SPREAD: Final = 1.3
"""By which the ends of a speed's interval may; 1.1-1.2 where nothing else is at work."""


class Swept(NamedTuple):
    """The recordings of a sweep, and what the servers said of their own speed."""

    folder: Path
    measured: dict[str, Measured]

    def file(self, name: str) -> str:
        return str(self.folder / f"{name}.jsonl.gz")

    def speed(self, name: str) -> Span:
        told = self.measured[name].speed()
        assert told is not None, f"{name} had no two requests"
        return told


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    """Of the pair whose plain steps are so short that drafting never pays."""
    dflash = {n: ServerSpec(n_max=n, rates=LAB_RATES[:n]) for n in (3, 15)}
    servers = {
        VARIED: ServerSpec(n_max=15, rates=LAB_RATES, verbosity=4),  # with the drafter's own time in the log
        "off": ServerSpec(types=()),
        **{str(n): spec for n, spec in dflash.items()},
        "twin": ServerSpec(types=("draft-simple",), n_max=1, rates=(0.9,), extra=("-md", str(model_path(TARGET)))),
    }

    def run() -> Swept:
        folder = tmp_path_factory.mktemp("quick")
        # Long enough that every width of the short requests' ends is seen often: without one there is no curve.
        return Swept(folder, asyncio.run(sweep.in_turns(servers, folder, 4, tokens=192, least=8)))

    swept = run()
    return swept if steady(swept) else run()


def steady(swept: Swept) -> bool:
    """Whether the servers' own times are steady enough for a verdict: of a step in both halves, and of requests."""
    means = [[statistics.fmean(row[1] for row in half) for half in m.halves] for m in swept.measured.values()]
    speeds = [swept.speed(name) for name in swept.measured]
    halves = all(max(both) < HALVES * min(both) for both in means)
    return halves and all(speed.high < SPREAD * speed.low for speed in speeds)


@pytest.fixture(scope="module")
def paying(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    """Of the pair whose cycles cost little more than plain steps; one thread, as others are at work too."""
    spec = ServerSpec(size="paying", n_max=7, rates=LOW, threads=1)
    servers = {"off": ServerSpec(size="paying", types=(), threads=1), "low": spec}
    folder = tmp_path_factory.mktemp("paying")
    return Swept(folder, asyncio.run(sweep.in_turns(servers, folder, 2, tokens=160, least=4)))


def said_of(capsys: pytest.CaptureFixture[str], swept: Swept, name: str, *runs: str) -> dict[str, Any]:
    """The snapshot of a recording with others beside it."""
    beside = ["--runs", *(swept.file(run) for run in runs)] if runs else []
    assert main(["snapshot", swept.file(name), "--json", *beside]) == 0
    return json.loads(capsys.readouterr().out)


def speedup_of(said: dict[str, Any]) -> Span:
    told = said["throughput"]
    return Span(told["speedup"], told["speedup_low"], told["speedup_high"])


def found(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The findings by name, that of the lab's own acceptance left out."""
    return {f["name"]: f for f in said["findings"] if f["name"] != "synthetic_acceptance"}


def test_off_is_named_where_drafting_loses(quick: Swept, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_of(capsys, quick, "15", "off")
    assert quick.speed("off").value > quick.speed("15").value
    assert said["economics"]["plain_how"] == "recorded"
    assert (said["economics"]["best_n_max"], said["economics"]["sure"]) == (0, True)
    assert speedup_of(said).high < 1
    assert found(said)["speculation_loses"]["cost_ms"] > 0
    assert "draft_too_wide" not in found(said)


def test_nine_of_ten_accepted_and_slower_than_plain_decoding(quick: Swept, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_of(capsys, quick, "twin", "off")
    assert said["speculation"]["acceptance"] > 0.85
    assert quick.speed("twin").value < quick.speed("off").value
    assert speedup_of(said).high < 1
    assert (said["economics"]["best_n_max"], said["economics"]["sure"]) == (0, True)
    shown = {e["what"]: e["seen"] for e in found(said)["speculation_loses"]["evidence"]}
    assert shown["accepted"].endswith("of the drafted tokens")
    assert not {"drafter_mismatch", "hot_sampling_loses"} & set(found(said))  # it is not the drafts that fail


def test_less_than_half_accepted_and_faster_than_plain_decoding(
    paying: Swept, capsys: pytest.CaptureFixture[str]
) -> None:
    said = said_of(capsys, paying, "low", "off")
    assert said["speculation"]["acceptance"] < 0.5
    assert paying.speed("low").value > paying.speed("off").value
    assert speedup_of(said).low > 1
    assert said["economics"]["best_n_max"] != 0
    assert said["economics"]["break_even_tau"] < said["economics"]["tau"]
    assert not {"speculation_loses", "hot_sampling_loses", "drafter_mismatch"} & set(found(said))


def test_a_run_with_speculation_off_confirms_the_speedup(
    quick: Swept, paying: Swept, capsys: pytest.CaptureFixture[str]
) -> None:
    for swept, name in ((quick, "15"), (quick, "3"), (quick, "twin"), (paying, "low")):
        measured = ratio_of(swept.speed(name), swept.speed("off"))
        assert meets(speedup_of(said_of(capsys, swept, name, "off")), measured) != "NO", (name, measured)


def test_widths_that_vary_tell_what_other_limits_give(quick: Swept, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_of(capsys, quick, VARIED)
    curve = {p["n_max"]: p for p in said["economics"]["width_curve"]}
    assert curve[3]["evidence"] == "cut"
    for n in (3, 15):
        assert curve[n]["high"] is not None, curve[n]
        predicted = Span(curve[n]["tok_s"], curve[n]["low"], curve[n]["high"])
        assert predicted.high < 4 * predicted.low, n  # it says something
        assert meets(predicted, quick.speed(str(n))) != "NO", (n, predicted, quick.speed(str(n)))


def test_a_run_at_another_width_tells_its_cost(quick: Swept, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_of(capsys, quick, "15", "3")
    (three,) = [p for p in said["economics"]["width_curve"] if p["n_max"] == 3]
    assert three["evidence"] == "recorded"
    assert meets(Span(three["tok_s"], three["low"], three["high"]), quick.speed("3")) != "NO"
    assert said["economics"]["best_n_max"] == 3
    assert found(said)["draft_too_wide"]["advice"] == "set --spec-draft-n-max 3"
    assert quick.speed("3").value > quick.speed("15").value
