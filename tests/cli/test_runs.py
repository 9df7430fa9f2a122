"""Recorded runs beside a server: what they tell of it, and which ones are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import builders as b
import pytest
from economics_bench import Bench
from programs import make_recording
from recorded import record

from specscope.cli.feeds import ReplayFeed
from specscope.cli.main import main
from specscope.cli.runs import Runs, load_runs
from specscope.recording import Recording
from specscope.session.fold import Fold
from specscope.settings import Settings

if TYPE_CHECKING:
    from fake_server import FakeServer

    from specscope import events as ev
    from specscope.session.state import SourceView

DRAFTING = Bench(requests=60, told=False)
PLAIN = Bench(n_max=0, requests=10, seed=9)
UNREAD = Bench(n_max=0, requests=10, seed=9, layers=None)


def facts_of(bench: Bench, *more: ev.Event) -> list[ev.Event]:
    return [*bench.begin(), *more, *bench.facts()]


@pytest.fixture
def drafting(tmp_path: Path) -> str:
    """The run that is looked at."""
    return str(record(tmp_path / "drafting.jsonl.gz", facts_of(DRAFTING)))


@pytest.fixture
def plain(tmp_path: Path) -> str:
    """The same model with speculation off."""
    return str(record(tmp_path / "plain.jsonl", facts_of(PLAIN)))


@pytest.fixture
def other(tmp_path: Path) -> str:
    """Another model with speculation off."""
    facts = facts_of(UNREAD, b.process("-m /elsewhere/other.gguf"))
    return str(record(tmp_path / "other.jsonl", facts))


def snapshot_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["snapshot", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said instead of doing it."""
    assert main([*words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_a_run_with_speculation_off_tells_what_is_gained(
    drafting: str, plain: str, capsys: pytest.CaptureFixture[str]
) -> None:
    alone, beside = snapshot_json(capsys, drafting), snapshot_json(capsys, drafting, "--runs", plain)
    assert alone["economics"]["plain_how"] == "with drafter"
    assert beside["economics"]["plain_how"] == "recorded"
    assert beside["economics"]["plain_ms"] == pytest.approx(8.0, rel=0.02)
    assert beside["throughput"]["basis"] == "1,190 plain steps of plain.jsonl"
    truth = DRAFTING.speed(15) / DRAFTING.speed(0)
    assert beside["throughput"]["speedup_low"] < truth < beside["throughput"]["speedup_high"]
    assert beside["economics"]["width_curve"][0]["evidence"] == "recorded"
    (said,) = [s for s in beside["sources"] if s["name"] == "runs"]
    assert (said["state"], said["detail"]) == ("attached", "plain.jsonl")


def test_a_run_at_another_width_tells_its_cost(
    drafting: str, plain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow = Bench(n_max=3, requests=60, seed=4)
    path = str(record(tmp_path / "three.jsonl.gz", facts_of(narrow)))
    found = snapshot_json(capsys, drafting, "--runs", plain, path)
    three = found["economics"]["costs"][[c["width"] for c in found["economics"]["costs"]].index(3)]
    assert three["evidence"] == "recorded"
    assert three["ms"] == pytest.approx(narrow.cost(3), rel=0.02)
    assert "recorded at" in found["economics"]["basis"]


@pytest.mark.parametrize("command", [["snapshot"], ["check"], ["check", "--json"]], ids=" ".join)
def test_a_run_of_another_model_is_refused(
    command: list[str], drafting: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = command
    said = refusal(capsys, name, drafting, *options, "--runs", other)
    assert said == "specscope: other.jsonl is a run of other.gguf, and this server runs target.gguf\n"


def test_a_file_of_the_same_name_and_another_size_is_another_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(name: str, bench: Bench, size: int) -> str:
        return str(record(tmp_path / name, facts_of(bench, b.model("target", file_bytes=size))))

    watched, same = made("watched.jsonl", DRAFTING, 20_000), made("same.jsonl", PLAIN, 20_000)
    requantized = made("requantized.jsonl", PLAIN, 10_000)
    assert snapshot_json(capsys, watched, "--runs", same)["economics"]["plain_how"] == "recorded"
    said = refusal(capsys, "snapshot", watched, "--runs", same, requantized)
    assert "a run of target.gguf of 10,000 bytes, and this server runs target.gguf of 20,000 bytes" in said


def test_a_run_that_drafted_with_something_else_tells_no_cycle_times(
    drafting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    eagle = Bench(method="draft-eagle3", n_max=7, requests=20)
    path = str(record(tmp_path / "eagle.jsonl", facts_of(eagle)))
    said = refusal(capsys, "snapshot", drafting, "--runs", path)
    assert said == (
        "specscope: eagle.jsonl drafted with draft-eagle3 and drafter.gguf,"
        " and this server drafts with draft-dflash and drafter.gguf\n"
    )


def test_plain_steps_between_a_tables_hits_are_of_use_all_the_same(tmp_path: Path, drafting: str) -> None:
    table = Bench(method="ngram-mod", block=None, n_max=7, requests=20, choose=lambda *_: 0)
    hit = [b.launched(900.0, task=99), b.cycle(900.1, 7, 3, task=99), b.logged(901.0, task=99)]
    path = record(tmp_path / "table.jsonl", [*facts_of(table), *hit])
    runs, fold = load_runs([str(path)]), Fold()
    for fact in Recording(path.with_name("drafting.jsonl.gz")).events():
        fold.apply(fact)
    assert runs.runs[0].told.drafts
    runs.give(fold)
    (given,) = fold.targets["t0"].economics.runs
    assert given.plain
    assert (given.costs, given.joint) == ((), ())


def test_files_that_tell_nothing_are_named(tmp_path: Path, drafting: str, capsys: pytest.CaptureFixture[str]) -> None:
    few, text = make_recording(tmp_path / "few.jsonl"), tmp_path / "text.jsonl"
    text.write_text("what is this\n")
    for path, words in (
        (few, "tells neither plain decode time nor cycle times"),
        (text, "is not a recording of specscope"),
        (tmp_path / "none.jsonl", "No such file"),
    ):
        said = refusal(capsys, "snapshot", drafting, "--runs", str(path))
        assert words in said
        assert path.name in said
        assert said.count("\n") == 1


def served_as(model: str, tmp_path: Path) -> str:
    return str(record(tmp_path / "run.jsonl", facts_of(UNREAD, b.process(f"-m /x/{model}"))))


def test_a_live_server_is_given_runs_of_its_model(
    server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = served_as("granite.gguf", tmp_path)
    found = snapshot_json(capsys, server.url, "--seconds", "0.1", "--runs", run)
    (said,) = [s for s in found["sources"] if s["name"] == "runs"]
    assert (said["state"], said["detail"]) == ("attached", "run.jsonl")


def test_a_live_server_refuses_runs_of_another_and_leaves_no_recording_behind(
    server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = served_as("llama.gguf", tmp_path), tmp_path / "new.jsonl"
    words = "run.jsonl is a run of llama.gguf, and this server runs granite.gguf\n"
    assert refusal(capsys, "check", server.url, "--seconds", "0.1", "--runs", run).endswith(words)
    assert refusal(capsys, "record", server.url, "-o", str(out), "--seconds", "0.1", "--runs", run).endswith(words)
    assert not out.exists()


def of_runs(sources: tuple[SourceView, ...]) -> SourceView:
    (said,) = [s for s in sources if s.name == "runs"]
    return said


async def test_a_screen_says_which_run_does_not_fit_and_goes_on(drafting: str, plain: str, other: str) -> None:

    feed = ReplayFeed(Recording(Path(drafting)), Settings(), 0, load_runs([other, plain]))
    feed.session()
    await feed.run()
    (target,) = feed.session().targets
    said = of_runs(target.sources)
    assert (said.state, said.detail) == ("lost", "other.jsonl is a run of other.gguf, and this server runs target.gguf")
    assert target.economics.plain.how == "recorded"


def test_a_server_that_comes_back_with_another_model_is_asked_again(plain: str) -> None:
    runs, fold = load_runs([plain]), Fold()
    given: list[int] = []
    for fact in (b.found(), b.server("ready"), b.process("-m /a/target.gguf"), b.process("-m /a/new.gguf", at=5.0)):
        fold.apply(fact)
        runs.give(fold)
        given.append(len(fold.targets["t0"].economics.runs))
    assert given == [0, 0, 1, 0]
    assert "this server runs new.gguf" in of_runs(fold.view().targets[0].sources).detail


def test_without_runs_nothing_is_said() -> None:
    fold = b.fold(b.found(), b.server("ready"), b.process("-m /a/target.gguf"))
    Runs().give(fold)
    assert fold.view().targets[0].sources == ()
