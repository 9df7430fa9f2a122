"""``specscope stacks``: of a recording, of a server elsewhere, and the options that ask for frames."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import builders as b
import pytest
from programs import make_recording

from specscope import events as ev
from specscope.cli.common import settings_of
from specscope.cli.main import main
from specscope.cli.parser import parse
from specscope.recording import Recorder

if TYPE_CHECKING:
    from pathlib import Path

    from fake_server import FakeServer

PICK, REST = "pick (serve.py:5)", "rest (serve.py:40)"


def table(at: float, frames: list[tuple[str, int]], threads: list[str]) -> ev.StacksSampled:
    return ev.StacksSampled(at=b.T0 + at, span_s=5.0, samples=100, frames=frames, threads=threads)


def recorded(path: Path, *tables: ev.StacksSampled) -> str:
    with Recorder(path, tool_version="test", started=b.T0) as recorder:
        for fact in (b.found(), *tables):
            recorder.write(fact)
    return str(path)


def test_spans_are_added_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(
        tmp_path / "r.jsonl",
        table(5, [("pick (serve.py:6)", 30), (REST, 10)], ["logits", "MainThread"]),
        table(10, [(PICK, 70), ("pick (serve.py:5)", 4)], ["logits", "other"]),
    )
    assert main(["stacks", path, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["schema_version"] == 1
    assert found["stacks"] == {
        "span_s": 10.0,
        "samples": 200,
        "frames": [
            {"frame": PICK, "share": 0.5, "thread": "logits"},
            {"frame": REST, "share": 0.05, "thread": "MainThread"},
            {"frame": PICK, "share": 0.02, "thread": "other"},
        ],
    }


def test_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path / "r.jsonl", table(5, [(PICK, 61), (REST, 7)], ["logits", "MainThread"]))
    assert main(["stacks", path]) == 0
    assert capsys.readouterr().out == (
        " share  frame               thread\n"
        "  61 %  pick (serve.py:5)   logits\n"
        "   7 %  rest (serve.py:40)  MainThread\n"
        "of the time of one thread, 100 samples in 5.0 s\n"
    )


def test_python_at_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path / "r.jsonl", table(5, [], []))
    assert main(["stacks", path]) == 0
    assert capsys.readouterr().out == "no Python frame was at work (100 samples in 5.0 s)\n"
    assert main(["snapshot", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stacks"] == {"span_s": 5.0, "samples": 100, "frames": []}


def test_a_recording_without_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stacks", str(make_recording(tmp_path / "r.jsonl"))]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "specscope: no Python frames are in this recording (record --stacks writes them)\n")


def test_a_server_whose_process_is_elsewhere(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stacks", server.url, "--seconds", "60"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1] == (
        "specscope: the server's process cannot be seen from here: py-spy needs it on the same machine"
    )


def test_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stacks", "http://127.0.0.1:1"]) == 3
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("command", ["live", "snapshot", "record -o f", "stream", "check", "doctor"])
def test_every_command_that_watches_can_ask_for_frames(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_of(parse([*command.split(), "--stacks"])).stacks
    assert not settings_of(parse(command.split())).stacks
    monkeypatch.setenv("SPECSCOPE_STACKS", "1")
    assert settings_of(parse(command.split())).stacks
    monkeypatch.setenv("SPECSCOPE_STACKS", "0")
    assert not settings_of(parse(command.split())).stacks
