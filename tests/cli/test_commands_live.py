"""Commands on a server and on a recording: what goes to stdout, what to stderr, and the exit status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import fake_server as fake
import pytest
from fake_server import FakeServer, Llama
from programs import make_recording

from specscope.cli.main import main
from specscope.findings.registry import RULES
from specscope.recording import Recording

if TYPE_CHECKING:
    from pathlib import Path

SHORT = ("--seconds", "0.1")


def json_of(text: str) -> Any:  # noqa: ANN401  free JSON
    """The only thing in a text is one JSON value on one line or more."""
    return json.loads(text)


def test_snapshot_json_alone_on_stdout(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["snapshot", server.url, *SHORT, "--json"]) == 0
    out, err = capsys.readouterr()
    found = json_of(out)
    assert found["schema_version"] == 1
    assert found["target"]["url"] == server.url
    assert {s["name"]: s["state"] for s in found["sources"]}["slots"] == "attached"
    assert err == f"watching {server.url} (polled)\n"


def test_snapshot_as_text(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["snapshot", server.url, *SHORT]) == 0
    assert capsys.readouterr().out.startswith(f"{server.url}  ready")


def test_snapshot_of_a_server_with_everything_off(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(Llama().routes(slots=fake.NO_SLOTS, metrics=fake.NO_METRICS)) as server:
        assert main(["snapshot", server.url, *SHORT, "--json"]) == 0
    out, err = capsys.readouterr()
    sources = {s["name"]: s for s in json_of(out)["sources"]}
    assert (sources["slots"]["state"], sources["metrics"]["state"]) == ("lost", "lost")
    assert "--metrics" in sources["metrics"]["hint"]
    assert err == f"watching {server.url} (totals)\n"


@pytest.mark.parametrize(
    ("routes", "state"),
    [
        ({"health": fake.LOADING}, "loading"),
        ({"props": fake.reply(fake.body("props_router.json"))}, "router"),
    ],
)
def test_what_stands_in_the_way_is_said(
    routes: dict[str, fake.Route], state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(Llama().routes(**routes)) as server:
        assert main(["snapshot", server.url, *SHORT, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith(f"watching {server.url} ({state}): ")
    assert json_of(out)["target"]["url"] == server.url


def test_keys_appear_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, path = "sk-very-hidden", tmp_path / "r.jsonl"
    monkeypatch.setenv("LLAMA_API_KEY", key)
    with FakeServer(Llama().routes(), key=key) as server:
        assert main(["record", server.url, *SHORT, "-o", str(path)]) == 0
        assert main(["snapshot", server.url, *SHORT, "--json"]) == 0
        assert main(["doctor", server.url]) == 0
        assert not server.refused
    assert main(["snapshot", f"http://me:{key}@127.0.0.1:1"]) == 3
    out, err = capsys.readouterr()
    assert key not in out + err + path.read_text()


def test_check_exits_by_severity(server: FakeServer, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", server.url, *SHORT, "--config", config]
    assert main([*words, "--json"]) == 1
    found = json_of(capsys.readouterr().out)
    assert [f["name"] for f in found["findings"]] == ["hidden_min_p"]
    assert found["fail_on"] == "warning"
    assert main([*words, "--fail-on", "critical"]) == 0
    assert main([*words, "--fail-on", "info", "--markdown"]) == 1
    assert "**SPC" in capsys.readouterr().out
    assert main(["check", server.url, *SHORT]) == 0


def test_check_of_a_recording(tmp_path: Path, config: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(make_recording(tmp_path / "r.jsonl.gz"))
    assert main(["check", path, "--json", "--config", config]) == 1
    out, err = capsys.readouterr()
    found = json_of(out)
    assert [f["name"] for f in found["findings"]] == ["hidden_min_p"]
    assert [t["id"] for t in found["targets"]] == ["t0"]
    assert (found["against"], found["failed"]) == (None, [])
    assert found["rules"]["looked"] == len(RULES)
    assert err == ""
    assert main(["check", path]) == 0


def test_check_against_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, before = (str(make_recording(tmp_path / name)) for name in ("now.jsonl.gz", "before.jsonl.gz"))
    assert main(["check", path, "--json", "--against", before]) == 0
    said = json_of(capsys.readouterr().out)
    assert said["against"] == before
    (drift,) = said["drift"]
    assert drift["target"] == "t0"
    assert drift["found"]["identity"] == drift["found"]["settings"] == drift["found"]["flags"] == []
    with FakeServer(Llama().routes()) as server:
        assert main(["check", server.url, *SHORT, "--against", before]) == 0


def test_check_tells_what_is_not_as_in_the_recorded_run(capsys: pytest.CaptureFixture[str]) -> None:
    now, before = (f"tests/recordings/{name}.jsonl.gz" for name in ("h200_host_argmax", "h200_dflash"))
    assert main(["check", now, "--against", before]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "t0 against the recorded run:" in lines
    (path,) = [line for line in lines if "spec_draft_backend_sampling" in line and "then" in line]
    assert path.strip() == "spec_draft_backend_sampling: on then, off now"
    assert main(["check", now, "--against", before, "--markdown"]) == 1
    assert "- spec_draft_backend_sampling: on then, off now" in capsys.readouterr().out.splitlines()
    assert main(["check", now]) == 1
    assert "against the recorded run" not in capsys.readouterr().out


def test_snapshot_and_stream_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_recording(tmp_path / "r.jsonl", cycles=4)
    assert main(["snapshot", str(path), "--json"]) == 0
    assert json_of(capsys.readouterr().out)["speculation"]["cycles"] == 4
    assert main(["stream", str(path)]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines == path.read_text().splitlines()[1:]
    assert err == ""


def test_a_label_given_for_a_recording_names_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_recording(tmp_path / "r.jsonl")
    assert main(["snapshot", str(path), "--json", "--label", "tool calls"]) == 0
    found = json_of(capsys.readouterr().out)
    assert [r["label"] for r in found["requests"]] == ["tool calls"]
    assert [m["label"] for m in found["marks"]] == ["tool calls"]


def test_a_recording_that_a_crash_cut_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_recording(tmp_path / "r.jsonl.gz", cycles=2)
    path.write_bytes(path.read_bytes()[:-30])
    assert main(["snapshot", str(path), "--json"]) == 0
    assert json_of(capsys.readouterr().out)["target"]["url"]


def test_record(server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.jsonl.gz"
    assert main(["record", server.url, *SHORT, "-o", str(path), "--label", "code"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"watching {server.url} (polled)\n")
    assert "facts in" in err
    recording = Recording(path)
    kinds = [type(event).__name__ for event in recording.events()]
    assert not recording.broken
    assert kinds[0] == "TargetFound"
    assert kinds[-1] == "WatchEnded"
    assert "Marked" in kinds


def test_record_never_overwrites(server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine"
    path.write_text("precious")
    assert main(["record", server.url, *SHORT, "-o", str(path)]) == 2
    assert "exists" in capsys.readouterr().err
    assert path.read_text() == "precious"
    assert main(["record", server.url, *SHORT, "-o", str(tmp_path / "no" / "folder")]) == 2


def test_record_leaves_no_file_of_a_server_that_is_not_there(tmp_path: Path) -> None:
    with FakeServer({}) as server:
        path = tmp_path / "r.jsonl"
        assert main(["record", server.url, "-o", str(path)]) == 3
    assert not path.exists()


def test_doctor(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", server.url]) == 0
    out, err = capsys.readouterr()
    assert f"OK    {server.url}: ready" in out
    assert "the best evidence here: polled (of trace, cycles, polled, totals)" in out
    assert err == f"watching {server.url} (polled)\n"
