"""``specscope export``: a trace in a file for other tools."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import builders as b
import pytest
from programs import make_recording

from specscope import events as ev
from specscope.cli import export
from specscope.cli.main import main
from specscope.recording import Recorder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from fake_server import FakeServer

TRACED: list[ev.Event] = [
    b.found(),
    b.tracing(asynchronous=True),
    b.began(0.9),
    *[b.turn(1 + i / 50, 13_000, draft_us=3_400, wait_us=4_700) for i in range(100)],
    *[b.traced(0.999 + i / 50, 15, 6, method="draft-dflash") for i in range(100)],
    b.copies(2.0, [("target", 3_145_728, 50)], turns=50),
    b.stalls(2.5, 0.6, 0.3),
    b.stalls(30.0, 0.0, 0.0, cycles=0),
]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two seconds of a traced server."""
    path = tmp_path / "traced.jsonl.gz"
    with Recorder(path, tool_version="test", started=b.T0) as recorder:
        for fact in TRACED:
            recorder.write(fact)
    return path


def exported(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_bytes())["traceEvents"]


def named(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [e for e in events if e["name"] == name]


def test_a_recording(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "trace.json"
    assert main(["export", str(recording), "--perfetto", str(out)]) == 0
    events = exported(out)
    assert len(named(events, "turn")) == 100
    assert len(named(events, "burst")) == 1  # in the other one nothing ran
    assert len(named(events, "6 of 15")) == 100
    assert named(events, "process_name")[0]["args"] == {"name": "http://127.0.0.1:8080"}
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert stderr == f"{len(events):,} events in {out}; open it at https://ui.perfetto.dev\n"


def test_the_last_seconds_of_a_recording(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    assert main(["export", str(recording), "--perfetto", str(out), "--seconds", "1"]) == 0
    assert len(named(exported(out), "turn")) == 51  # from 1.98 to 2.98 s


def test_of_several_servers_the_first_that_was_traced(tmp_path: Path) -> None:
    path, out = tmp_path / "two.jsonl", tmp_path / "trace.json"
    other = ev.TurnTraced(at=b.T0 + 1, target="t1", whole_us=9, cycles=1)
    with Recorder(path, tool_version="test", started=b.T0) as recorder:
        for fact in (ev.TargetFound(at=b.T0, target="t1", url="http://b"), other, *TRACED):
            recorder.write(fact)
    assert main(["export", str(path), "--perfetto", str(out)]) == 0
    assert len(named(exported(out), "turn")) == 1
    assert named(exported(out), "process_name")[0]["args"] == {"name": "http://b"}


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch, server: FakeServer) -> Callable[..., list[str]]:
    """The command for a server of which a watch tells these facts: a fake one, because probes need root.

    What it tells goes through the listener as live facts do.
    """

    def words(*facts: ev.Event) -> list[str]:
        @contextlib.asynccontextmanager
        async def told(*_: object, listener: Callable[[ev.Event], None]) -> AsyncIterator[None]:
            for fact in facts:
                listener(fact)
            yield None

        monkeypatch.setattr(export, "watching", told)
        return ["export", server.url, "--seconds", "1", "--perfetto"]

    return words


def test_a_server_is_watched_first(
    watched: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "trace.json"
    assert main([*watched(*TRACED), str(out)]) == 0
    assert len(named(exported(out), "turn")) == 51
    assert "events in" in capsys.readouterr().err


def test_nothing_traced_is_said_and_writes_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "trace.json"
    path = make_recording(tmp_path / "r.jsonl")
    assert main(["export", str(path), "--perfetto", str(out)]) == 2
    assert "nothing was traced" in capsys.readouterr().err
    assert not out.exists()


def test_a_server_that_is_traced_and_does_nothing(
    watched: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "trace.json"
    command = watched(b.found(), b.attached("trace", "trace"), b.tracing())
    assert main([*command, str(out)]) == 1
    assert capsys.readouterr().err == "specscope: the server did no work in the 1 s watched: nothing to export\n"
    assert not out.exists()


def test_a_trace_that_cannot_begin_says_why(
    watched: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = ev.SourceLost(at=b.T0, source="trace", reason="bpftrace is not installed", hint="apt install bpftrace")
    assert main([*watched(b.found(), lost), str(tmp_path / "trace.json")]) == 2
    said = "specscope: nothing was traced: bpftrace is not installed -> apt install bpftrace\n"
    assert capsys.readouterr().err == said


def test_a_server_that_is_not_traced(server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "trace.json"
    assert main(["export", server.url, "--perfetto", str(out), "--seconds", "0.2"]) == 2
    stderr = capsys.readouterr().err
    assert "watching" in stderr
    assert "nothing was traced" in stderr
    assert not out.exists()


def test_an_export_never_overwrites(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = recording.read_bytes()
    assert main(["export", str(recording), "--perfetto", str(recording)]) == 2
    assert "never overwrites" in capsys.readouterr().err
    assert recording.read_bytes() == before


def test_a_place_that_cannot_be_written(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(recording), "--perfetto", str(tmp_path / "no" / "trace.json")]) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["export"], ["export", "x.jsonl"], ["export", "--perfetto"]], ids=" ".join)
def test_a_format_must_be_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "--perfetto" in capsys.readouterr().err
